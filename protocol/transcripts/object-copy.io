# Another object of an object, with its metadata or with other ones.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/notes/today.txt", "text": "Hello, world!", "metadata": {"cacheControl": "no-store", "customMetadata": {"mood": "good"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": "gs://default-bucket/notes/kept.txt", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "reference": {"fullPath": "notes/kept.txt", "...": "..."}, "metadata": {"size": 13, "metageneration": "1", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "cacheControl": "no-store", "contentType": "text/plain", "customMetadata": {"mood": "good"}, "...": "..."}, "source": {"fullPath": "notes/today.txt", "...": "..."}, "isMove": false, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": {"bucket": "archive", "fullPath": "today"}, "metadata": {"customMetadata": {"year": "2026"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "reference": {"bucket": "archive", "fullPath": "today", "name": "today", "url": "gs://archive/today"}, "metadata": {"bucket": "archive", "fullPath": "today", "name": "today", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "text/plain", "customMetadata": {"year": "2026"}}, "...": "..."}}

# It is a task like any other: observed, and asked for later.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": "gs://default-bucket/notes/again.txt", "observe": ["progress", "success"]}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "observers": {"progress": "<progress>", "success": "<success>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"status": "progress", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"status": "success", "source": {"fullPath": "notes/today.txt", "...": "..."}, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "isMove": false, "...": "..."}}

# The error of a copy names the object that it is about.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/nothing.txt", "to": "gs://default-bucket/notes/other.txt", "wait": true}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13010, "message": "Object notes/nothing.txt does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "notes/nothing.txt", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": "gs://default-bucket/notes/kept.txt", "ifGenerationMatch": 0, "wait": true}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "notes/kept.txt", "generation": "<kept>", "metageneration": "1", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": "gs://default-bucket/notes/kept.txt", "ifSourceMetagenerationMatch": "2", "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "notes/today.txt", "generation": "<today>", "metageneration": "1", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/copy", "params": {"reference": "gs://default-bucket", "to": "gs://default-bucket/notes/kept.txt"}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "The root of bucket default-bucket cannot be copied; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/today.txt", "to": "gs://default-bucket"}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13050, "message": "The root of bucket default-bucket cannot be written; name an object in it.", "data": {"name": "invalidArgument", "param": "to", "retryable": false}}}
