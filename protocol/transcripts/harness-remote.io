# The same rules on a remote engine: the last answer is lost, and the object is not sent twice.
@engine gcs
@harness
@file film.mov 1048576 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"now": "2026-01-01T00:00:00.000Z", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/arm", "params": {"rule": "last", "on": "send", "at": 786432, "do": {"lose": {"httpStatus": 502}}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"rule": "last"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "observe": ["success"]}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "last", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": {"running": 1, "...": "..."}, "held": [], "resting": [{"task": "<task>", "at": "<at>"}]}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/clock", "params": {"advance": 10}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "observer-1", "snapshot": {"status": "success", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/journal", "params": {"expect": ["ok", "ok", "ok", "ok", "unknown", "ok"]}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"entries": ["..."], "last": 6, "dropped": 0}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/arm", "params": {"on": "send", "at": 5, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "On a remote engine at must be a multiple of 262144.", "data": {"name": "invalidArgument", "param": "at", "retryable": false}}}
