# Firebase Storage has no list of buckets.
@engine firebase
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/buckets", "params": {"project": "p"}}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -13050, "message": "The engine firebase cannot list buckets.", "data": {"name": "invalidArgument", "retryable": false}}}
