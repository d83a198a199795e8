# The guide, "Download files: manage downloads".
@harness
@file holidays.mov 1048576 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
# The download stops before its first byte, so that it runs when it is paused.
>> {"jsonrpc": "2.0", "id": "arm", "method": "harness/arm", "params": {"on": "fetch", "do": {"hold": true}, "times": null}}
<< {"jsonrpc": "2.0", "id": "arm", "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/copy.mov", "observe": ["resume", "pause", "failure"]}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "observers": {"resume": "<resume>", "pause": "<pause>", "failure": "<failure>"}, "...": "..."}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<resume>", "snapshot": {"state": "running", "...": "..."}}}

# downloadTask.pause()
>> {"jsonrpc": "2.0", "id": 3, "method": "downloadTask/pause", "params": {"task": "<task>"}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<pause>", "snapshot": {"task": "<task>", "status": "pause", "state": "paused", "...": "..."}}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "snapshot": {"status": "pause", "state": "paused", "progress": {"completedUnitCount": "<sofar>", "totalUnitCount": "<total>", "fractionCompleted": "<fraction>"}, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "downloadTask/pause", "params": {"task": "<task>"}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 4, "result": {"accepted": false, "snapshot": {"state": "paused", "progress": {"completedUnitCount": "<sofar>", "totalUnitCount": "<total>", "fractionCompleted": "<fraction>"}, "...": "..."}}}

# downloadTask.resume()
>> {"jsonrpc": "2.0", "id": 5, "method": "downloadTask/resume", "params": {"task": "<task>"}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<resume>", "snapshot": {"task": "<task>", "status": "resume", "state": "running", "...": "..."}}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "snapshot": {"state": "running", "...": "..."}}}

# downloadTask.cancel()
>> {"jsonrpc": "2.0", "id": 6, "method": "downloadTask/cancel", "params": {"task": "<task>"}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<failure>", "snapshot": {"task": "<task>", "status": "failure", "state": "cancelled", "error": {"code": -13040, "message": "User cancelled the download of gs://default-bucket/videos/holidays.mov.", "data": {"name": "cancelled", "bucket": "default-bucket", "object": "videos/holidays.mov", "retryable": false}}, "...": "..."}}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 6, "result": {"accepted": true, "snapshot": {"state": "cancelled", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "downloadTask/resume", "params": {"task": "<task>"}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 7, "result": {"accepted": false, "snapshot": {"state": "cancelled", "...": "..."}}}

# The file has never been there.
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "x", "name": "x", "url": "gs://default-bucket/x"}, "file": "{files}/copy.mov", "wait": true}}
<<* {"method": "harness/event", "...": "..."}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13000, "message": "File {files}/copy.mov does not exist.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "x", "file": "{files}/copy.mov", "retryable": false}}}
