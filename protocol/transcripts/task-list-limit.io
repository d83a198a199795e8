# A list of all tasks has to fit an answer; in pages it may be as long as it likes.
@max-message-bytes 2048
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/a", "text": "", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<a>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/list"}
<< {"jsonrpc": "2.0", "id": 2, "result": {"tasks": [{"task": "<a>", "...": "..."}]}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/putData", "params": {"reference": "gs://default-bucket/b", "text": "", "metadata": {"cacheControl": "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400, must-understand, no-transform, immutable"}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"task": "<b>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/list"}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13013, "message": "There are more uploads than one answer can tell of: ask for pages, with maxResults.", "data": {"name": "quotaExceeded", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/list", "params": {"maxResults": 1000}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"tasks": [{"task": "<a>", "...": "..."}], "pageToken": "<page>"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/list", "params": {"maxResults": 1000, "pageToken": "<page>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"tasks": [{"task": "<b>", "...": "..."}]}}
