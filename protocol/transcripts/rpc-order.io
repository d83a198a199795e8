# Requests start in the order in which they came, whoever is answered first.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov", "observe": ["pause"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"pause": "<pause>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<pause>", "snapshot": {"state": "paused", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/removeAllObservers", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"handle": "<string>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"removed": 2}}
