# Params are by name, and strict: what is missing, mistyped or unknown is named.

# No params may be written as nothing, null, {} or [].
>> {"jsonrpc": "2.0", "id": 1, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 2, "method": "service/ping", "params": null}
<< {"jsonrpc": "2.0", "id": 2, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 3, "method": "service/ping", "params": {}}
<< {"jsonrpc": "2.0", "id": 3, "result": "pong"}
>> {"jsonrpc": "2.0", "id": 4, "method": "service/ping", "params": []}
<< {"jsonrpc": "2.0", "id": 4, "result": "pong"}

# An array with something in it is not by name.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/child", "params": ["gs://default-bucket", "a"]}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "Params go by name: \"params\" must be an object, not an array."}}

# Missing.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/child", "params": {"reference": "gs://b/a"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32602, "message": "Param \"path\" is missing.", "data": {"param": "path"}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/child", "params": {"reference": {"bucket": "b"}, "path": "a"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "Param \"reference.fullPath\" is missing.", "data": {"param": "reference.fullPath"}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putData", "params": {"reference": "gs://b/a"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -32602, "message": "Param \"data\" is missing, and so is \"text\".", "data": {"param": "data"}}}

# Mistyped.
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/child", "params": {"reference": "gs://b/a", "path": 1}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -32602, "message": "Param \"path\" must be a string, not the number 1.", "data": {"param": "path"}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/child", "params": {"reference": 7, "path": "a"}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -32602, "message": "Param \"reference\" must be a reference or a URL, not the number 7.", "data": {"param": "reference"}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/putData", "params": {"reference": "gs://b/a", "data": "%"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -32602, "message": "Param \"data\" is not base64.", "data": {"param": "data"}}}
>> {"jsonrpc": "2.0", "id": 111, "method": "reference/putData", "params": {"reference": "gs://b/a", "data": "aGk=="}}
<< {"jsonrpc": "2.0", "id": 111, "error": {"code": -32602, "message": "Param \"data\" is not base64.", "data": {"param": "data"}}}
>> {"jsonrpc": "2.0", "id": 112, "method": "reference/putData", "params": {"reference": "gs://b/a", "data": "aGl="}}
<< {"jsonrpc": "2.0", "id": 112, "error": {"code": -32602, "message": "Param \"data\" is not base64.", "data": {"param": "data"}}}
>> {"jsonrpc": "2.0", "id": 113, "method": "reference/putData", "params": {"reference": "gs://b/a", "data": "aGk=aGk="}}
<< {"jsonrpc": "2.0", "id": 113, "error": {"code": -32602, "message": "Param \"data\" is not base64.", "data": {"param": "data"}}}

# An exact name and the path of another object contradict each other.
>> {"jsonrpc": "2.0", "id": 114, "method": "reference/delete", "params": {"reference": {"bucket": "b", "fullPath": "keep", "object": "y"}}}
<< {"jsonrpc": "2.0", "id": 114, "error": {"code": -32602, "message": "Param \"reference.object\" names another object than reference.fullPath.", "data": {"param": "reference.object"}}}
>> {"jsonrpc": "2.0", "id": 115, "method": "reference/child", "params": {"reference": {"bucket": "b", "fullPath": "a/b", "object": "a//b", "generation": "5"}, "path": "c"}}
<< {"jsonrpc": "2.0", "id": 115, "result": {"bucket": "b", "fullPath": "a/b/c", "name": "c", "url": "gs://b/a/b/c"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "reference/putData", "params": {"reference": "gs://b/a", "text": "", "wait": "yes"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -32602, "message": "Param \"wait\" must be true or false, not a string.", "data": {"param": "wait"}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/observe", "params": {"task": "t", "status": "done"}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -32602, "message": "Param \"status\" must be one of resume, progress, pause, success, failure, not \"done\".", "data": {"param": "status"}}}
>> {"jsonrpc": "2.0", "id": 14, "method": "reference/putData", "params": {"reference": "gs://b/a", "text": "", "observe": ["resume", 1]}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -32602, "message": "Param \"observe[1]\" must be a status, not the number 1.", "data": {"param": "observe[1]"}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 1.5}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -32602, "message": "Param \"uploadChunkSizeBytes\" must be a whole number, not the number 1.5.", "data": {"param": "uploadChunkSizeBytes"}}}
>> {"jsonrpc": "2.0", "id": 16, "method": "reference/putData", "params": {"reference": "gs://b/a", "text": "", "metadata": {"contentType": true}}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -32602, "message": "Param \"metadata.contentType\" must be a string or null, not a boolean.", "data": {"param": "metadata.contentType"}}}

