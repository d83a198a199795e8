# What has no id gets no answer, not even an error.
>> {"jsonrpc": "2.0", "method": "service/ping"}
>> {"jsonrpc": "2.0", "method": "service/pong"}
>> {"jsonrpc": "2.0", "method": "$/whatever", "params": {"a": 1}}
>> {"jsonrpc": "2.0", "method": "service/ping", "params": [1]}
>> {"jsonrpc": "2.0", "method": "reference/child", "params": {}}
>> {"jsonrpc": "2.0", "id": 1, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}
