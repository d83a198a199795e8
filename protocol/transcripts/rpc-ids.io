# Ids come back as they were sent: strings, integers beyond every machine type, null.
>> {"jsonrpc": "2.0", "id": 1, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}
>> {"jsonrpc": "2.0", "id": -7, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": -7, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 0, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 0, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 12345678901234567890123, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 12345678901234567890123, "result": "pong"}
>> {"jsonrpc": "2.0", "id": "", "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": "", "result": "pong"}
>> {"jsonrpc": "2.0", "id": "1", "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": "1", "result": "pong"}
>> {"jsonrpc": "2.0", "id": "héllo \u0007", "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": "héllo \u0007", "result": "pong"}
>> {"jsonrpc": "2.0", "id": null, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": null, "result": "pong"}

# A whole number is one however it is written.
>> {"jsonrpc": "2.0", "id": 8.0, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 8.0, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 1e3, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1e3, "result": "pong"}

# Nothing else is an id.
>> {"jsonrpc": "2.0", "id": 1.5, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "An id must be a string, an integer or null."}}
>> {"jsonrpc": "2.0", "id": true, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "An id must be a string, an integer or null."}}
>> {"jsonrpc": "2.0", "id": [1], "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "An id must be a string, an integer or null."}}
>> {"jsonrpc": "2.0", "id": {}, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "An id must be a string, an integer or null."}}
