# Tasks can be asked for: one by its id, or all.
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/list"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"tasks": []}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<a>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "b", "name": "b", "url": "gs://default-bucket/b"}, "file": "{files}/none", "observe": ["failure"]}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<b>", "observers": {"failure": "<failure>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<failure>", "snapshot": {"task": "<b>", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/snapshot", "params": {"task": "<a>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<a>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "metadata": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "application/octet-stream"}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/list"}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": [{"task": "<a>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "metadata": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "application/octet-stream"}}, {"task": "<b>", "status": "failure", "state": "failed", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "b", "name": "b", "url": "gs://default-bucket/b"}, "metadata": {"bucket": "default-bucket", "fullPath": "b", "name": "b", "contentType": "application/octet-stream"}, "error": {"code": -13000, "message": "File {files}/none does not exist.", "data": {"name": "unknown", "bucket": "default-bucket", "object": "b", "file": "{files}/none", "retryable": false}}}]}}

# An unknown one.
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/snapshot", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/pause", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/resume", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/cancel", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/wait", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/observe", "params": {"task": "nobody", "status": "pause"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/removeAllObservers", "params": {"task": "nobody"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "There is no upload task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
