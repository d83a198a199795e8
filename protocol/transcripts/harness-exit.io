# The process ends when half of a file has been sent. The next one has the task, and goes on from there.
@harness
@on stdio
@file film.mov 1048576 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"on": "send", "at": 524288, "do": {"exit": 9}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "state": "queued", "...": "..."}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-1", "...": "..."}}
@exit 9
@restart
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "paused", "progress": {"completedUnitCount": "<number>", "totalUnitCount": 1048576, "fractionCompleted": "<number>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/resume", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
