# On stdio, uploads that run when the input ends are led to their end, and heard.
@on stdio
@file rivers.jpg 16777216 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/rivers.jpg", "name": "rivers.jpg", "url": "gs://default-bucket/images/rivers.jpg"}, "file": "{files}/rivers.jpg", "observe": ["success"]}}
@end
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"success": "<success>"}, "...": "..."}}
<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<success>", "snapshot": {"state": "success", "metadata": {"size": 16777216, "...": "..."}, "...": "..."}}}
@closed
@exit 0
