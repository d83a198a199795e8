# A stream with a size takes neither more bytes nor an end before it.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log", "size": 5}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<sized>", "progress": {"completedUnitCount": 0, "totalUnitCount": 5, "fractionCompleted": 0}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<sized>", "text": "Hello, world!"}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13050, "message": "The bytes end at 13, but the upload has announced 5.", "data": {"name": "invalidArgument", "param": "size", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<sized>", "text": "Hell", "offset": 0}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"offset": 4, "durable": 4}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/finish", "params": {"task": "<sized>"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The bytes end at 4, but the upload has announced 5.", "data": {"name": "invalidArgument", "param": "size", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/append", "params": {"task": "<sized>", "text": "o"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"offset": 5, "durable": 5}}
# Another MD5 fails the task, and nothing is stored.
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/finish", "params": {"task": "<sized>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13031, "message": "The bytes do not have the MD5 that the client has sent. They are the bytes of all requests of the upload, also of those that broke off; the upload has ended.", "data": {"name": "nonMatchingChecksum", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/exists", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"exists": false}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/append", "params": {"task": "<sized>", "text": "o"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13031, "message": "The bytes do not have the MD5 that the client has sent. They are the bytes of all requests of the upload, also of those that broke off; the upload has ended.", "data": {"name": "nonMatchingChecksum", "...": "..."}}}
# An append to a paused stream waits for the resume, and its bytes do not count until then.
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"accepted": true, "snapshot": {"state": "paused", "offset": 0, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"accepted": true, "snapshot": {"offset": 0, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"offset": 5, "durable": 5}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 14, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello"}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -13040, "message": "<string>", "data": {"name": "cancelled", "...": "..."}}}
# An append to another task is refused.
>> {"jsonrpc": "2.0", "id": 15, "method": "reference/putData", "params": {"reference": "gs://default-bucket/logs/today.log", "text": "Hello", "wait": true}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"task": "<data>", "state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 16, "method": "uploadTask/append", "params": {"task": "<data>", "text": "Hello"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
# After an append that was refused, whatever the reason, the next one says where its bytes are, and there is no end before that.
>> {"jsonrpc": "2.0", "id": 17, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 17, "result": {"task": "<other>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 18, "method": "uploadTask/append", "params": {"task": "<other>", "text": "Hello"}}
<< {"jsonrpc": "2.0", "id": 18, "result": {"offset": 5, "durable": 5}}
>> {"jsonrpc": "2.0", "id": 19, "method": "uploadTask/append", "params": {"task": "<other>", "data": "!!"}}
<< {"jsonrpc": "2.0", "id": 19, "error": {"code": -32602, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 20, "method": "uploadTask/append", "params": {"task": "<other>", "text": "world"}}
<< {"jsonrpc": "2.0", "id": 20, "error": {"code": -13050, "data": {"param": "offset", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 21, "method": "uploadTask/finish", "params": {"task": "<other>"}}
<< {"jsonrpc": "2.0", "id": 21, "error": {"code": -13050, "data": {"param": "task", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 22, "method": "uploadTask/append", "params": {"task": "<other>", "text": "!", "offset": 5}}
<< {"jsonrpc": "2.0", "id": 22, "result": {"offset": 6, "durable": 6}}
>> {"jsonrpc": "2.0", "id": 23, "method": "uploadTask/append", "params": {"task": "<other>", "text": "!", "also": 5}}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -32602, "data": {"param": "also", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 24, "method": "uploadTask/finish", "params": {"task": "<other>"}}
<< {"jsonrpc": "2.0", "id": 24, "error": {"code": -13050, "data": {"param": "task", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 25, "method": "uploadTask/append", "params": {"task": "<other>", "text": "", "offset": 6}}
<< {"jsonrpc": "2.0", "id": 25, "result": {"offset": 6, "durable": 6}}
# A message that cannot be read may have been an append, too.
>> {"jsonrpc": "2.0", "id": 26, "method": "uploadTask/append", "params": {"task": "<other>", "text": "!"
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 27, "method": "uploadTask/finish", "params": {"task": "<other>"}}
<< {"jsonrpc": "2.0", "id": 27, "error": {"code": -13050, "data": {"param": "task", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 28, "method": "uploadTask/append", "params": {"task": "<other>", "text": "", "offset": 6}}
<< {"jsonrpc": "2.0", "id": 28, "result": {"offset": 6, "durable": 6}}
>> {"jsonrpc": "2.0", "id": 29, "method": "uploadTask/finish", "params": {"task": "<other>"}}
<< {"jsonrpc": "2.0", "id": 29, "result": {"state": "success", "metadata": {"size": 6, "...": "..."}, "...": "..."}}
