# The guide, "List files".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/a", "name": "a", "url": "gs://default-bucket/files/a"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/b", "name": "b", "url": "gs://default-bucket/files/b"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/sub/c", "name": "c", "url": "gs://default-bucket/files/sub/c"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/sub/d", "name": "d", "url": "gs://default-bucket/files/sub/d"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files.txt", "name": "files.txt", "url": "gs://default-bucket/files.txt"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}

# storageReference.listAll()
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/listAll", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "files/sub", "name": "sub", "url": "gs://default-bucket/files/sub"}], "items": [{"bucket": "default-bucket", "fullPath": "files/a", "name": "a", "url": "gs://default-bucket/files/a"}, {"bucket": "default-bucket", "fullPath": "files/b", "name": "b", "url": "gs://default-bucket/files/b"}]}}

# storageReference.list(maxResults: 2), then the next page.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}, "maxResults": 2}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"prefixes": [], "items": [{"bucket": "default-bucket", "fullPath": "files/a", "name": "a", "url": "gs://default-bucket/files/a"}, {"bucket": "default-bucket", "fullPath": "files/b", "name": "b", "url": "gs://default-bucket/files/b"}], "pageToken": "<page>"}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}, "maxResults": 2, "pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "files/sub", "name": "sub", "url": "gs://default-bucket/files/sub"}], "items": []}}

# The root is a folder as any other.
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}], "items": [{"bucket": "default-bucket", "fullPath": "files.txt", "name": "files.txt", "url": "gs://default-bucket/files.txt"}]}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/listAll", "params": {"reference": "gs://default-bucket"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"prefixes": [{"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}], "items": [{"bucket": "default-bucket", "fullPath": "files.txt", "name": "files.txt", "url": "gs://default-bucket/files.txt"}]}}

# Nothing is below an object, or where nothing is.
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/a", "name": "a", "url": "gs://default-bucket/files/a"}}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"prefixes": [], "items": []}}
>> {"jsonrpc": "2.0", "id": 12, "method": "reference/listAll", "params": {"reference": "gs://other"}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"prefixes": [], "items": []}}

# One to a thousand.
>> {"jsonrpc": "2.0", "id": 13, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}, "maxResults": 0}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -13050, "message": "maxResults must be between 1 and 1000, not 0.", "data": {"name": "invalidArgument", "param": "maxResults", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 14, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}, "maxResults": 1001}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -13050, "message": "maxResults must be between 1 and 1000, not 1001.", "data": {"name": "invalidArgument", "param": "maxResults", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files", "name": "files", "url": "gs://default-bucket/files"}, "maxResults": 1000}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"...": "..."}}

# A token goes with its reference.
>> {"jsonrpc": "2.0", "id": 16, "method": "reference/list", "params": {"reference": {"bucket": "default-bucket", "fullPath": "files/sub", "name": "sub", "url": "gs://default-bucket/files/sub"}, "pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -13050, "message": "The page token was not given for a listing of gs://default-bucket/files/sub.", "data": {"name": "invalidArgument", "param": "pageToken", "retryable": false}}}
