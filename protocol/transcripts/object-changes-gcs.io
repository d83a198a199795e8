# A server tells nobody of changes.
@engine gcs
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/observe", "params": {"reference": "gs://default-bucket/uploads"}}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -13050, "message": "The engine gcs does not report changes; reference/list shows the current objects.", "data": {"name": "invalidArgument", "bucket": "default-bucket", "object": "uploads", "retryable": false}}}
