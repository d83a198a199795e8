# Many connections, one service. Tasks belong to all, observers to the connection that added them.
@on process socket
@file holidays.mov 8589934592 bytes
a>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov", "observe": ["pause", "failure"]}}
a<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "observers": {"pause": "<pause>", "failure": "<failure>"}, "...": "..."}}

# Another one pauses it: both hear.
b>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
b<< {"jsonrpc": "2.0", "id": 2, "result": {"handle": "<other>"}}
b>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/pause", "params": {"task": "<task>"}}
b<< {"jsonrpc": "2.0", "id": 3, "result": {"accepted": true, "...": "..."}}
a<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<pause>", "snapshot": {"state": "paused", "...": "..."}}}

# It cannot remove the first one's observers.
b>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/removeObserver", "params": {"handle": "<failure>"}}
b<< {"jsonrpc": "2.0", "id": 4, "result": {"removed": false}}
b>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/removeAllObservers", "params": {"task": "<task>"}}
b<< {"jsonrpc": "2.0", "id": 5, "result": {"removed": 1}}
b>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
b<< {"jsonrpc": "2.0", "id": 6, "result": {"handle": "<another>"}}

# The first one leaves. Its task stays, and so do the observers of others.
@end a
@closed a
b>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/snapshot", "params": {"task": "<task>"}}
b<< {"jsonrpc": "2.0", "id": 7, "result": {"state": "paused", "...": "..."}}
b>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
b<< {"jsonrpc": "2.0", "method": "uploadTask/event", "params": {"handle": "<another>", "snapshot": {"state": "cancelled", "...": "..."}}}
b<< {"jsonrpc": "2.0", "id": 8, "result": {"accepted": true, "...": "..."}}
