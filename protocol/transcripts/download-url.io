# The guide, "Download files: generate a download URL".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/downloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"url": "<url>"}}

# The same until it is revoked.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/downloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"url": "<url>"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/revokeDownloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"url": "<new>"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/downloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"url": "<new>"}}

# It names the object.
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/reference", "params": {"url": "<new>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/downloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13010, "message": "Object images/none.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/none.jpg", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/downloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "The root of bucket default-bucket has no download URL; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/revokeDownloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13010, "message": "Object images/none.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/none.jpg", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/revokeDownloadURL", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13050, "message": "The root of bucket default-bucket has no download URL; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}

# Its URLs hold until they are revoked, or until their end.
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/downloadURL", "params": {"reference": "gs://default-bucket/images/island.jpg", "expiresIn": 60}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"url": "<ending>"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "reference/downloadURL", "params": {"reference": "gs://default-bucket/images/island.jpg", "expiresIn": 604801}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "expiresIn must be between 1 and 604800 seconds, not 604801.", "data": {"name": "invalidArgument", "param": "expiresIn", "retryable": false}}}
