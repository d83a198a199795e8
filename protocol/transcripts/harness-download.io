# A download stops at exactly 40 %, is paused there, and goes on from there.
@harness
@file film.mov 2621440 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "gate", "on": "fetch", "at": 1048576, "times": 2, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/writeToFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/copy.mov"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "rule": "gate", "on": "fetch", "reference": "gs://b/film.mov", "task": "<task>", "at": 1048576}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"held": [{"hold": "hold-1", "rule": "gate", "on": "fetch", "reference": "gs://b/film.mov", "task": "<task>", "at": 1048576}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "downloadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "snapshot": {"state": "paused", "progress": {"completedUnitCount": 1048576, "totalUnitCount": 2621440, "fractionCompleted": 0.4}, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "downloadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-2", "rule": "gate", "at": 1048576, "...": "..."}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/release"}
<< {"jsonrpc": "2.0", "id": 8, "result": {"released": 1}}
>> {"jsonrpc": "2.0", "id": 9, "method": "downloadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "harness/journal", "params": {"on": "fetch", "expect": ["ok", "aborted", "ok"]}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"entries": [{"bytes": [0, 1048576], "outcome": "ok", "...": "..."}, {"bytes": [1048576, 1048576], "outcome": "aborted", "rule": "gate", "...": "..."}, {"bytes": [1048576, 2621440], "outcome": "ok", "rule": "gate", "...": "..."}], "...": "..."}}
# A byte that arrives damaged is found.
>> {"jsonrpc": "2.0", "id": 11, "method": "harness/arm", "params": {"on": "fetch", "at": 1048577, "do": {"corrupt": true}}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "reference/writeToFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/other.mov", "wait": true}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-1", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13031, "...": "..."}}
