# What is not a request by the letter of JSON-RPC 2.0.
>> {"id": 1, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "\"jsonrpc\" must be \"2.0\"."}}
>> {"jsonrpc": "1.0", "id": 2, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -32600, "message": "\"jsonrpc\" must be \"2.0\"."}}
>> {"jsonrpc": "2.0", "id": 3}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -32600, "message": "\"method\" must be a string."}}
>> {"jsonrpc": "2.0", "id": 4, "method": 4}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -32600, "message": "\"method\" must be a string."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "service/ping", "params": "none"}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -32600, "message": "\"params\" must be an object."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "service/pong"}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32601, "message": "There is no method \"service/pong\"."}}

# Answers to requests that the service never made are ignored.
>> {"jsonrpc": "2.0", "id": 7, "result": null}
>> {"jsonrpc": "2.0", "id": 8, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 8, "result": "pong"}
