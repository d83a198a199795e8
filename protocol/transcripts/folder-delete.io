# All below a folder is deleted, and nothing else. An empty path is not taken for all of a bucket.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/images", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/images/forest.jpg", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://default-bucket/images/cats/a.jpg", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putData", "params": {"reference": "gs://default-bucket/imagesque.jpg", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/deleteAll", "params": {"reference": "gs://default-bucket/images", "observe": ["failure", "success"]}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"task": "<task>", "kind": "delete", "state": "queued", "reference": {"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}, "observers": {"failure": "<failure>", "success": "<success>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "folderTask/event", "params": {"handle": "<success>", "snapshot": {"status": "success", "files": {"total": 0, "completed": 0, "unchanged": 0, "toDelete": 2, "deleted": 2, "refused": 0, "failed": 0}, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/listAll", "params": {"reference": "gs://default-bucket", "recursive": true}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"prefixes": [], "items": [{"bucket": "default-bucket", "fullPath": "images", "name": "images", "url": "gs://default-bucket/images"}, {"bucket": "default-bucket", "fullPath": "imagesque.jpg", "name": "imagesque.jpg", "url": "gs://default-bucket/imagesque.jpg"}]}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/deleteAll", "params": {"reference": "gs://default-bucket"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "data": {"param": "reference", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/deleteAll", "params": {"reference": "gs://default-bucket", "everything": true, "exclude": ["imagesque.*"], "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"state": "success", "files": {"total": 0, "completed": 0, "unchanged": 0, "toDelete": 1, "deleted": 1, "refused": 0, "failed": 0}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/deleteAll", "params": {"reference": "gs://default-bucket/none", "wait": true}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"state": "success", "files": {"total": 0, "completed": 0, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}

# The controls of a task that has ended, and its end in the list.
>> {"jsonrpc": "2.0", "id": 10, "method": "folderTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"accepted": false, "snapshot": {"state": "success", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "folderTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"task": "<task>", "state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "folderTask/list", "params": {}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"tasks": [{"task": "<task>", "...": "..."}, {"kind": "delete", "...": "..."}, {"kind": "delete", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 13, "method": "folderTask/forget", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"accepted": true, "snapshot": {"state": "success", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 14, "method": "folderTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -13050, "data": {"param": "task", "...": "..."}, "...": "..."}}
