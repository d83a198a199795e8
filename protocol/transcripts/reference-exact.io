# Objects whose names are no paths, as consoles make them: an object by its exact name.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference", "params": {"bucket": "default-bucket", "object": "folder/"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder/", "url": "gs://default-bucket/folder"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "object": "folder/"}, "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "reference": {"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder/", "url": "gs://default-bucket/folder"}, "metadata": {"fullPath": "folder", "object": "folder/", "size": 0, "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "object": "folder//a"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}

# Paths and URLs do not lead there.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/folder/"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13010, "message": "Object folder does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "folder", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "object": "folder//a"}, "path": "b"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "folder/a/b", "name": "b", "url": "gs://default-bucket/folder/a/b"}}

# What object says counts, whatever fullPath says: so what was answered can be sent back.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder/", "url": "gs://default-bucket/folder"}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder/", "size": 0, "...": "..."}}

# A listing tells such names only where it is asked to; a prefix with empty segments is a reference to list on from.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/list", "params": {"reference": "gs://default-bucket/folder"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"prefixes": [], "items": []}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/list", "params": {"reference": "gs://default-bucket/folder", "exact": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder//", "url": "gs://default-bucket/folder"}], "items": [{"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder/", "url": "gs://default-bucket/folder"}]}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/listAll", "params": {"reference": {"bucket": "default-bucket", "fullPath": "folder", "name": "folder", "object": "folder//", "url": "gs://default-bucket/folder"}, "exact": true}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"prefixes": [], "items": [{"bucket": "default-bucket", "fullPath": "folder/a", "name": "a", "object": "folder//a", "url": "gs://default-bucket/folder/a"}]}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/delete", "params": {"reference": {"bucket": "default-bucket", "object": "folder/"}}}
<< {"jsonrpc": "2.0", "id": 10, "result": null}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "object": "folder/"}, "maxSize": 10}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13010, "message": "Object folder/ does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "folder/", "retryable": false}}}

# An exact name goes with a bucket alone, and is not empty.
>> {"jsonrpc": "2.0", "id": 12, "method": "storage/reference", "params": {"object": ""}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "An object's name has at least one byte.", "data": {"name": "invalidArgument", "param": "object", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "storage/reference", "params": {"path": "a", "object": "a/"}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -32602, "message": "Param \"object\" goes with bucket alone.", "data": {"param": "object"}}}
