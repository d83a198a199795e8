# The guide's full example on uploads: progress monitoring, and errors by their code.
@file path/to/image 400000 bytes

# In chunks of 256 KiB there is much to watch.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"maxUploadRetryTime": 600, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 120, "uploadChunkSizeBytes": 262144}}

# metadata.contentType = "image/jpeg"; let uploadTask = storageRef.putFile(from: localFile, metadata: metadata)
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/images/mountains.jpg"}, "file": "{files}/path/to/image", "metadata": {"contentType": "image/jpeg"}, "observe": ["resume", "pause", "progress", "success", "failure"]}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 400000, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/images/mountains.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "contentType": "image/jpeg"}, "observers": {"resume": "<resume>", "progress": "<progress>", "pause": "<pause>", "success": "<success>", "failure": "<failure>"}}}

# uploadTask.observe(.resume): also fires when the upload starts.
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<resume>", "snapshot": {"status": "resume", "state": "running", "...": "..."}}}

# uploadTask.observe(.progress): 100.0 * completedUnitCount / totalUnitCount
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 262144, "totalUnitCount": 400000, "fractionCompleted": 0.65536}, "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 400000, "totalUnitCount": 400000, "fractionCompleted": 1}, "...": "..."}}}

# uploadTask.observe(.success): upload completed successfully.
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"status": "success", "metadata": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "generation": "<generation>", "metageneration": "1", "size": 400000, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "2Uj3EvoykgP1kOkc9t0+Pg==", "crc32c": "6oJQvA==", "contentType": "image/jpeg"}, "...": "..."}}}

# uploadTask.observe(.failure): switch StorageErrorCode(rawValue: error.code)
# case .unknown: the message says why.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/images/mountains.jpg"}, "file": "{files}/path/to/nothing", "observe": ["failure"]}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<t2>", "observers": {"failure": "<f2>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<f2>", "snapshot": {"state": "failed", "error": {"code": -13000, "message": "File {files}/path/to/nothing does not exist.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "images/mountains.jpg", "file": "{files}/path/to/nothing", "retryable": false}}, "...": "..."}}}

# case .cancelled: the user cancelled the upload.
@file path/to/film 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/images/mountains.jpg"}, "file": "{files}/path/to/film", "observe": ["failure"]}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<t3>", "observers": {"failure": "<f3>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/cancel", "params": {"task": "<t3>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<f3>", "snapshot": {"state": "cancelled", "error": {"code": -13040, "message": "User cancelled the upload of gs://default-bucket/images/mountains.jpg.", "data": {"name": "cancelled", "bucket": "default-bucket", "object": "images/mountains.jpg", "retryable": false}}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "...": "..."}}

# case .objectNotFound: the object does not exist.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/nothing.jpg", "name": "nothing.jpg", "url": "gs://default-bucket/images/nothing.jpg"}}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13010, "message": "Object images/nothing.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/nothing.jpg", "retryable": false}}}
