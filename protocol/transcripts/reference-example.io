# The guide's full example on references.

# let storageRef = Storage.storage().reference()
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference"}
<< {"jsonrpc": "2.0", "id": 1, "result": "<storageRef>"}

# let imagesRef = storageRef.child("images")
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/child", "params": {"reference": "<storageRef>", "path": "images"}}
<< {"jsonrpc": "2.0", "id": 2, "result": "<imagesRef>"}

# let fileName = "space.jpg"; let spaceRef = imagesRef.child(fileName)
# spaceRef.fullPath is "images/space.jpg", spaceRef.name is "space.jpg".
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/child", "params": {"reference": "<imagesRef>", "path": "space.jpg"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# let images = spaceRef.parent(): the same as imagesRef.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/parent", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}}
<< {"jsonrpc": "2.0", "id": 4, "result": "<imagesRef>"}
