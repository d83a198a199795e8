# shutdown, then exit: the process ends with status 0.
>> {"jsonrpc": "2.0", "id": 1, "method": "shutdown"}
<< {"jsonrpc": "2.0", "id": 1, "result": null}
>> {"jsonrpc": "2.0", "id": 2, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -32600, "message": "The service was shut down; only \"exit\" is taken now."}}
>> {"jsonrpc": "2.0", "method": "exit"}
@exit 0
