# A client knows that the network is back: a wait ends at once, and what has failed begins anew under the same id.
@harness
@file film.mov 2621440 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"now": "2026-01-01T00:00:00.000Z", "stands": true, "sleeping": 0}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "outage", "on": "send", "at": 524288, "times": null, "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "outage"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "observe": ["failure"]}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "state": "queued", "observers": {"failure": "<failure>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "outage", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"resting": [{"task": "<task>", "at": "<first>"}], "...": "..."}}
# The wait ends, and the attempt fails: it counts as the one that was due.
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/retry", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "snapshot": {"task": "<task>", "status": "resume", "state": "running", "progress": {"completedUnitCount": 524288, "totalUnitCount": 2621440, "fractionCompleted": 0.2}, "reference": {"...": "..."}, "metadata": {"...": "..."}}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/settled"}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "outage", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"resting": [{"task": "<task>", "at": "<second>"}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"state": "running", "retry": {"attempt": 2, "of": "upload", "at": "<second>", "error": {"...": "..."}}, "...": "..."}}
# The network is back.
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/disarm"}
<< {"jsonrpc": "2.0", "id": 8, "result": {"fired": {"outage": 2}, "unfired": []}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/retry", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"accepted": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/wait", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/retry", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"accepted": false, "snapshot": {"state": "success", "...": "..."}}}
# An upload has failed, since it may not wait. It runs again under its id, from the first byte; its observers are gone.
>> {"jsonrpc": "2.0", "id": 12, "method": "storage/updateSettings", "params": {"maxUploadRetryTime": 0, "maxDownloadRetryTime": 0}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"...": "..."}}
>> {"jsonrpc": "2.0", "id": 13, "method": "harness/arm", "params": {"rule": "outage", "on": "send", "at": 524288, "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"rule": "outage"}}
>> {"jsonrpc": "2.0", "id": 14, "method": "reference/putFile", "params": {"reference": "gs://b/again.mov", "file": "{files}/film.mov", "metadata": {"customMetadata": {"take": "2"}}, "observe": ["failure"]}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"task": "<again>", "observers": {"failure": "<lost>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "outage", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<lost>", "snapshot": {"task": "<again>", "status": "failure", "state": "failed", "error": {"code": -13030, "...": "..."}, "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "harness/arm", "params": {"rule": "gate", "on": "open", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 16, "method": "uploadTask/retry", "params": {"task": "<again>"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 16, "result": {"accepted": true, "snapshot": {"task": "<again>", "status": "resume", "state": "running", "progress": {"completedUnitCount": 0, "totalUnitCount": 2621440, "fractionCompleted": 0}, "reference": {"...": "..."}, "metadata": {"customMetadata": {"take": "2"}, "...": "..."}}}}
>> {"jsonrpc": "2.0", "id": 17, "method": "uploadTask/list", "params": {}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 17, "result": {"tasks": [{"task": "<task>", "state": "success", "...": "..."}, {"task": "<again>", "state": "running", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 18, "method": "uploadTask/observe", "params": {"task": "<again>", "status": "success"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 18, "result": {"handle": "<anew>"}}
>> {"jsonrpc": "2.0", "id": 19, "method": "harness/settled"}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 19, "result": {"held": [{"rule": "gate", "on": "open", "task": "<again>", "...": "..."}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 20, "method": "harness/release"}
<< {"jsonrpc": "2.0", "id": 20, "result": {"released": 1}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<anew>", "snapshot": {"task": "<again>", "status": "success", "...": "..."}}}
# A download, too.
>> {"jsonrpc": "2.0", "id": 21, "method": "harness/arm", "params": {"rule": "outage", "on": "fetch", "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 21, "result": {"rule": "outage"}}
>> {"jsonrpc": "2.0", "id": 22, "method": "reference/writeToFile", "params": {"reference": "gs://b/again.mov", "file": "{files}/copy.mov"}}
<< {"jsonrpc": "2.0", "id": 22, "result": {"task": "<download>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 23, "method": "downloadTask/wait", "params": {"task": "<download>"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -13030, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 24, "method": "downloadTask/retry", "params": {"task": "<download>"}}
<< {"jsonrpc": "2.0", "id": 24, "result": {"accepted": true, "snapshot": {"task": "<download>", "state": "running", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 25, "method": "downloadTask/wait", "params": {"task": "<download>"}}
<< {"jsonrpc": "2.0", "id": 25, "result": {"task": "<download>", "state": "success", "...": "..."}}
# The bytes of a message are gone with their task, and another request will not find what is not there.
>> {"jsonrpc": "2.0", "id": 26, "method": "harness/arm", "params": {"rule": "outage", "on": "whole", "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 26, "result": {"rule": "outage"}}
>> {"jsonrpc": "2.0", "id": 27, "method": "reference/putData", "params": {"reference": "gs://b/note.txt", "text": "It rained."}}
<< {"jsonrpc": "2.0", "id": 27, "result": {"task": "<note>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 28, "method": "uploadTask/wait", "params": {"task": "<note>"}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": "<any>"}
<< {"jsonrpc": "2.0", "id": 28, "error": {"code": -13030, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 29, "method": "uploadTask/retry", "params": {"task": "<note>"}}
<< {"jsonrpc": "2.0", "id": 29, "result": {"accepted": false, "snapshot": {"task": "<note>", "state": "failed", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 30, "method": "reference/writeToFile", "params": {"reference": "gs://b/none", "file": "{files}/none"}}
<< {"jsonrpc": "2.0", "id": 30, "result": {"task": "<none>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 31, "method": "downloadTask/wait", "params": {"task": "<none>"}}
<< {"jsonrpc": "2.0", "id": 31, "error": {"code": -13010, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 32, "method": "downloadTask/retry", "params": {"task": "<none>"}}
<< {"jsonrpc": "2.0", "id": 32, "result": {"accepted": false, "snapshot": {"state": "failed", "...": "..."}}}
