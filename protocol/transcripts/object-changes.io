# What happens to objects in a folder, as it happens.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/observe", "params": {"reference": "gs://default-bucket/uploads"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"handle": "<folder>"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/uploads/b/c.txt", "text": "1"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "queued", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<folder>", "change": "created", "reference": {"bucket": "default-bucket", "fullPath": "uploads/b/c.txt", "name": "c.txt", "url": "gs://default-bucket/uploads/b/c.txt"}, "generation": "<one>", "metageneration": "1"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://default-bucket/uploads/b/c.txt", "text": "2"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "queued", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<folder>", "change": "replaced", "reference": {"bucket": "default-bucket", "fullPath": "uploads/b/c.txt", "name": "c.txt", "url": "gs://default-bucket/uploads/b/c.txt"}, "generation": "<two>", "metageneration": "1"}}

# A move is two changes. What is beside the folder is no matter.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/move", "params": {"reference": "gs://default-bucket/uploads/b/c.txt", "to": "gs://default-bucket/uploads/d.txt"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "queued", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<folder>", "change": "created", "reference": {"bucket": "default-bucket", "fullPath": "uploads/d.txt", "name": "d.txt", "url": "gs://default-bucket/uploads/d.txt"}, "generation": "<three>", "metageneration": "1"}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<folder>", "change": "deleted", "reference": {"bucket": "default-bucket", "fullPath": "uploads/b/c.txt", "name": "c.txt", "url": "gs://default-bucket/uploads/b/c.txt"}, "generation": "<two>", "metageneration": "1"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": "gs://default-bucket/uploads2", "text": "1", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}

# Until it is removed.
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/removeObserver", "params": {"handle": "<folder>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"removed": true}}
>> {"jsonrpc": "2.0", "id": 7, "method": "storage/removeObserver", "params": {"handle": "<folder>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putData", "params": {"reference": "gs://default-bucket/uploads/e.txt", "text": "1", "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"state": "success", "...": "..."}}

# An object, and all of a bucket.
>> {"jsonrpc": "2.0", "id": 9, "method": "storage/observe", "params": {"reference": {"bucket": "default-bucket", "fullPath": "x"}}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"handle": "<object>"}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/putData", "params": {"reference": "gs://default-bucket/x", "text": "1"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "queued", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<object>", "change": "created", "reference": {"bucket": "default-bucket", "fullPath": "x", "name": "x", "url": "gs://default-bucket/x"}, "generation": "<four>", "metageneration": "1"}}
>> {"jsonrpc": "2.0", "id": 11, "method": "storage/removeObserver", "params": {"handle": "<object>"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"removed": true}}
>> {"jsonrpc": "2.0", "id": 12, "method": "storage/observe", "params": {"reference": {"bucket": "default-bucket", "fullPath": ""}}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"handle": "<bucket>"}}
>> {"jsonrpc": "2.0", "id": 13, "method": "reference/copy", "params": {"reference": "gs://default-bucket/x", "to": "gs://default-bucket/y"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"state": "queued", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "storage/changed", "params": {"handle": "<bucket>", "change": "created", "reference": {"bucket": "default-bucket", "fullPath": "y", "name": "y", "url": "gs://default-bucket/y"}, "generation": "<five>", "metageneration": "1"}}
