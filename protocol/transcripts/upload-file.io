# The guide, "Upload from a local file": putFile, and its completion.
@file path/to/rivers.jpg 1048576 bytes

# let uploadTask = riversRef.putFile(from: localFile, metadata: nil)
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "{files}/path/to/rivers.jpg"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 1048576, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "contentType": "image/jpeg"}}}

# The completion.
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 1048576, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "generation": "<generation>", "metageneration": "1", "size": 1048576, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "ttgbNgpWctgMJ0MPORU+LA==", "crc32c": "FCmMEg==", "contentType": "image/jpeg"}}}

# The same in one call, by a file:// URL.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "file://{files}/path/to/rivers.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<again>", "status": "success", "state": "success", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 1048576, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "generation": "<generation2>", "metageneration": "1", "size": 1048576, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "ttgbNgpWctgMJ0MPORU+LA==", "crc32c": "FCmMEg==", "contentType": "image/jpeg"}}}

# A file that is missing fails the task, and says so.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "{files}/path/to/seas.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13000, "message": "File {files}/path/to/seas.jpg does not exist.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "images/rivers.jpg", "file": "{files}/path/to/seas.jpg", "retryable": false}}}

# So does one that is not regular.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "{files}/path", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13000, "message": "File {files}/path is not a regular file but a directory.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "images/rivers.jpg", "file": "{files}/path", "retryable": false}}}

# What is stored is still the second upload.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "generation": "<generation2>", "metageneration": "1", "size": 1048576, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "ttgbNgpWctgMJ0MPORU+LA==", "crc32c": "FCmMEg==", "contentType": "image/jpeg"}}
