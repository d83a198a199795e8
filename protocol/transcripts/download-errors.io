# The guide, "Download files: handle errors".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}, "file": "{files}/none.jpg", "observe": ["progress", "failure"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"progress": "<progress>", "failure": "<failure>"}, "...": "..."}}

# case .objectNotFound: File doesn't exist
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<failure>", "snapshot": {"task": "<task>", "status": "failure", "state": "failed", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}, "error": {"code": -13010, "message": "Object images/none.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/none.jpg", "retryable": false}}}}}

# With wait it is the error of the request.
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/none.jpg", "name": "none.jpg", "url": "gs://default-bucket/images/none.jpg"}, "file": "{files}/none.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13010, "message": "Object images/none.jpg does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "images/none.jpg", "retryable": false}}}

# A directory that is not there.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "file": "{files}/no/island.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13000, "message": "File {files}/no/island.jpg cannot be written: the directory {files}/no does not exist.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "images/island.jpg", "file": "{files}/no/island.jpg", "retryable": false}}}

# No path at all, and no object at all.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "file": "island.jpg"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "\"island.jpg\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "file": "{files}/root"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13050, "message": "The root of bucket default-bucket has no bytes; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