# Unknown, or one too many.
>> {"jsonrpc": "2.0", "id": 17, "method": "reference/child", "params": {"reference": "gs://b/a", "path": "a", "Path": "a"}}
<< {"jsonrpc": "2.0", "id": 17, "error": {"code": -32602, "message": "Param \"Path\" is unknown.", "data": {"param": "Path"}}}
>> {"jsonrpc": "2.0", "id": 18, "method": "service/ping", "params": {"a": 1}}
<< {"jsonrpc": "2.0", "id": 18, "error": {"code": -32602, "message": "Param \"a\" is unknown.", "data": {"param": "a"}}}
>> {"jsonrpc": "2.0", "id": 19, "method": "reference/putData", "params": {"reference": "gs://b/a", "text": "", "data": ""}}
<< {"jsonrpc": "2.0", "id": 19, "error": {"code": -32602, "message": "Param \"text\" must not go with \"data\".", "data": {"param": "text"}}}
>> {"jsonrpc": "2.0", "id": 20, "method": "storage/reference", "params": {"url": "gs://b/a", "path": "a"}}
<< {"jsonrpc": "2.0", "id": 20, "error": {"code": -32602, "message": "Param \"path\" goes with bucket, not with url.", "data": {"param": "path"}}}

# Null for an optional param is nothing; for a required one it is a mistake.
>> {"jsonrpc": "2.0", "id": 21, "method": "storage/reference", "params": {"bucket": null, "path": null, "url": null}}
<< {"jsonrpc": "2.0", "id": 21, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}
>> {"jsonrpc": "2.0", "id": 22, "method": "reference/child", "params": {"reference": "gs://b/a", "path": null}}
<< {"jsonrpc": "2.0", "id": 22, "error": {"code": -32602, "message": "Param \"path\" must be a string, not null.", "data": {"param": "path"}}}

# So is a URL of a file that says more than a path, names another machine, or is not encoded UTF-8.
>> {"jsonrpc": "2.0", "id": 24, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file:///rivers.jpg?a"}}
<< {"jsonrpc": "2.0", "id": 24, "error": {"code": -13050, "message": "\"file:///rivers.jpg?a\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 25, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file:///a%2Fb"}}
<< {"jsonrpc": "2.0", "id": 25, "error": {"code": -13050, "message": "\"file:///a%2Fb\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 26, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file://other/a"}}
<< {"jsonrpc": "2.0", "id": 26, "error": {"code": -13050, "message": "\"file://other/a\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 27, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file:///%FF"}}
<< {"jsonrpc": "2.0", "id": 27, "error": {"code": -13050, "message": "\"file:///%FF\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 28, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file:///a%0"}}
<< {"jsonrpc": "2.0", "id": 28, "error": {"code": -13050, "message": "\"file:///a%0\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 29, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "file:rivers.jpg"}}
<< {"jsonrpc": "2.0", "id": 29, "error": {"code": -13050, "message": "\"file:rivers.jpg\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}

# A path that is none, or relative, is the value of a good param that is no good.
>> {"jsonrpc": "2.0", "id": 23, "method": "reference/putFile", "params": {"reference": "gs://b/a", "file": "rivers.jpg"}}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -13050, "message": "\"rivers.jpg\" is neither an absolute path nor a file:// URL of this machine.", "data": {"name": "invalidArgument", "param": "file", "retryable": false}}}
