# A copy is held before it happens, paused there, and goes on in the next process. Rules know it as `copy`.
@harness
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://b/a", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "gate", "on": "copy", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/copy", "params": {"reference": "gs://b/a", "to": "gs://b/c", "observe": ["pause"]}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "state": "queued", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "rule": "gate", "on": "copy", "reference": "gs://b/c", "task": "<task>", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"held": [{"hold": "hold-1", "rule": "gate", "on": "copy", "reference": "gs://b/c", "task": "<task>", "...": "..."}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "observer-1", "snapshot": {"status": "pause", "source": {"fullPath": "a", "...": "..."}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "snapshot": {"state": "paused", "...": "..."}}}
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "paused", "source": {"bucket": "b", "fullPath": "a", "name": "a", "url": "gs://b/a"}, "isMove": false, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "metadata": {"size": 13, "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/move", "params": {"reference": "gs://b/c", "to": "gs://b/d", "wait": true}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/journal", "params": {"on": "move"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"entries": [{"on": "move", "reference": "gs://b/d", "outcome": "ok", "...": "..."}], "...": "..."}}
