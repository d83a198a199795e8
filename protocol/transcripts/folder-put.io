# A directory is uploaded as one task: its files have their paths below the folder, whatever is there.
@file site/index.html 13 bytes
@file site/images/forest.jpg 13 bytes
@file site/images/raw/forest.raw 13 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "exclude": ["raw/"], "metadata": {"cacheControl": "no-cache"}, "observe": ["resume", "success"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "kind": "put", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 1}, "files": {"total": 0, "completed": 0, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "isPlanned": false, "reference": {"bucket": "default-bucket", "fullPath": "www", "name": "www", "url": "gs://default-bucket/www"}, "directory": "<directory>", "observers": {"resume": "<resume>", "success": "<success>"}}}
<< {"jsonrpc": "2.0", "method": "folderTask/event", "params": {"handle": "<resume>", "snapshot": {"task": "<task>", "status": "resume", "state": "running", "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "folderTask/event", "params": {"handle": "<success>", "snapshot": {"task": "<task>", "kind": "put", "status": "success", "state": "success", "progress": {"completedUnitCount": 26, "totalUnitCount": 26, "fractionCompleted": 1}, "files": {"total": 2, "completed": 2, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "isPlanned": true, "reference": {"bucket": "default-bucket", "fullPath": "www", "name": "www", "url": "gs://default-bucket/www"}, "directory": "<directory>"}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/www/images/forest.jpg"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"size": 13, "contentType": "image/jpeg", "cacheControl": "no-cache", "...": "..."}}

# The same again: with `changed` there is nothing to do, with ifGenerationMatch 0 nothing may be done.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "exclude": ["raw/"], "changed": true, "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "progress": {"completedUnitCount": 26, "totalUnitCount": 26, "fractionCompleted": 1}, "files": {"total": 2, "completed": 0, "unchanged": 2, "unchangedBytes": 26, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "ifGenerationMatch": 0, "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "files": {"total": 3, "completed": 1, "unchanged": 2, "unchangedBytes": 26, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}

# A dry run tells what a mirror would upload and delete, and changes nothing. Then it is done.
@file site/images/rivers.jpg 14 bytes
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site/images", "include": ["*.jpg", "index.html"], "changed": true, "delete": true, "dryRun": true, "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"task": "<dry>", "state": "success", "dryRun": true, "files": {"total": 2, "completed": 0, "unchanged": 0, "toDelete": 2, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "folderTask/items", "params": {"task": "<dry>", "states": ["pending"], "maxResults": 10}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"items": [{"state": "pending", "...": "..."}, {"state": "pending", "...": "..."}, {"state": "pending", "...": "..."}, {"state": "pending", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site/images", "include": ["*.jpg", "index.html"], "changed": true, "delete": true, "wait": true}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"state": "success", "files": {"total": 2, "completed": 2, "unchanged": 0, "toDelete": 2, "deleted": 2, "refused": 0, "failed": 0}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/listAll", "params": {"reference": "gs://default-bucket/www", "recursive": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"prefixes": [], "items": [{"bucket": "default-bucket", "fullPath": "www/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/www/forest.jpg"}, {"bucket": "default-bucket", "fullPath": "www/images/raw/forest.raw", "name": "forest.raw", "url": "gs://default-bucket/www/images/raw/forest.raw"}, {"bucket": "default-bucket", "fullPath": "www/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/www/rivers.jpg"}]}}

# A directory that is not there, and params that cannot be.
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/none", "wait": true}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13000, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "site"}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13050, "data": {"param": "directory", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "ifGenerationMatch": "7"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -32602, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "metadata": {"md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -32602, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 13, "method": "reference/putDirectory", "params": {"reference": "gs://default-bucket/www", "directory": "{files}/site", "ifMetagenerationMatch": 1}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -32602, "data": {"param": "ifMetagenerationMatch", "...": "..."}, "...": "..."}}
