# Batches are answered as a batch, once all of it is done; or not at all.
>> [{"jsonrpc": "2.0", "id": 1, "method": "service/ping"}, {"jsonrpc": "2.0", "method": "service/ping"}, {"jsonrpc": "2.0", "id": 2, "method": "storage/reference"}]
<< [{"jsonrpc": "2.0", "id": 1, "result": "pong"}, {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}]

# Each of its members is looked at for itself.
>> [1, {"jsonrpc": "2.0", "id": 3, "method": "service/pong"}, {"foo": "boo"}]
<< [{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "A message must be an object, or an array of objects."}}, {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "There is no method \"service/pong\"."}}, {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "\"jsonrpc\" must be \"2.0\"."}}]

# An empty batch is one error, no array.
>> []
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "A batch must not be empty."}}

# Only notifications: no answer.
>> [{"jsonrpc": "2.0", "method": "service/ping"}]

# An upload that was asked for in a batch starts after the answer to the batch.
>> [{"jsonrpc": "2.0", "id": 4, "method": "reference/putData", "params": {"reference": "gs://default-bucket/a", "text": "Hello, world!", "observe": ["resume", "success"]}}, {"jsonrpc": "2.0", "id": 5, "method": "service/ping"}]
<< [{"jsonrpc": "2.0", "id": 4, "result": {"state": "queued", "observers": {"resume": "<resume>", "success": "<success>"}, "...": "..."}}, {"jsonrpc": "2.0", "id": 5, "result": "pong"}]
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume>", "snapshot": {"...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"...": "..."}}}
