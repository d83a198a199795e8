# Written only where nothing is.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/notes/today.txt", "text": "Hello, world!", "ifGenerationMatch": 0, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/notes/today.txt", "text": "Hello again", "ifGenerationMatch": "0", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "notes/today.txt", "generation": "<generation>", "metageneration": "1", "retryable": false}}}

# Changed and deleted only where nobody else has.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/updateMetadata", "params": {"reference": "gs://default-bucket/notes/today.txt", "metadata": {"cacheControl": "no-store"}, "ifMetagenerationMatch": "1"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"metageneration": "2", "cacheControl": "no-store", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/delete", "params": {"reference": "gs://default-bucket/notes/today.txt", "ifMetagenerationMatch": 1}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "notes/today.txt", "generation": "<generation>", "metageneration": "2", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/delete", "params": {"reference": "gs://default-bucket/notes/today.txt", "ifMetagenerationMatch": 2}}
<< {"jsonrpc": "2.0", "id": 5, "result": null}

# What is not there is not found, unless something is asked for.
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/delete", "params": {"reference": "gs://default-bucket/notes/today.txt", "ifGenerationMatch": 0}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13010, "message": "Object notes/today.txt does not exist.", "data": {"name": "objectNotFound", "bucket": "default-bucket", "object": "notes/today.txt", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/delete", "params": {"reference": "gs://default-bucket/notes/today.txt", "ifGenerationMatch": 7}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13412, "message": "What is at gs://default-bucket/notes/today.txt is not what the preconditions ask for: there is no object.", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "notes/today.txt", "generation": "0", "metageneration": "0", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/delete", "params": {"reference": "gs://default-bucket/notes/today.txt", "ifGenerationMatch": -1}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -32602, "message": "Param \"ifGenerationMatch\" must be an integer from 0 on, or a string of its digits, not the number -1.", "data": {"param": "ifGenerationMatch"}}}
