# A client that has said all it wants gets all its answers (printf … | storage-rpc, nc -N).
>> {"jsonrpc": "2.0", "id": 1, "method": "service/ping"}
>> {"jsonrpc": "2.0", "id": 2, "method": "service/ping"}
>> {"jsonrpc": "2.0", "id": 3, "method": "service/ping"}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "text": "Hello, world!", "wait": true}}
@end
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}
<< {"jsonrpc": "2.0", "id": 2, "result": "pong"}
<< {"jsonrpc": "2.0", "id": 3, "result": "pong"}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "...": "..."}}
@closed
