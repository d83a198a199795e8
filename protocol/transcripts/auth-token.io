# A connection says in whose name it asks. The embedded engine takes that, and asks nobody for more.

>> {"jsonrpc": "2.0", "id": 1, "method": "auth/setToken", "params": {"token": "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"}}
<< {"jsonrpc": "2.0", "id": 1, "result": null}
>> {"jsonrpc": "2.0", "id": 2, "method": "auth/setToken", "params": {"token": "t", "kind": "idToken", "expiresIn": 0.001}}
<< {"jsonrpc": "2.0", "id": 2, "result": null}
>> {"jsonrpc": "2.0", "id": 3, "method": "auth/setToken", "params": {"token": "t", "kind": "accessToken", "expiresIn": 1e300}}
<< {"jsonrpc": "2.0", "id": 3, "result": null}
>> {"jsonrpc": "2.0", "id": 4, "method": "auth/setToken", "params": {"token": "!~", "kind": "appCheckToken", "expiresIn": null}}
<< {"jsonrpc": "2.0", "id": 4, "result": null}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/putData", "params": {"reference": "gs://default-bucket/a", "text": "a", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/a"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"size": 1, "...": "..."}}

# Null takes it away, whether there is one or not.
>> {"jsonrpc": "2.0", "id": 7, "method": "auth/setToken", "params": {"token": null, "kind": "accessToken"}}
<< {"jsonrpc": "2.0", "id": 7, "result": null}
>> {"jsonrpc": "2.0", "id": 8, "method": "auth/setToken", "params": {"token": null, "kind": "accessToken"}}
<< {"jsonrpc": "2.0", "id": 8, "result": null}

# An answer to what was never asked is nothing.
>> {"jsonrpc": "2.0", "id": 1, "result": {"token": "t"}}
>> {"jsonrpc": "2.0", "id": 9, "method": "service/ping"}
<< {"jsonrpc": "2.0", "id": 9, "result": "pong"}
