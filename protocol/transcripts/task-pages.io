# Lists of tasks come in pages, too, in the order in which the tasks were made.
@on stdio socket
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/a", "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<a>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://default-bucket/b", "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<b>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://default-bucket/c", "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<c>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/list", "params": {"maxResults": 2}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"tasks": [{"task": "<a>", "...": "..."}, {"task": "<b>", "...": "..."}], "pageToken": "<page>"}}

# The next page begins behind the last task, even if that is forgotten, and the service was started anew.
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/forget", "params": {"task": "<b>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"accepted": true, "...": "..."}}
@restart
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/list", "params": {"maxResults": 2, "pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"tasks": [{"task": "<c>", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/list", "params": {"pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"tasks": [{"task": "<c>", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/list"}
<< {"jsonrpc": "2.0", "id": 8, "result": {"tasks": [{"task": "<a>", "...": "..."}, {"task": "<c>", "...": "..."}]}}

# One to a thousand, and tokens that were given for tasks of this kind.
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/list", "params": {"maxResults": 0}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "maxResults must be between 1 and 1000, not 0.", "data": {"name": "invalidArgument", "param": "maxResults", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "downloadTask/list", "params": {"maxResults": 1001}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13050, "message": "maxResults must be between 1 and 1000, not 1001.", "data": {"name": "invalidArgument", "param": "maxResults", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 11, "method": "downloadTask/list", "params": {"pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13050, "message": "The page token was not given for a list of downloads.", "data": {"name": "invalidArgument", "param": "pageToken", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/list", "params": {"pageToken": "dm9u"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "The page token was not given for a list of uploads.", "data": {"name": "invalidArgument", "param": "pageToken", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/list", "params": {"pageToken": 7}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -32602, "message": "<string>", "data": {"param": "pageToken"}}}
