# An object that fits maxSize, but no answer.
@max-message-bytes 65536
@file large 60000 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "large", "name": "large", "url": "gs://default-bucket/large"}, "file": "{files}/large", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "large", "name": "large", "url": "gs://default-bucket/large"}, "maxSize": 1000000}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13032, "message": "Object large has 60000 bytes, which exceeds the maximum of 48128 bytes. That is what fits an answer; reference/writeToFile takes any size.", "data": {"name": "downloadSizeExceeded", "bucket": "default-bucket", "object": "large", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "large", "name": "large", "url": "gs://default-bucket/large"}, "file": "{files}/copy", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
