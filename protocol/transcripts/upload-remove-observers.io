# The guide: observers are removed one by one, by status, or all at once.
@file holidays.mov 8589934592 bytes
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putFile", "params": {"reference": {"bucket": "default-bucket", "fullPath": "videos/holidays.mov", "name": "holidays.mov", "url": "gs://default-bucket/videos/holidays.mov"}, "file": "{files}/holidays.mov"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/pause", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"accepted": true, "...": "..."}}

# let observer = uploadTask.observe(.progress) { snapshot in … }
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"handle": "<observer>"}}

# uploadTask.removeObserver(withHandle: observer)
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/removeObserver", "params": {"handle": "<observer>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"removed": true}}

# It is gone; and nobody was ever called that.
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/removeObserver", "params": {"handle": "<observer>"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"removed": false}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/removeObserver", "params": {"handle": "nobody"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"removed": false}}

# uploadTask.removeAllObservers(for: .progress): two of these three.
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"handle": "<p1>"}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"handle": "<p2>"}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "failure"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"handle": "<f1>"}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/removeAllObservers", "params": {"task": "<task>", "status": "progress"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"removed": 2}}

# uploadTask.removeAllObservers()
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "success"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"handle": "<s1>"}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/observe", "params": {"task": "<task>", "status": "resume"}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"handle": "<r1>"}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/removeAllObservers", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"removed": 3}}
>> {"jsonrpc": "2.0", "id": 14, "method": "uploadTask/removeAllObservers", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"removed": 0}}

# So nobody hears how it ends.
>> {"jsonrpc": "2.0", "id": 15, "method": "uploadTask/cancel", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"accepted": true, "...": "..."}}
