# A cancelled append takes its bytes back, and those behind it fail, too. Its bytes are in no snapshot.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 5, "durable": 5}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "snapshot": {"state": "paused", "offset": 5, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/append", "params": {"task": "<task>", "text": "XXXXX"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "paused", "offset": 5, "...": "..."}}
>> {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 4}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -32800, "message": "The request was cancelled."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/append", "params": {"task": "<task>", "text": ", world!"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 5.", "data": {"name": "invalidArgument", "param": "offset", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 5 bytes, but an append has failed, or went to an earlier process.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
# An append and the end that wait for the resume are answered with the object.
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/append", "params": {"task": "<task>", "text": ", world!", "offset": 5}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/finish", "params": {"task": "<task>"}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"accepted": true, "...": "..."}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"offset": 13, "durable": 13}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"state": "success", "metadata": {"size": 13, "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/getData", "params": {"reference": "gs://default-bucket/logs/today.log", "maxSize": 1000}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"data": "SGVsbG8sIHdvcmxkIQ==", "...": "..."}}
