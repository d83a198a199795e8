# Two of eight workers in one process. Neither sees what the other one does.
@harness
@on socket
a>> {"jsonrpc": "2.0", "id": 1, "method": "harness/space", "params": {"space": "w1", "seed": 7}}
a<< {"jsonrpc": "2.0", "id": 1, "result": {"space": "w1", "socket": "<string>", "isNew": true}}
b>> {"jsonrpc": "2.0", "id": 1, "method": "harness/space", "params": {"space": "w2", "seed": 7}}
b<< {"jsonrpc": "2.0", "id": 1, "result": {"space": "w2", "socket": "<string>", "isNew": true}}
a>> {"jsonrpc": "2.0", "id": 2, "method": "harness/seed", "params": {"generate": {"reference": "gs://b/photos/{n}.jpg", "count": 1000, "size": 100}}}
a<< {"jsonrpc": "2.0", "id": 2, "result": {"objects": 1000, "bytes": 100000}}
a>> {"jsonrpc": "2.0", "id": 3, "method": "harness/save", "params": {"snapshot": "full"}}
a<< {"jsonrpc": "2.0", "id": 3, "result": {"snapshot": "full", "objects": 1000, "bytes": 100000}}
a>> {"jsonrpc": "2.0", "id": 4, "method": "harness/arm", "params": {"on": "*", "times": null, "do": {"fail": {"httpStatus": 503}}}}
a<< {"jsonrpc": "2.0", "id": 4, "result": {"rule": "rule-1"}}
b>> {"jsonrpc": "2.0", "id": 2, "method": "reference/putData", "params": {"reference": "gs://b/mine.txt", "text": "hello", "wait": true}}
b<< {"jsonrpc": "2.0", "id": 2, "result": {"state": "success", "...": "..."}}
b>> {"jsonrpc": "2.0", "id": 3, "method": "reference/listAll", "params": {"reference": "gs://b/photos"}}
b<< {"jsonrpc": "2.0", "id": 3, "result": {"prefixes": [], "items": []}}
b>> {"jsonrpc": "2.0", "id": 4, "method": "harness/journal", "params": {"expect": ["ok", "ok"]}}
b<< {"jsonrpc": "2.0", "id": 4, "result": {"entries": [{"on": "whole", "...": "..."}, {"on": "list", "...": "..."}], "last": 2, "dropped": 0}}
a>> {"jsonrpc": "2.0", "id": 5, "method": "harness/disarm"}
a<< {"jsonrpc": "2.0", "id": 5, "result": {"fired": {"rule-1": 0}, "unfired": ["rule-1"]}}
a>> {"jsonrpc": "2.0", "id": 6, "method": "reference/delete", "params": {"reference": "gs://b/photos/7.jpg"}}
a<< {"jsonrpc": "2.0", "id": 6, "result": null}
a>> {"jsonrpc": "2.0", "id": 7, "method": "harness/reset", "params": {"snapshot": "full"}}
a<< {"jsonrpc": "2.0", "id": 7, "result": {}}
a>> {"jsonrpc": "2.0", "id": 8, "method": "reference/getMetadata", "params": {"reference": "gs://b/photos/7.jpg"}}
a<< {"jsonrpc": "2.0", "id": 8, "result": {"size": 100, "...": "..."}}

# A space that exists is entered as it is; a connection with a task of its own stays where it is.
c>> {"jsonrpc": "2.0", "id": 1, "method": "harness/space", "params": {"space": "w1", "seed": 9}}
c<< {"jsonrpc": "2.0", "id": 1, "result": {"space": "w1", "socket": "<string>", "isNew": false}}
c>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://b/photos/8.jpg"}}
c<< {"jsonrpc": "2.0", "id": 2, "result": {"size": 100, "...": "..."}}
b>> {"jsonrpc": "2.0", "id": 5, "method": "harness/space", "params": {"space": "w1"}}
b<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "This connection has begun tasks or has observers; a space is entered before.", "data": {"name": "invalidArgument", "param": "space", "retryable": false}}}
