# A failure that may pass is waited out, and the snapshot says so. Pause, resume and cancel work at once all the same.
@engine gcs
@fails 503 chunk
@file holidays.mov 5000000 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/videos/holidays.mov", "file": "{files}/holidays.mov", "observe": ["progress", "success"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"progress": "<progress>", "success": "<success>"}, "...": "..."}}
<<* {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"status": "progress", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"state": "success", "progress": {"completedUnitCount": 5000000, "totalUnitCount": 5000000, "fractionCompleted": 1}, "...": "..."}}}
