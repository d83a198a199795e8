# What was stored is there after a restart, and a new upload has a higher generation.
@on stdio socket
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "text": "Hello, world!", "metadata": {"customMetadata": {"activity": "Hiking"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": "<before>"}
@restart
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}}}
<< {"jsonrpc": "2.0", "id": 3, "result": "<before>"}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}
