# The guide, "Add file metadata": the content type is inferred where it is not given.
@file photo.png 10 bytes
@file plain 10 bytes

# From the file's extension,
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "url": "gs://default-bucket/a.jpg"}, "file": "{files}/photo.png"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "contentType": "image/png"}, "...": "..."}}

# else from the reference's,
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "url": "gs://default-bucket/a.jpg"}, "file": "{files}/plain"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "contentType": "image/jpeg"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.TXT", "name": "a.TXT", "url": "gs://default-bucket/a.TXT"}, "text": ""}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a.TXT", "name": "a.TXT", "contentType": "text/plain"}, "...": "..."}}

# else application/octet-stream.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "file": "{files}/plain"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "contentType": "application/octet-stream"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.b.unheard-of", "name": "a.b.unheard-of", "url": "gs://default-bucket/a.b.unheard-of"}, "text": ""}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a.b.unheard-of", "name": "a.b.unheard-of", "contentType": "application/octet-stream"}, "...": "..."}}

# What is given comes first.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "url": "gs://default-bucket/a.jpg"}, "file": "{files}/photo.png", "metadata": {"contentType": "image/webp"}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"metadata": {"bucket": "default-bucket", "fullPath": "a.jpg", "name": "a.jpg", "contentType": "image/webp"}, "...": "..."}}

# An empty one is none: it is inferred in an upload, and removed by an update.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.txt", "name": "a.txt", "url": "gs://default-bucket/a.txt"}, "text": "", "metadata": {"contentType": ""}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"metadata": {"contentType": "text/plain", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/updateMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a.txt", "name": "a.txt", "url": "gs://default-bucket/a.txt"}, "metadata": {"contentType": ""}}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"bucket": "default-bucket", "fullPath": "a.txt", "name": "a.txt", "generation": "<string>", "metageneration": "2", "size": 0, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "<string>", "crc32c": "<string>"}}
