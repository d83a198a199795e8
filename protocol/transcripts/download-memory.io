# The guide, "Download files: download in memory".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}

# islandRef.getData(maxSize: 1 * 1024 * 1024)
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "maxSize": 1048576}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"data": "SGVsbG8sIHdvcmxkIQ=="}}

# 13 bytes are enough, 12 are not.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "maxSize": 13}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"data": "SGVsbG8sIHdvcmxkIQ=="}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "maxSize": 12}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13032, "message": "Object images/island.jpg has 13 bytes, which exceeds the maximum of 12 bytes.", "data": {"name": "downloadSizeExceeded", "bucket": "default-bucket", "object": "images/island.jpg", "retryable": false}}}

# Nothing fits into nothing.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "empty", "name": "empty", "url": "gs://default-bucket/empty"}, "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "empty", "name": "empty", "url": "gs://default-bucket/empty"}, "maxSize": 0}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"data": ""}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "maxSize": -1}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "maxSize must be at least 0, not -1.", "data": {"name": "invalidArgument", "param": "maxSize", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}, "maxSize": 1}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13010, "message": "Object images/none.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/none.jpg", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "maxSize": 1}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "The root of bucket default-bucket has no bytes; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
