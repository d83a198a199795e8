# What is held, rests or waits ends with a reset. A paused upload is in the snapshot, and goes on after it.
@harness
@on stdio socket
@file film.mov 1048576 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "gate", "on": ["send", "getMetadata"], "times": null, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/save", "params": {"snapshot": "paused"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"snapshot": "paused", "objects": 0, "bytes": 0}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/putData", "params": {"reference": "gs://b/later", "text": "x", "wait": true}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/getMetadata", "params": {"reference": "gs://b/later"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "rule": "gate", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/reset", "params": {"snapshot": "paused"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13000, "message": "The space was reset.", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 8, "result": {}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/listAll", "params": {"reference": "gs://b"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"prefixes": [], "items": [{"name": "film.mov", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 12, "method": "harness/reset"}
<< {"jsonrpc": "2.0", "id": 12, "result": {}}
>> {"jsonrpc": "2.0", "id": 13, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "id": 13, "result": {"tasks": {"queued": 0, "running": 0, "paused": 0, "success": 0, "failed": 0, "cancelled": 0}, "held": [], "resting": []}}
