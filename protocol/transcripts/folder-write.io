# All below a folder is downloaded as one task.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/www/index.html", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/www/images/forest.jpg", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/writeToDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/new/site", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "kind": "write", "status": "success", "state": "success", "progress": {"completedUnitCount": 26, "totalUnitCount": 26, "fractionCompleted": 1}, "files": {"total": 2, "completed": 2, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "isPlanned": true, "reference": {"bucket": "default-bucket", "fullPath": "www", "name": "www", "url": "gs://default-bucket/www"}, "directory": "<directory>"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/copy.jpg", "file": "{files}/new/site/images/forest.jpg", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "metadata": {"size": 13, "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "...": "..."}, "...": "..."}}

# What cannot be a file is refused by name, and the rest arrives. A mirror removes what is not there.
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "object": "www/a//b"}, "text": "x", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/putData", "params": {"reference": "gs://default-bucket/www/rivers.jpg", "text": "x", "wait": true}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/delete", "params": {"reference": "gs://default-bucket/www/index.html"}}
<< {"jsonrpc": "2.0", "id": 7, "result": null}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/writeToDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/new/site", "changed": true, "delete": true, "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"task": "<mirror>", "state": "success", "files": {"total": 2, "completed": 1, "unchanged": 1, "unchangedBytes": 13, "toDelete": 1, "deleted": 1, "refused": 1, "failed": 0}, "failures": [{"path": "a//b", "action": "write", "state": "refused", "size": 1, "reference": {"object": "www/a//b", "...": "..."}, "error": {"code": -13050, "...": "..."}}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "folderTask/items", "params": {"task": "<mirror>"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"items": [{"path": "a//b", "state": "refused", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/gone", "file": "{files}/new/site/index.html", "wait": true}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13000, "...": "..."}}
