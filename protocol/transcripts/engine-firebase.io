# Firebase Storage far away looks like the disk at hand, but for what it adds.
@engine firebase
>> {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"engine": "firebase", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/notes/a+b.txt", "text": "Hello, world!", "metadata": {"customMetadata": {"mood": "good", "place": "Rome"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"status": "success", "state": "success", "metadata": {"fullPath": "notes/a+b.txt", "size": 13, "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "text/plain", "contentDisposition": "<string>", "customMetadata": {"mood": "good", "place": "Rome"}, "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/updateMetadata", "params": {"reference": "gs://default-bucket/notes/a+b.txt", "metadata": {"cacheControl": "no-store", "contentDisposition": null, "customMetadata": {"mood": null, "time": "noon"}}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"metageneration": "2", "cacheControl": "no-store", "customMetadata": {"place": "Rome", "time": "noon"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/notes/nothing.txt"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13010, "message": "Object notes/nothing.txt does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "notes/nothing.txt", "httpStatus": 404, "serverResponse": "<string>", "retryable": false}}}
