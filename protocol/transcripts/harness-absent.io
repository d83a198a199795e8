# Without --harness its methods are not there.
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "There is no method \"harness/settled\"."}}
