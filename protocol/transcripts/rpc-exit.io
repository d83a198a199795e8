# exit without shutdown: the process ends with status 1.
>> {"jsonrpc": "2.0", "id": 1, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}
>> {"jsonrpc": "2.0", "method": "exit"}
@exit 1
