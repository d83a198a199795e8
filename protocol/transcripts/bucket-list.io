# Buckets come into being with their first object.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/buckets"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"buckets": []}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://b/x", "text": "1", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://a/x", "text": "1", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "storage/buckets", "params": {}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"buckets": ["a", "b"]}}
>> {"jsonrpc": "2.0", "id": 5, "method": "storage/buckets", "params": {"project": "p"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "Buckets on this machine have no project; leave it out.", "data": {"name": "invalidArgument", "param": "project", "retryable": false}}}
