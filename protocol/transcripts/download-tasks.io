# Downloads can be asked for: one by its id, or all. Uploads are others.
>> {"jsonrpc": "2.0", "id": 1, "method": "downloadTask/list"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"tasks": []}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}, "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<upload>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "file": "{files}/island.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "downloadTask/list"}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": [{"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}]}}
>> {"jsonrpc": "2.0", "id": 6, "method": "downloadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "downloadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "service/status"}
<< {"jsonrpc": "2.0", "id": 8, "result": {"tasks": {"queued": 0, "running": 0, "paused": 0, "success": 3, "failed": 0, "cancelled": 0}, "...": "..."}}

# One who comes late hears how it ended.
>> {"jsonrpc": "2.0", "id": 9, "method": "downloadTask/observe", "params": {"task": "<task>", "status": "success"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"handle": "<late>"}}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<late>", "snapshot": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "downloadTask/removeObserver", "params": {"handle": "<late>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 11, "method": "downloadTask/removeAllObservers", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"removed": 0}}

# Ids of the other kind are unknown.
>> {"jsonrpc": "2.0", "id": 12, "method": "downloadTask/snapshot", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "downloadTask/pause", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 14, "method": "downloadTask/resume", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "downloadTask/cancel", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 16, "method": "downloadTask/wait", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 17, "method": "downloadTask/removeAllObservers", "params": {"task": "<upload>"}}
<< {"jsonrpc": "2.0", "id": 17, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 18, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 18, "error": {"code": -13050, "message": "<string>", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 19, "method": "downloadTask/observe", "params": {"task": "nobody", "status": "pause"}}
<< {"jsonrpc": "2.0", "id": 19, "error": {"code": -13050, "message": "There is no download task \"nobody\", or it ended long ago.", "data": {"name": "invalidArgument", "param": "task", "retryable": false}}}
