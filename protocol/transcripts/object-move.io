# An object gets another name, and keeps its metadata and its download URL.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/drafts/letter.txt", "text": "Hello, world!", "metadata": {"customMetadata": {"to": "Ann"}}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/move", "params": {"reference": "gs://default-bucket/drafts/letter.txt", "to": "gs://default-bucket/sent/letter.txt", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "reference": {"fullPath": "sent/letter.txt", "...": "..."}, "metadata": {"size": 13, "metageneration": "1", "contentType": "text/plain", "customMetadata": {"to": "Ann"}, "...": "..."}, "source": {"fullPath": "drafts/letter.txt", "...": "..."}, "isMove": true, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": "gs://default-bucket/drafts/letter.txt"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13010, "...": "..."}}

# Not onto itself, and not what somebody has changed meanwhile.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/move", "params": {"reference": "gs://default-bucket/sent/letter.txt", "to": "gs://default-bucket/sent//letter.txt/"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The object gs://default-bucket/sent/letter.txt cannot be moved onto itself.", "data": {"name": "invalidArgument", "param": "to", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "reference/move", "params": {"reference": "gs://default-bucket/sent/letter.txt", "to": "gs://default-bucket/old/letter.txt", "ifSourceGenerationMatch": "7", "wait": true}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "bucket": "default-bucket", "object": "sent/letter.txt", "generation": "<generation>", "metageneration": "1", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getData", "params": {"reference": "gs://default-bucket/sent/letter.txt", "maxSize": 100}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"data": "SGVsbG8sIHdvcmxkIQ=="}}
