# The guide, "Get file metadata".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}

# let metadata = try await forestRef.getMetadata()
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}

# An error occurred: there is no such object, or it is a root.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/trees.jpg", "name": "trees.jpg", "url": "gs://default-bucket/images/trees.jpg"}}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13010, "message": "Object images/trees.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/trees.jpg", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The root of bucket default-bucket has no metadata; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
