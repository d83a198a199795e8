# A folder is held in the middle, paused there, goes on in the next process, and reports the file that failed. Rules know its files by their uploads, and their task is the folder's.
@harness
@file site/a 13 bytes
@file site/b 13 bytes
@file site/c 13 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/arm", "params": {"rule": "gate", "on": "whole", "reference": "gs://b/www/b", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putDirectory", "params": {"reference": "gs://b/www", "directory": "{files}/site", "observe": ["pause"]}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/settled", "params": {}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "on": "whole", "reference": "gs://b/www/b", "task": "<task>", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"held": [{"hold": "hold-1", "task": "<task>", "...": "..."}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "folderTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "folderTask/event", "params": {"handle": "<pause>", "snapshot": {"status": "pause", "state": "paused", "files": {"total": 3, "completed": 2, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"accepted": true, "snapshot": {"state": "paused", "...": "..."}}}
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "folderTask/list", "params": {}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"tasks": [{"task": "<task>", "state": "paused", "files": {"total": 3, "completed": 2, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "isPlanned": true, "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "refusal", "on": "whole", "reference": "gs://b/www/b", "do": {"fail": {"error": "unauthorized"}}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "refusal"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "folderTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "...": "..."}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "folderTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13021, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "folderTask/items", "params": {"task": "<task>", "states": ["failed"]}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"items": [{"path": "b", "action": "put", "state": "failed", "error": {"code": -13021, "...": "..."}, "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/disarm", "params": {"rule": "refusal"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "folderTask/retry", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "folderTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"state": "success", "files": {"total": 3, "completed": 3, "unchanged": 0, "toDelete": 0, "deleted": 0, "refused": 0, "failed": 0}, "...": "..."}}
