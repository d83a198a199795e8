# Google Cloud Storage takes chunks: small appends wait here for more, and the end sends the rest.
@engine gcs
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "origin": "stream", "offset": 0, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, "}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 7, "durable": 0}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<task>", "text": "world!", "offset": 7}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"offset": 13, "durable": 0}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/finish", "params": {"task": "<task>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "state": "success", "metadata": {"size": 13, "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"task": "<download>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "downloadTask/read", "params": {"task": "<download>", "length": 5}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"data": "SGVsbG8=", "offset": 0, "isEnd": false}}
>> {"jsonrpc": "2.0", "id": 7, "method": "downloadTask/read", "params": {"task": "<download>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"data": "LCB3b3JsZCE=", "offset": 5, "isEnd": true, "verified": true}}
# Another MD5 is noticed before anything is stored.
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"task": "<other>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/append", "params": {"task": "<other>", "text": "Good-bye"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"offset": 8, "durable": 0}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/finish", "params": {"task": "<other>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13031, "message": "<string>", "data": {"name": "nonMatchingChecksum", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"size": 13, "...": "..."}}
