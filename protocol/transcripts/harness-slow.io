# On a slow link chunks grow only as long as one takes at most a second, and each of them is progress.
@harness
@file film.mov 3145728 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"stands": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "slow", "on": "send", "times": null, "do": {"rate": 800000}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "slow"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "observe": ["progress", "success"]}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "observers": {"progress": "<progress>", "success": "<success>"}, "...": "..."}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "slow", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"now": "2026-01-01T00:00:00.327Z", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 262144, "...": "..."}, "...": "..."}}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "slow", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"now": "2026-01-01T00:00:00.983Z", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 786432, "...": "..."}, "...": "..."}}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "slow", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"now": "2026-01-01T00:00:02.293Z", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 1835008, "...": "..."}, "...": "..."}}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "slow", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"now": "2026-01-01T00:00:03.604Z", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 2883584, "...": "..."}, "...": "..."}}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "slow", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"now": "2026-01-01T00:00:03.932Z", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<progress>", "snapshot": {"progress": {"completedUnitCount": 3145728, "...": "..."}, "...": "..."}}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"state": "success", "...": "..."}}}
