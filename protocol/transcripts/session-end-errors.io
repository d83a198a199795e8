# At the end of the input those who wait hear what came of it, be it an error.
@on stdio
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/writeToFile", "params": {"reference": "gs://default-bucket/nothing", "file": "{files}/copy", "wait": true}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putFile", "params": {"reference": "gs://default-bucket/a", "file": "{files}/missing", "wait": true}}
@end
<< {"jsonrpc": "2.0", "id": "<any>", "error": {"code": "<number>", "data": {"name": "<string>", "retryable": false, "...": "..."}, "...": "..."}}
<< {"jsonrpc": "2.0", "id": "<any>", "error": {"code": "<number>", "data": {"name": "<string>", "retryable": false, "...": "..."}, "...": "..."}}
@exit 0
