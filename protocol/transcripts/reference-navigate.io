# The guide, "Navigate with references": parent, root, and chains of them.

# let imagesRef = spaceRef.parent()
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}

# let rootRef = spaceRef.root()
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/root", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# let earthRef = spaceRef.parent()?.child("earth.jpg")
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/parent", "params": {"reference": "gs://default-bucket/images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}, "path": "earth.jpg"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"bucket": "default-bucket", "fullPath": "images/earth.jpg", "name": "earth.jpg", "url": "gs://default-bucket/images/earth.jpg"}}

# let nilRef = spaceRef.root().parent()
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/root", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 6, "result": null}

# The parent of a child of the root is the root.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# child(""), and a child that climbs: ".." is a name like any other.
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}, "path": ""}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}, "path": "../space.jpg"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"bucket": "default-bucket", "fullPath": "images/../space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/../space.jpg"}}
