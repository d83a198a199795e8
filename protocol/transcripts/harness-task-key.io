# A key names a task: the same request goes on with it where it is, also in the next process.
@harness
@file film.mov 2621440 bytes
@file other.mov 10 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/arm", "params": {"rule": "gate", "on": "send", "at": 1048576, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "key": "film"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "status": "resume", "state": "queued", "progress": {"completedUnitCount": 0, "totalUnitCount": 2621440, "fractionCompleted": 0}, "reference": {"fullPath": "film.mov", "...": "..."}, "metadata": "<any>", "key": "film"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "rule": "gate", "task": "<task>", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"tasks": {"running": 1, "...": "..."}, "...": "..."}}

# The same request goes on with the task; one with other params is refused.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "key": "film"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "state": "running", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 2621440, "fractionCompleted": 0.4}, "key": "film", "continued": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/other.mov", "metadata": {"contentType": "video/mp4"}, "key": "film"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "<any>", "data": {"name": "invalidArgument", "param": "key", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "key": ""}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32602, "data": {"param": "key", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"accepted": true, "snapshot": {"state": "paused", "key": "film", "...": "..."}}}
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "key": "film", "observe": ["success"]}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "status": "pause", "state": "paused", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 2621440, "fractionCompleted": 0.4}, "key": "film", "continued": true, "observers": {"success": "<success>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"task": "<task>", "status": "success", "key": "film", "...": "..."}}}

# After the end the key is free.
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": "gs://b/other.mov", "file": "{files}/other.mov", "key": "film", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<next>", "state": "success", "key": "film", "...": "..."}}
