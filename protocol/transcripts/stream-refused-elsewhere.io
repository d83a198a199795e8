# An append that is refused after a shutdown breaks the sequence for all clients; an unreadable message only breaks the streams
# of its connection.
@on process socket
a>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
a<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
a>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "AAA"}}
a<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 3, "durable": 3}}
b>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B"
b<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "<string>", "...": "..."}}
b>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B"}}
b<< {"jsonrpc": "2.0", "id": 4, "result": {"offset": 4, "durable": 4}}
b>> {"jsonrpc": "2.0", "id": 5, "method": "shutdown"}
b<< {"jsonrpc": "2.0", "id": 5, "result": null}
b>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B"}}
b<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32600, "message": "The service was shut down; only \"exit\" is taken now."}}
a>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
a<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13050, "message": "<string>", "data": {"param": "offset", "...": "..."}}}
a>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/finish", "params": {"task": "<task>"}}
a<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "<string>", "data": {"param": "task", "...": "..."}}}
a>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/append", "params": {"task": "<task>", "text": "", "offset": 4}}
a<< {"jsonrpc": "2.0", "id": 9, "result": {"offset": 4, "durable": 4}}
a>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/finish", "params": {"task": "<task>"}}
a<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "success", "...": "..."}}
