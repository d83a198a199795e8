# All below a folder, in the order of the names, in pages.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/files/a/b/one.txt", "text": "1", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/files/two.txt", "text": "2", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://default-bucket/files2", "text": "3", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/listAll", "params": {"reference": "gs://default-bucket/files", "recursive": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"prefixes": [], "items": [{"fullPath": "files/a/b/one.txt", "...": "..."}, {"fullPath": "files/two.txt", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/list", "params": {"reference": "gs://default-bucket", "recursive": true, "metadata": true, "maxResults": 2}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"prefixes": [], "items": [{"fullPath": "files/a/b/one.txt", "...": "..."}, {"fullPath": "files/two.txt", "...": "..."}], "metadata": [{"fullPath": "files/a/b/one.txt", "size": 1, "...": "..."}, {"fullPath": "files/two.txt", "size": 1, "...": "..."}], "pageToken": "<page>"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/list", "params": {"reference": "gs://default-bucket", "recursive": true, "pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"prefixes": [], "items": [{"fullPath": "files2", "...": "..."}]}}

# Is it there?
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/exists", "params": {"reference": "gs://default-bucket/files2"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"exists": true}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/exists", "params": {"reference": "gs://default-bucket/files"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"exists": false}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/exists", "params": {"reference": "gs://default-bucket"}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "The root of bucket default-bucket is no object; name an object in it.", "data": {"name": "invalidArgument", "param": "reference", "retryable": false}}}
