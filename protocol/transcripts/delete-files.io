# The guide, "Delete files".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/desert.jpg", "name": "desert.jpg", "url": "gs://default-bucket/images/desert.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}

# try await desertRef.delete()
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/delete", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/desert.jpg", "name": "desert.jpg", "url": "gs://default-bucket/images/desert.jpg"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": null}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/desert.jpg", "name": "desert.jpg", "url": "gs://default-bucket/images/desert.jpg"}}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13010, "message": "Object images/desert.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/desert.jpg", "retryable": false}}}

# Once.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/delete", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/desert.jpg", "name": "desert.jpg", "url": "gs://default-bucket/images/desert.jpg"}}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13010, "message": "Object images/desert.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/desert.jpg", "retryable": false}}}

# A folder is no object, and the root is none.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a/b", "name": "b", "url": "gs://default-bucket/a/b"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/delete", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13010, "message": "Object a does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "a", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/delete", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "The root of bucket default-bucket cannot be deleted; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/listAll", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}], "items": []}}
