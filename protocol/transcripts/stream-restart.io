# A stream goes on in the next process after the bytes whose append was answered.
@on stdio socket
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, "}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 7, "durable": 7}}
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "state": "paused", "origin": "stream", "offset": 7, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "world!"}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13050, "message": "<string>", "data": {"param": "offset", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<task>", "text": "world!", "offset": 7}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"accepted": true, "...": "..."}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"offset": 13, "durable": 13}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/finish", "params": {"task": "<task>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
