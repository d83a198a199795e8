# The guide, "Create a reference": a root reference, children of it, and the same by URL.

# let storageRef = storage.reference()
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# let imagesRef = storageRef.child("images")
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "path": "images"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}}

# var spaceRef = storageRef.child("images/space.jpg"); imagesRef still points to "images", for references are values.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}, "path": "images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# spaceRef = storage.reference(forURL: "gs://<your-firebase-storage-bucket>/images/space.jpg")
>> {"jsonrpc": "2.0", "id": 4, "method": "storage/reference", "params": {"url": "gs://default-bucket/images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# storage.reference(withPath: "images/space.jpg")
>> {"jsonrpc": "2.0", "id": 5, "method": "storage/reference", "params": {"path": "images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}

# A reference of another bucket. A bucket need not exist to be pointed to.
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/reference", "params": {"bucket": "other", "path": "images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"bucket": "other", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://other/images/space.jpg"}}
