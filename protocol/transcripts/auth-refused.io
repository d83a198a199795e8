# A token that cannot be one is refused, and never repeated.

>> {"jsonrpc": "2.0", "id": 1, "method": "auth/setToken", "params": {"token": ""}}
<< {"jsonrpc": "2.0", "id": 1, "error": {"code": -13050, "message": "The token is empty.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "auth/setToken", "params": {"token": "secret token"}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "auth/setToken", "params": {"token": "secret\n"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "auth/setToken", "params": {"token": "\tsecret"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "auth/setToken", "params": {"token": "secr\u00e9t"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "auth/setToken", "params": {"token": "secret\u0000"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 7, "method": "auth/setToken", "params": {"token": "secret\u007f"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "The token has a character that is not printable ASCII, or white space.", "data": {"name": "invalidArgument", "param": "token", "retryable": false}}}

# What is good for a little or no time.
>> {"jsonrpc": "2.0", "id": 8, "method": "auth/setToken", "params": {"token": "secret", "expiresIn": 0}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "expiresIn must be positive, not 0.0.", "data": {"name": "invalidArgument", "param": "expiresIn", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "auth/setToken", "params": {"token": "secret", "expiresIn": -1.5}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "expiresIn must be positive, not -1.5.", "data": {"name": "invalidArgument", "param": "expiresIn", "retryable": false}}}

# Params that are none.
>> {"jsonrpc": "2.0", "id": 10, "method": "auth/setToken", "params": {}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -32602, "message": "Param \"token\" is missing.", "data": {"param": "token"}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "auth/setToken", "params": {"token": 12345}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -32602, "message": "Param \"token\" must be a string or null.", "data": {"param": "token"}}}
>> {"jsonrpc": "2.0", "id": 12, "method": "auth/setToken", "params": {"token": ["secret"]}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -32602, "message": "Param \"token\" must be a string or null.", "data": {"param": "token"}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "auth/setToken", "params": {"token": "secret", "kind": "secret"}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -32602, "message": "Param \"kind\" must be one of idToken, accessToken, appCheckToken, accessKey.", "data": {"param": "kind"}}}
>> {"jsonrpc": "2.0", "id": 14, "method": "auth/setToken", "params": {"token": "secret", "kind": 1}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -32602, "message": "Param \"kind\" must be a string, not the number 1.", "data": {"param": "kind"}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "auth/setToken", "params": {"token": "secret", "expiresIn": "an hour"}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -32602, "message": "Param \"expiresIn\" must be a number, not a string.", "data": {"param": "expiresIn"}}}
>> {"jsonrpc": "2.0", "id": 16, "method": "auth/setToken", "params": {"token": "secret", "reason": "expired"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -32602, "message": "Param \"reason\" is unknown.", "data": {"param": "reason"}}}
