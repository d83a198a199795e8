# An upload stops at exactly 40 %, is paused there, and goes on from there in the next process.
@harness
@file film.mov 2621440 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/arm", "params": {"rule": "gate", "on": "send", "at": 1048576, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "observe": ["pause"]}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "rule": "gate", "on": "send", "reference": "gs://b/film.mov", "task": "<task>", "at": 1048576}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"tasks": {"running": 1, "...": "..."}, "held": [{"hold": "hold-1", "rule": "gate", "on": "send", "reference": "gs://b/film.mov", "task": "<task>", "at": 1048576}], "resting": []}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "observer-1", "snapshot": {"status": "pause", "progress": {"fractionCompleted": 0.4, "...": "..."}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"accepted": true, "snapshot": {"state": "paused", "...": "..."}}}
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "paused", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 2621440, "fractionCompleted": 0.4}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
