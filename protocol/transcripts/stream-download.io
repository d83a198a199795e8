# A download whose client fetches the pieces.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": "gs://default-bucket/logs/today.log", "text": "Hello, world!", "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/logs/today.log", "observe": ["success"]}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"task": "<task>", "state": "queued", "origin": "stream", "offset": 0, "observers": {"success": "<success>"}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 3, "method": "downloadTask/read", "params": {"task": "<task>", "length": 5}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"data": "SGVsbG8=", "offset": 0, "isEnd": false}}
>> {"jsonrpc": "2.0", "id": 4, "method": "downloadTask/snapshot", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"state": "running", "progress": {"completedUnitCount": 5, "totalUnitCount": 13, "fractionCompleted": "<number>"}, "offset": 5, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "downloadTask/read", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "method": "downloadTask/event", "params": {"handle": "<success>", "snapshot": {"state": "success", "metadata": {"size": 13, "...": "..."}, "...": "..."}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"data": "LCB3b3JsZCE=", "offset": 5, "isEnd": true, "verified": true}}
>> {"jsonrpc": "2.0", "id": 6, "method": "downloadTask/read", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"data": "", "offset": 13, "isEnd": true, "verified": true}}
# From an offset on: what comes before is not verified.
>> {"jsonrpc": "2.0", "id": 7, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/logs/today.log", "offset": 12}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"task": "<last>", "offset": 12, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "downloadTask/read", "params": {"task": "<last>"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"data": "IQ==", "offset": 12, "isEnd": true, "verified": false}}
# All pieces are of one generation.
>> {"jsonrpc": "2.0", "id": 9, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"task": "<old>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "downloadTask/read", "params": {"task": "<old>", "length": 5}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"data": "SGVsbG8=", "offset": 0, "isEnd": false}}
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/putData", "params": {"reference": "gs://default-bucket/logs/today.log", "text": "Good-bye", "wait": true}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"metadata": {"generation": "<generation>", "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "downloadTask/read", "params": {"task": "<old>"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "generation": "<generation>", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 13, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/nothing"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"task": "<nothing>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 14, "method": "downloadTask/read", "params": {"task": "<nothing>"}}
<< {"jsonrpc": "2.0", "id": 14, "error": {"code": -13010, "message": "Object nothing does not exist.", "data": {"name": "objectNotFound", "...": "..."}}}
>> {"jsonrpc": "2.0", "id": 15, "method": "downloadTask/read", "params": {"task": "<nothing>", "length": 0}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -13050, "message": "length must be at least 1, not 0.", "data": {"name": "invalidArgument", "param": "length", "retryable": false}}}
# Pieces at offsets: in any order, of one generation, beside the others and after the end.
>> {"jsonrpc": "2.0", "id": 16, "method": "reference/getStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 16, "result": {"task": "<random>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 17, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 0, "length": 0}}
<< {"jsonrpc": "2.0", "id": 17, "result": {"data": "", "offset": 0, "isEnd": false, "size": 8}}
>> {"jsonrpc": "2.0", "id": 18, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 5}}
<< {"jsonrpc": "2.0", "id": 18, "result": {"data": "Ynll", "offset": 5, "isEnd": true, "size": 8}}
>> {"jsonrpc": "2.0", "id": 19, "method": "downloadTask/read", "params": {"task": "<random>"}}
<< {"jsonrpc": "2.0", "id": 19, "result": {"data": "R29vZC1ieWU=", "offset": 0, "isEnd": true, "verified": true}}
>> {"jsonrpc": "2.0", "id": 20, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 0, "length": 4}}
<< {"jsonrpc": "2.0", "id": 20, "result": {"data": "R29vZA==", "offset": 0, "isEnd": false, "size": 8}}
>> {"jsonrpc": "2.0", "id": 21, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 9}}
<< {"jsonrpc": "2.0", "id": 21, "result": {"data": "", "offset": 9, "isEnd": true, "size": 8}}
>> {"jsonrpc": "2.0", "id": 22, "method": "downloadTask/read", "params": {"task": "<random>", "offset": -1}}
<< {"jsonrpc": "2.0", "id": 22, "error": {"code": -13050, "message": "offset must be at least 0, not -1.", "data": {"name": "invalidArgument", "param": "offset", "retryable": false}}}
# Other bytes than those of this generation are never answered.
>> {"jsonrpc": "2.0", "id": 23, "method": "reference/putData", "params": {"reference": "gs://default-bucket/logs/today.log", "text": "Hello again", "wait": true}}
<< {"jsonrpc": "2.0", "id": 23, "result": {"state": "success", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 24, "method": "downloadTask/read", "params": {"task": "<random>", "offset": 5}}
<< {"jsonrpc": "2.0", "id": 24, "error": {"code": -13412, "message": "<string>", "data": {"name": "preconditionFailed", "...": "..."}}}
