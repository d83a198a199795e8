# What is paused can be cancelled.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov", "observe": ["pause", "failure"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"pause": "<pause>", "failure": "<failure>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<pause>", "snapshot": {"state": "paused", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<failure>", "snapshot": {"state": "cancelled", "error": {"code": -13040, "message": "User cancelled the upload of gs://default-bucket/videos/holidays.mov.", "data": {"name": "cancelled", "bucket": "default-bucket", "object": "videos/holidays.mov", "retryable": false}}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "...": "..."}}
