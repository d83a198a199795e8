# Rules strike the pieces of streams like those of any other upload and download.
@harness
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"stands": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"rule": "busy", "on": "send", "nth": 2, "do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "busy"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putStream", "params": {"reference": "gs://b/film.mov"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, "}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"offset": 7, "durable": 7}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/settled", "params": {}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": {"running": 1, "...": "..."}, "held": [], "resting": []}}
# The failure is the task's: it retries, and the append is answered then.
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/append", "params": {"task": "<task>", "text": "world!"}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "busy", "on": "send", "reference": "gs://b/film.mov", "task": "<task>", "at": 7}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/settled", "params": {}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"tasks": {"running": 1, "...": "..."}, "held": [], "resting": [{"task": "<task>", "at": "<retry>"}]}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"now": "<retry>", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"offset": 13, "durable": 13}}
# The answer to the last piece is lost: the task asks, and finds the object.
>> {"jsonrpc": "2.0", "id": 9, "method": "harness/arm", "params": {"rule": "lost", "on": "send", "do": {"lose": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"rule": "lost"}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/finish", "params": {"task": "<task>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "lost", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"...": "..."}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "harness/journal", "params": {"expect": ["ok", "ok", "unknown", "ok", "ok", "unknown", "ok"]}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"entries": ["..."], "...": "..."}}
# A piece of a download is held, and fails; the next attempt brings it.
>> {"jsonrpc": "2.0", "id": 13, "method": "harness/arm", "params": {"rule": "gate", "on": "fetch", "nth": 2, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"rule": "gate"}}
>> {"jsonrpc": "2.0", "id": 14, "method": "reference/getStream", "params": {"reference": "gs://b/film.mov"}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"task": "<download>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 15, "method": "downloadTask/read", "params": {"task": "<download>", "length": 5}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"data": "SGVsbG8=", "offset": 0, "isEnd": false}}
>> {"jsonrpc": "2.0", "id": 16, "method": "downloadTask/read", "params": {"task": "<download>"}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "gate", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-1", "rule": "gate", "on": "fetch", "reference": "gs://b/film.mov", "task": "<download>", "at": 5}}
>> {"jsonrpc": "2.0", "id": 17, "method": "harness/settled", "params": {}}
<< {"jsonrpc": "2.0", "id": 17, "result": {"held": [{"hold": "hold-1", "...": "..."}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 18, "method": "harness/release", "params": {"do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 18, "result": {"released": 1}}
>> {"jsonrpc": "2.0", "id": 19, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 19, "result": {"...": "..."}}
<< {"jsonrpc": "2.0", "id": 16, "result": {"data": "LCB3b3JsZCE=", "offset": 5, "isEnd": true, "verified": true}}
>> {"jsonrpc": "2.0", "id": 20, "method": "harness/journal", "params": {"on": "fetch", "expect": ["ok", "unknown", "ok"]}}
<< {"jsonrpc": "2.0", "id": 20, "result": {"entries": [{"bytes": [0, 5], "outcome": "ok", "...": "..."}, {"bytes": [5, 5], "outcome": "unknown", "rule": "gate", "...": "..."}, {"bytes": [5, 13], "outcome": "ok", "...": "..."}], "...": "..."}}
# A piece at an offset is held, too, and its retry waits for the clock.
>> {"jsonrpc": "2.0", "id": 30, "method": "harness/arm", "params": {"rule": "apart", "on": "fetch", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 30, "result": {"rule": "apart"}}
>> {"jsonrpc": "2.0", "id": 31, "method": "reference/getStream", "params": {"reference": "gs://b/film.mov"}}
<< {"jsonrpc": "2.0", "id": 31, "result": {"task": "<random>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 32, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 7}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "apart", "...": "..."}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "held", "hold": "hold-2", "rule": "apart", "on": "fetch", "reference": "gs://b/film.mov", "task": "<random>", "at": 7}}
>> {"jsonrpc": "2.0", "id": 33, "method": "harness/settled", "params": {}}
<< {"jsonrpc": "2.0", "id": 33, "result": {"held": [{"hold": "hold-2", "...": "..."}], "...": "..."}}
>> {"jsonrpc": "2.0", "id": 34, "method": "harness/release", "params": {"do": {"fail": {"httpStatus": 503}}}}
<< {"jsonrpc": "2.0", "id": 34, "result": {"released": 1}}
>> {"jsonrpc": "2.0", "id": 35, "method": "harness/clock", "params": {"toNext": true}}
<< {"jsonrpc": "2.0", "id": 35, "result": {"...": "..."}}
<< {"jsonrpc": "2.0", "id": 32, "result": {"data": "d29ybGQh", "offset": 7, "isEnd": true, "size": 13}}
>> {"jsonrpc": "2.0", "id": 36, "method": "downloadTask/cancel", "params": {"task": "<random>"}}
<< {"jsonrpc": "2.0", "id": 36, "result": {"accepted": true, "...": "..."}}
# A damaged piece is found at the end.
>> {"jsonrpc": "2.0", "id": 21, "method": "harness/arm", "params": {"on": "fetch", "do": {"corrupt": true}}}
<< {"jsonrpc": "2.0", "id": 21, "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 22, "method": "reference/getStream", "params": {"reference": "gs://b/film.mov"}}
<< {"jsonrpc": "2.0", "id": 22, "result": {"task": "<damaged>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 23, "method": "downloadTask/read", "params": {"task": "<damaged>"}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-1", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -13031, "message": "<string>", "data": {"name": "nonMatchingChecksum", "...": "..."}}}
