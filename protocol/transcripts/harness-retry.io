# Ten chunks, the third of which fails twice: the retries take no time, and the journal tells what happened.
@harness
@file film.mov 2621440 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"now": "2026-01-01T00:00:00.000Z", "stands": true, "sleeping": 0}}
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/arm", "params": {"rule": "busy", "on": "send", "nth": 3, "times": 2, "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"rule": "busy"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "observe": ["success"]}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "busy", "on": "send", "reference": "gs://b/film.mov", "task": "<task>", "at": 524288}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": {"running": 1, "...": "..."}, "held": [], "resting": [{"task": "<task>", "at": "<first>"}]}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"now": "<first>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "busy", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"tasks": {"running": 1, "...": "..."}, "held": [], "resting": [{"task": "<task>", "at": "<second>"}]}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/clock", "params": {"advance": 600}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "observer-1", "snapshot": {"status": "success", "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"stands": true, "sleeping": 0, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "id": 9, "result": {"tasks": {"success": 1, "...": "..."}, "held": [], "resting": []}}
>> {"jsonrpc": "2.0", "id": 10, "method": "harness/journal", "params": {"on": "send", "expect": ["ok", "ok", "unknown", "unknown", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"]}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"entries": ["..."], "last": 15, "dropped": 0}}
>> {"jsonrpc": "2.0", "id": 11, "method": "harness/journal", "params": {"on": "query", "expect": ["ok"]}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13900, "message": "Expected ok, found ok, ok.", "data": {"name": "expectationFailed", "expected": ["ok"], "found": ["ok", "ok"], "nearest": ["..."]}}}
>> {"jsonrpc": "2.0", "id": 12, "method": "harness/disarm"}
<< {"jsonrpc": "2.0", "id": 12, "result": {"fired": {"busy": 2}, "unfired": []}}
