# At the end of the input what was asked of streams is answered.
@on stdio
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "Hello, world!"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/finish", "params": {"task": "<task>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ=="}}
@end
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 13, "durable": 13}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"state": "success", "...": "..."}}
@exit 0
