# $/cancelRequest ends a request that waits, with -32800. The task that it waited for goes on.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": "a wait", "method": "uploadTask/wait", "params": {"task": "<task>"}}
>> {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "a wait"}}
<< {"jsonrpc": "2.0", "id": "a wait", "error": {"code": -32800, "message": "The request was cancelled.", "data": {"task": "<task>"}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "running", "...": "..."}}

# An id that nobody waits under is ignored.
>> {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "a wait"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "...": "..."}}
