# The guide, "Upload files: create a reference".

# let mountainsRef = storageRef.child("mountains.jpg")
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "path": "mountains.jpg"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/mountains.jpg"}}

# let mountainImagesRef = storageRef.child("images/mountains.jpg"): the names are equal, the paths are not.
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "path": "images/mountains.jpg"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images/mountains.jpg", "name": "mountains.jpg", "url": "gs://default-bucket/images/mountains.jpg"}}

# Nothing can be uploaded to the root of a bucket.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "text": "Hello, world!"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13050, "message": "The root of bucket default-bucket cannot be written; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": "gs://default-bucket", "file": "{files}/rivers.jpg"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The root of bucket default-bucket cannot be written; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
