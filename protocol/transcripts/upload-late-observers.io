# One who comes late hears at once what the task has come to, if that fits.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "notes/hello.txt", "name": "hello.txt", "url": "gs://default-bucket/notes/hello.txt"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<done>", "...": "..."}}

# After success: success, and nothing else.
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/observe", "params": {"task": "<done>", "status": "success"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"handle": "<s>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<s>", "snapshot": {"task": "<done>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "notes/hello.txt", "name": "hello.txt", "url": "gs://default-bucket/notes/hello.txt"}, "metadata": {"bucket": "default-bucket", "fullPath": "notes/hello.txt", "name": "hello.txt", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "text/plain"}}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/observe", "params": {"task": "<done>", "status": "resume"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"handle": "<string>"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/observe", "params": {"task": "<done>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"handle": "<string>"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/observe", "params": {"task": "<done>", "status": "pause"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"handle": "<string>"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/observe", "params": {"task": "<done>", "status": "failure"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"handle": "<string>"}}

# Nothing follows, so it was not kept.
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/removeObserver", "params": {"handle": "<s>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"removed": false}}

# While it is paused: pause.
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "pause"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"handle": "<pause>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<pause>", "snapshot": {"status": "pause", "state": "paused", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "resume"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"handle": "<resume>"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"handle": "<progress>"}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "success"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"handle": "<success>"}}
>> {"jsonrpc": "2.0", "id": 14, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"handle": "<failure>"}}

# They were kept, and hear what happens from now on.
>> {"jsonrpc": "2.0", "id": 15, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"accepted": true, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}

# While it runs: resume and progress.
>> {"jsonrpc": "2.0", "id": 16, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "resume"}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 16, "result": {"handle": "<resume2>"}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume2>", "snapshot": {"status": "resume", "state": "running", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 17, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "progress"}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 17, "result": {"handle": "<progress2>"}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress2>", "snapshot": {"status": "progress", "state": "running", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 18, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"state": "running", "...": "..."}}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress2>", "snapshot": {"state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<failure>", "snapshot": {"state": "cancelled", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 18, "result": {"accepted": true, "...": "..."}}

# After a failure: failure.
>> {"jsonrpc": "2.0", "id": 19, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
<< {"jsonrpc": "2.0", "id": 19, "result": {"handle": "<late>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<late>", "snapshot": {"status": "failure", "state": "cancelled", "error": {"code": -13040, "message": "User cancelled the upload of gs://default-bucket/videos/holidays.mov.", "data": {"name": "cancelled", "bucket": "default-bucket", "object": "videos/holidays.mov", "retryable": false}}, "...": "..."}}}
