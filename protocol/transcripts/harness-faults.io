# What servers do wrong, one fault after the other.
@harness
@file film.mov 1048576 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 262144}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"...": "..."}}

# The third chunk is not allowed: the task fails, and half of the file had come.
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"on": "send", "nth": 3, "do": {"fail": {"error": "unauthorized"}}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "wait": true}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-1", "on": "send", "at": 524288, "...": "..."}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13021, "message": "<string>", "data": {"name": "unauthorized", "...": "..."}}}

# There is no room left.
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/arm", "params": {"on": "whole", "do": {"fail": {"error": "quotaExceeded", "message": "The bucket is full."}}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"rule": "rule-2"}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": "gs://b/note.txt", "text": "Hello", "wait": true}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-2", "on": "whole", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13013, "message": "The bucket is full.", "data": {"name": "quotaExceeded", "...": "..."}}}

# The bytes arrive damaged, and nothing is stored.
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/arm", "params": {"on": "whole", "do": {"corrupt": true}}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"rule": "rule-3"}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/putData", "params": {"reference": "gs://b/note.txt", "text": "Hello", "wait": true}}
<< {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-3", "on": "whole", "...": "..."}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13031, "message": "<string>", "data": {"name": "nonMatchingChecksum", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/getMetadata", "params": {"reference": "gs://b/note.txt"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13010, "message": "<string>", "data": {"name": "objectNotFound", "...": "..."}}}

# From the third chunk on, the token is refused: the client gets a better one, and the upload goes on.
>> {"jsonrpc": "2.0", "id": 9, "method": "auth/setToken", "params": {"token": "stale", "expiresIn": 3600}}
<< {"jsonrpc": "2.0", "id": 9, "result": null}
>> {"jsonrpc": "2.0", "id": 10, "method": "harness/arm", "params": {"on": "send", "at": 524288, "times": null, "do": {"demand": {"accept": ["fresh"]}}}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"rule": "rule-4"}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/putFile", "params": {"reference": "gs://b/film.mov", "file": "{files}/film.mov", "wait": true}}
<<* {"jsonrpc": "2.0", "method": "harness/event", "params": {"event": "fired", "rule": "rule-4", "...": "..."}}
<< {"jsonrpc": "2.0", "id": "<question>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "refused"}}
>> {"jsonrpc": "2.0", "id": "<question>", "result": {"token": "fresh", "expiresIn": 3600}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"state": "success", "...": "..."}}

# Nothing was armed in vain.
>> {"jsonrpc": "2.0", "id": 12, "method": "harness/disarm"}
<< {"jsonrpc": "2.0", "id": 12, "result": {"fired": {"rule-1": 1, "rule-2": 1, "rule-3": 1, "rule-4": "<number>"}, "unfired": []}}
