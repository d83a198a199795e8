# Mistakes of the author of a test are answered.
@harness
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/arm", "params": {"on": "upload", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Param \"on\" must be one of open, send, query, whole, copy, move, fetch, getMetadata, updateMetadata, delete, list, getData, downloadURL, revokeDownloadURL, not \"upload\".", "data": {"param": "on"}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "harness/arm", "params": {"on": "send", "do": {"explode": true}}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Param \"do\" must have exactly one member of fail, lose, hold, corrupt, delay, rate, demand, exit.", "data": {"param": "do"}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/arm", "params": {"on": "list", "at": 5, "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13050, "message": "Such a rule with at can only be about send, fetch.", "data": {"name": "invalidArgument", "param": "on", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "harness/release", "params": {"hold": "hold-1"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "There is no hold \"hold-1\".", "data": {"name": "invalidArgument", "param": "hold", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/clock", "params": {"advance": 5}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "The clock runs: stop it with at.", "data": {"name": "invalidArgument", "param": "advance", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "harness/clock", "params": {"at": "2026-01-01T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"now": "2026-01-01T00:00:00.000Z", "stands": true, "sleeping": 0}}
>> {"jsonrpc": "2.0", "id": 7, "method": "harness/clock", "params": {"at": "2025-12-31T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "The clock stands at 2026-01-01T00:00:00.000Z; it does not go back.", "data": {"name": "invalidArgument", "param": "at", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "harness/disarm", "params": {"rule": "none"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "There is no rule \"none\".", "data": {"name": "invalidArgument", "param": "rule", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "harness/arm", "params": {"on": "list", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"rule": "rule-1"}}
>> {"jsonrpc": "2.0", "id": 10, "method": "harness/disarm"}
<< {"jsonrpc": "2.0", "id": 10, "result": {"fired": {"rule-1": 0}, "unfired": ["rule-1"]}}
>> {"jsonrpc": "2.0", "id": 11, "method": "harness/arm", "params": {"on": [], "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -32602, "message": "Param \"on\" must name an operation, or be \"*\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "harness/arm", "params": {"on": "list", "reference": "b/x", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -32602, "message": "Param \"reference\" must be a pattern of gs:// URLs, not \"b/x\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 13, "method": "harness/arm", "params": {"on": "send", "task": "nope", "do": {"hold": true}}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -13050, "message": "There is no download task \"nope\", or it ended long ago.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 14, "method": "harness/arm", "params": {"on": "send", "do": {"fail": {"httpStatus": 200}}}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -32602, "message": "Param \"do.fail.httpStatus\" must be a status of failure, from 400 to 599.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 15, "method": "harness/arm", "params": {"on": "send", "do": {"exit": 256}}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -32602, "message": "Param \"do.exit\" must be a status from 0 to 255.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 16, "method": "harness/clock", "params": {"at": "2026-02-30T00:00:00Z"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -32602, "message": "Param \"at\" must be a time as 2026-01-01T00:00:00Z, not \"2026-02-30T00:00:00Z\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 17, "method": "harness/journal", "params": {"expect": {"atLeast": 2, "atMost": 1}}}
<< {"jsonrpc": "2.0", "id": 17, "error": {"code": -32602, "message": "Param \"expect\" must not have atLeast above atMost.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 18, "method": "harness/journal", "params": {"expect": {"count": 2}}}
<< {"jsonrpc": "2.0", "id": 18, "error": {"code": -13900, "message": "Expected 2 entries, found 0.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 19, "method": "harness/seed", "params": {"generate": {"reference": "b/{n}", "count": 2, "size": 1}}}
<< {"jsonrpc": "2.0", "id": 19, "error": {"code": -13053, "message": "b/0 is not a storage URL: it must start with gs://, s3://, http:// or https://.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 20, "method": "harness/authorize", "params": {}}
<< {"jsonrpc": "2.0", "id": 20, "error": {"code": -13000, "message": "This space has no gateway: serve --gateway, or harness/space with gateway, opens one.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 21, "method": "harness/authorize", "params": {"default": "no"}}
<< {"jsonrpc": "2.0", "id": 21, "error": {"code": -32602, "message": "Param \"default\" must be one of allow, deny, not \"no\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 22, "method": "harness/authorize", "params": {"rules": [{"prefix": "b/", "who": "owner"}]}}
<< {"jsonrpc": "2.0", "id": 22, "error": {"code": -32602, "message": "Param \"rules.prefix\" must begin with gs://, not \"b/\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 23, "method": "harness/authorize", "params": {"rules": [{"operation": "write", "who": "owner"}]}}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -32602, "message": "Param \"rules.operation\" must be one of get, list, create, update, delete, not \"write\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 24, "method": "harness/authorize", "params": {"rules": [{"who": "alice"}]}}
<< {"jsonrpc": "2.0", "id": 24, "error": {"code": -32602, "message": "Param \"rules.who\" must be one of anybody, signedIn, owner, not \"alice\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 25, "method": "harness/authorize", "params": {"rules": [{}]}}
<< {"jsonrpc": "2.0", "id": 25, "error": {"code": -32602, "message": "Param \"rules.who\" is missing.", "...": "..."}}

# Params that exclude one another are named, and so are objects of one name.
>> {"jsonrpc": "2.0", "id": 201, "method": "harness/clock", "params": {"advance": 1, "toNext": true}}
<< {"jsonrpc": "2.0", "id": 201, "error": {"code": -32602, "message": "Param \"toNext\" cannot be given with advance.", "data": {"param": "toNext"}}}
>> {"jsonrpc": "2.0", "id": 202, "method": "harness/seed", "params": {"objects": [], "generate": {"reference": "gs://b/{n}", "count": 2, "size": 1}}}
<< {"jsonrpc": "2.0", "id": 202, "error": {"code": -32602, "message": "Param \"generate\" cannot be given with objects.", "data": {"param": "generate"}}}
>> {"jsonrpc": "2.0", "id": 203, "method": "harness/seed", "params": {"objects": [{"reference": "gs://b/a", "text": "x"}, {"reference": "gs://b/c", "text": "y"}, {"reference": {"bucket": "b", "fullPath": "/a/"}, "text": "z"}]}}
<< {"jsonrpc": "2.0", "id": 203, "error": {"code": -32602, "message": "Param \"objects\" has gs://b/a twice: in objects[0] and objects[2].", "data": {"param": "objects"}}}
>> {"jsonrpc": "2.0", "id": 204, "method": "reference/list", "params": {"reference": "gs://b"}}
<< {"jsonrpc": "2.0", "id": 204, "result": {"prefixes": [], "items": [], "...": "..."}}
