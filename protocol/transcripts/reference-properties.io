# The guide, "Reference properties": fullPath, name and bucket of "images/space.jpg".
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference", "params": {"path": "images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# Leading, trailing and doubled slashes go.
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/reference", "params": {"path": "/images//space.jpg/"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# The root has no path and no name.
>> {"jsonrpc": "2.0", "id": 3, "method": "storage/reference", "params": {"path": "/"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# Of a reference only bucket and fullPath are read, so that one can be written by hand.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg"}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "ignored", "note": "ignored too"}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}
