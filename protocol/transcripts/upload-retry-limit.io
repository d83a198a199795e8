# Retrying ends with the retry time, and the error says what it was spent on.
@engine gcs
@fails 503 start
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"maxUploadRetryTime": 0, "uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"maxUploadRetryTime": 0, "...": "..."}}
@file holidays.mov 5000000 bytes
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/videos/holidays.mov", "file": "{files}/holidays.mov", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13030, "message": "Max retry time for operation exceeded, please try again. The last failure: The server answered 503.", "data": {"name": "retryLimitExceeded", "bucket": "default-bucket", "object": "videos/holidays.mov", "httpStatus": 503, "retryable": true, "attempts": [{"time": "<time>", "httpStatus": 503, "cause": "The server answered 503.", "completedUnitCount": 0}]}}}
