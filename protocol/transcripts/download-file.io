# The guide, "Download files: download to a local file".
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}

# let localURL = URL(string: "path/to/image")!; let downloadTask = islandRef.write(toFile: localURL)
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "file": "{files}/island.jpg", "observe": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "observers": {"resume": "<resume>", "progress": "<progress>", "pause": "<pause>", "success": "<success>", "failure": "<failure>"}}}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<resume>", "snapshot": {"task": "<task>", "status": "resume", "state": "running", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 0}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}}
<<* {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<progress>", "snapshot": {"status": "progress", "state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<progress>", "snapshot": {"task": "<task>", "status": "progress", "state": "running", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}}}}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<success>", "snapshot": {"task": "<task>", "status": "success", "state": "success", "progress": {"completedUnitCount": 13, "totalUnitCount": 13, "fractionCompleted": 1}, "reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "metadata": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "generation": "<generation>", "metageneration": "1", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "contentType": "image/jpeg"}}}}

# An existing file is replaced; a file:// URL works like a path.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/island.jpg", "name": "island.jpg", "url": "gs://default-bucket/images/island.jpg"}, "text": "Hello again!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/writeToFile", "params": {"reference": "gs://default-bucket/images/island.jpg", "file": "file://{files}/island.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "progress": {"completedUnitCount": 12, "totalUnitCount": 12, "fractionCompleted": 1}, "...": "..."}}

# The bytes are those: they can go up again.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "copy", "name": "copy", "url": "gs://default-bucket/copy"}, "file": "{files}/island.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "copy", "name": "copy", "url": "gs://default-bucket/copy"}, "maxSize": 12}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"data": "SGVsbG8gYWdhaW4h"}}

# No bytes are a file, too.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "empty", "name": "empty", "url": "gs://default-bucket/empty"}, "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/writeToFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "empty", "name": "empty", "url": "gs://default-bucket/empty"}, "file": "{files}/empty", "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"state": "success", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 1}, "...": "..."}}
