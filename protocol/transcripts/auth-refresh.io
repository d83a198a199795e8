# A server that does not know who asks says so, until a token comes.
@engine firebase
@accepts Firebase fresh
@file holidays.mov 5000000 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/videos/holidays.mov", "file": "{files}/holidays.mov", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -13020, "message": "User is not authenticated, and the server wants to know who asks. A good token comes from auth/setToken, --id-token-file or STORAGE_RPC_ID_TOKEN.", "data": {"name": "unauthenticated", "bucket": "default-bucket", "object": "videos/holidays.mov", "httpStatus": 401, "serverResponse": "<string>", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "auth/setToken", "params": {"token": "stale", "expiresIn": 3600}}
<< {"jsonrpc": "2.0", "id": 2, "result": null}

# One that the server refuses is asked for anew, and the upload goes on.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/videos/holidays.mov", "file": "{files}/holidays.mov", "wait": true}}
<< {"jsonrpc": "2.0", "id": "<question>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "refused"}}
>> {"jsonrpc": "2.0", "id": "<question>", "result": {"token": "fresh", "expiresIn": 3600}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
