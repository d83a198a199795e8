# An upload of unknown length: each append is answered when its bytes are taken, and the end stores the object.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log", "observe": ["success"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "origin": "stream", "offset": 0, "observers": {"success": "<success>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, "}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 7, "durable": 7}}
# A gap is refused. After that an append has to say where it belongs.
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<task>", "text": "!", "offset": 12}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13050, "message": "The bytes begin at 12, but the next one is that at 7.", "data": {"name": "invalidArgument", "param": "offset", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/append", "params": {"task": "<task>", "text": "!"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 7.", "data": {"name": "invalidArgument", "param": "offset", "retryable": false}}}
# Bytes that are there are left out: a client may repeat what had no answer.
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, world", "offset": 0}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"offset": 12, "durable": 12}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"task": "<task>", "state": "running", "progress": {"completedUnitCount": 12, "totalUnitCount": 12, "fractionCompleted": 0}, "origin": "stream", "offset": 12, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/exists", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"exists": false}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/append", "params": {"task": "<task>", "data": "IQ=="}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"offset": 13, "durable": 13}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/finish", "params": {"task": "<task>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"status": "success", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"task": "<task>", "state": "success", "metadata": {"size": 13, "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "...": "..."}, "...": "..."}}
# A client that repeats the end gets the same; other bytes come too late.
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"task": "<task>", "state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/append", "params": {"task": "<task>", "text": "more"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13050, "message": "The upload is finished: it takes no more bytes.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
