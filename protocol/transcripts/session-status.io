# How the process is doing.
>> {"jsonrpc": "2.0", "id": 1, "method": "service/status"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"version": "0.1.0", "pid": "<number>", "uptime": "<number>", "engine": "embedded", "connections": 1, "requests": {"active": 0, "waiting": 0}, "tasks": {"queued": 0, "running": 0, "paused": 0, "success": 0, "failed": 0, "cancelled": 0}}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "service/status"}
<< {"jsonrpc": "2.0", "id": 3, "result": {"version": "0.1.0", "pid": "<number>", "uptime": "<number>", "engine": "embedded", "connections": 1, "requests": {"active": 0, "waiting": 0}, "tasks": {"queued": 0, "running": 0, "paused": 0, "success": 1, "failed": 0, "cancelled": 0}}}
