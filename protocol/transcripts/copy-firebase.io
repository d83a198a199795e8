# A copy and a move at a server.
@engine firebase
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/notes/a+b.txt", "text": "Hello, world!", "metadata": {"customMetadata": {"mood": "good"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/a+b.txt", "to": "gs://default-bucket/notes/ä ö.txt", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "metadata": {"fullPath": "notes/ä ö.txt", "size": 13, "crc32c": "yKEG5Q==", "contentType": "text/plain", "customMetadata": {"mood": "good"}, "...": "..."}, "source": {"fullPath": "notes/a+b.txt", "...": "..."}, "isMove": false, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/move", "params": {"reference": "gs://default-bucket/notes/a+b.txt", "to": "gs://default-bucket/old/a+b.txt", "metadata": {"contentType": "text/old"}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "metadata": {"fullPath": "old/a+b.txt", "size": 13, "contentType": "text/old", "...": "..."}, "isMove": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/notes/a+b.txt"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13010, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/copy", "params": {"reference": "gs://default-bucket/notes/nothing.txt", "to": "gs://default-bucket/c", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13010, "message": "Object notes/nothing.txt does not exist.", "data": {"name": "objectNotFound", "object": "notes/nothing.txt", "...": "..."}}}
