# The guide, "Monitor upload progress": each status, in the order in which it is heard.
@file rivers.jpg 400000 bytes

# In chunks of 256 KiB there is much to watch.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"maxUploadRetryTime": 600, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 120, "uploadChunkSizeBytes": 262144}}

# observe: true is an observer for each status; observe: [status] for some.
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "{files}/rivers.jpg", "observe": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 400000, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "contentType": "image/jpeg"}, "observers": {"resume": "<resume>", "progress": "<progress>", "pause": "<pause>", "success": "<success>", "failure": "<failure>"}}}

# resume: the upload starts, or goes on.
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume>", "snapshot": {"task": "<task>", "status": "resume", "state": "running", "progress": {"completedUnitCount": 0, "totalUnitCount": 400000, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "contentType": "image/jpeg"}}}}

# progress: bytes that the engine has acknowledged. The last one is all of them.
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"task": "<task>", "status": "progress", "state": "running", "progress": {"completedUnitCount": 262144, "totalUnitCount": 400000, "fractionCompleted": 0.65536}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "contentType": "image/jpeg"}}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"task": "<task>", "status": "progress", "state": "running", "progress": {"completedUnitCount": 400000, "totalUnitCount": 400000, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "contentType": "image/jpeg"}}}}

# success: with the metadata of what was stored. It is the last event: all observers are gone.
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 400000, "totalUnitCount": 400000, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "generation": "<generation>", "metageneration": "1", "size": 400000, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "2Uj3EvoykgP1kOkc9t0+Pg==", "crc32c": "6oJQvA==", "contentType": "image/jpeg"}}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/removeObserver", "params": {"handle": "<resume>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/removeObserver", "params": {"handle": "<progress>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/removeObserver", "params": {"handle": "<pause>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/removeObserver", "params": {"handle": "<success>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/removeObserver", "params": {"handle": "<failure>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"removed": false}}
