# wait: true answers when the task has ended; events flow meanwhile. Nobody else is held up.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "notes/hello.txt", "name": "hello.txt", "url": "gs://default-bucket/notes/hello.txt"}, "text": "Hello, world!", "observe": ["resume", "progress", "success"], "wait": true}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume>", "snapshot": {"task": "<task>", "status": "resume", "state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"task": "<task>", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"task": "<task>", "status": "success", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "state": "success", "observers": {"resume": "<resume>", "progress": "<progress>", "success": "<success>"}, "...": "..."}}

# A wait of one request does not keep the next from being answered.
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<long>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/wait", "params": {"task": "<long>"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 4, "result": "pong"}
>> {"jsonrpc": "2.0", "method": "uploadTask/cancel", "params": {"task": "<long>"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13040, "message": "User cancelled the upload of gs://default-bucket/videos/holidays.mov.", "data": {"name": "cancelled", "bucket": "default-bucket", "object": "videos/holidays.mov", "retryable": false}}}

# Who waits for what has ended is answered at once.
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"state": "success", "...": "..."}}
