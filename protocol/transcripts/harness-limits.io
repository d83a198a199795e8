# A space with one bucket and few bytes.
@harness
@on stdio socket
>> {"jsonrpc": "2.0", "id": 1, "method": "harness/space", "params": {"buckets": ["photos"], "quota": 100}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"space": "space-1", "socket": "<string>", "isNew": true}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/list", "params": {"reference": "gs://films"}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13011, "message": "Bucket films does not exist.", "data": {"name": "bucketNotFound", "bucket": "films", "object": "", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 3, "method": "harness/seed", "params": {"generate": {"reference": "gs://photos/{n}", "count": 3, "size": 40}}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13013, "message": "This space has a quota of 100 bytes.", "data": {"name": "quotaExceeded", "bucket": "photos", "object": "2", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/listAll", "params": {"reference": "gs://photos"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"prefixes": [], "items": []}}
>> {"jsonrpc": "2.0", "id": 5, "method": "harness/seed", "params": {"objects": [{"reference": "gs://photos/a.txt", "text": "forty bytes are enough for a short letter"}, {"reference": "gs://photos/b", "data": "AAEC", "metadata": {"contentType": "image/png", "customMetadata": {"by": "me"}}}]}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"objects": 2, "bytes": 44}}
>> {"jsonrpc": "2.0", "id": 6, "method": "reference/getMetadata", "params": {"reference": "gs://photos/a.txt"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"contentType": "text/plain", "size": 41, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/getMetadata", "params": {"reference": "gs://photos/b"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"contentType": "image/png", "customMetadata": {"by": "me"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "reference/putData", "params": {"reference": "gs://photos/c", "text": "sixty bytes would be four too many in this place, would they?", "wait": true}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13013, "message": "This space has a quota of 100 bytes.", "data": {"name": "quotaExceeded", "bucket": "photos", "object": "c", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/delete", "params": {"reference": "gs://photos/a.txt"}}
<< {"jsonrpc": "2.0", "id": 9, "result": null}
>> {"jsonrpc": "2.0", "id": 10, "method": "reference/putData", "params": {"reference": "gs://photos/c", "text": "sixty bytes would be four too many in this place, would they?", "wait": true}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"state": "success", "...": "..."}}
