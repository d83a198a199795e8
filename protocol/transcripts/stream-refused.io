# An append that is answered with an error breaks the sequence, whatever is wrong with it. The next one says where its bytes
# are, and until then the upload cannot end.
@max-message-bytes 2048
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putStream", "params": {"reference": "gs://default-bucket/logs/today.log"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"task": "<task>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 2, "method": "uploadTask/append", "params": {"task": "<task>", "text": "AAA"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"offset": 3, "durable": 3}}
# Its data is not base64.
>> {"jsonrpc": "2.0", "id": 3, "method": "uploadTask/append", "params": {"task": "<task>", "data": "!!"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "Param \"data\" is not base64.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 4, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 3.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 5, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 3 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 6, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 3}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"offset": 4, "durable": 4}}
# A param is unknown, mistyped, missing, or there twice.
>> {"jsonrpc": "2.0", "id": 7, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "at": 3}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "Param \"at\" is unknown.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 4.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 9, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 4 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 10, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 4}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"offset": 5, "durable": 5}}
>> {"jsonrpc": "2.0", "id": 11, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": "3"}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -32602, "message": "Param \"offset\" must be a whole number, not a string.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 12, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 12, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 5.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 13, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 13, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 5 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 14, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 5}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"offset": 6, "durable": 6}}
>> {"jsonrpc": "2.0", "id": 15, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": -1}}
<< {"jsonrpc": "2.0", "id": 15, "error": {"code": -13050, "message": "offset must be at least 0, not -1.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 16, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 6.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 17, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 17, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 6 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 18, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 6}}
<< {"jsonrpc": "2.0", "id": 18, "result": {"offset": 7, "durable": 7}}
>> {"jsonrpc": "2.0", "id": 19, "method": "uploadTask/append", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 19, "error": {"code": -32602, "message": "Param \"data\" is missing, and so is \"text\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 20, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 20, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 7.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 21, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 21, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 7 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 22, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 7}}
<< {"jsonrpc": "2.0", "id": 22, "result": {"offset": 8, "durable": 8}}
>> {"jsonrpc": "2.0", "id": 23, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "text": "B"}}
<< {"jsonrpc": "2.0", "id": 23, "error": {"code": -32602, "message": "Param \"text\" occurs twice.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 24, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 24, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 8.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 25, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 25, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 8 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 26, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 8}}
<< {"jsonrpc": "2.0", "id": 26, "result": {"offset": 9, "durable": 9}}
# The message is no JSON-RPC.
>> {"jsonrpc": "1.0", "id": 27, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B"}}
<< {"jsonrpc": "2.0", "id": 27, "error": {"code": -32600, "message": "\"jsonrpc\" must be \"2.0\".", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 28, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 28, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 9.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 29, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 29, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 9 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 30, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 9}}
<< {"jsonrpc": "2.0", "id": 30, "result": {"offset": 10, "durable": 10}}
# A notification has no answer.
>> {"jsonrpc": "2.0", "method": "uploadTask/append", "params": {"task": "<task>", "data": "!!"}}
>> {"jsonrpc": "2.0", "id": 31, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 31, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 10.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 32, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 32, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 10 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 33, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 10}}
<< {"jsonrpc": "2.0", "id": 33, "result": {"offset": 11, "durable": 11}}
# Where no task can be read, it may be that of any stream to which this connection appends.
>> {"jsonrpc": "2.0", "id": 34, "method": "uploadTask/append", "params": {"text": "B"}}
<< {"jsonrpc": "2.0", "id": 34, "error": {"code": -32602, "message": "Param \"task\" is missing.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 35, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 35, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 11.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 36, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 36, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 11 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 37, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 11}}
<< {"jsonrpc": "2.0", "id": 37, "result": {"offset": 12, "durable": 12}}
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B"
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "<string>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 38, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 38, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 12.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 39, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 39, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 12 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 40, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 12}}
<< {"jsonrpc": "2.0", "id": 40, "result": {"offset": 13, "durable": 13}}
>> {"jsonrpc": "2.0", "id": 1, "method": "uploadTask/append", "params": {"task": "<task>", "text": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "The message is longer than the limit of 2048 bytes.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 41, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 41, "error": {"code": -13050, "message": "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at 13.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 42, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 42, "error": {"code": -13050, "message": "It is not clear where the object ends: the upload has 13 bytes, but an append has failed, or went to an earlier process.", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 43, "method": "uploadTask/append", "params": {"task": "<task>", "text": "B", "offset": 13}}
<< {"jsonrpc": "2.0", "id": 43, "result": {"offset": 14, "durable": 14}}
# The refusal of another request breaks nothing.
>> {"jsonrpc": "2.0", "id": 44, "method": "reference/exists", "params": {"ref": "gs://default-bucket/a"}}
<< {"jsonrpc": "2.0", "id": 44, "error": {"code": -32602, "message": "<string>", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 45, "method": "uploadTask/append", "params": {"task": "<task>", "text": "CCC"}}
<< {"jsonrpc": "2.0", "id": 45, "result": {"offset": 17, "durable": 17}}
>> {"jsonrpc": "2.0", "id": 46, "method": "uploadTask/finish", "params": {"task": "<task>"}}
<< {"jsonrpc": "2.0", "id": 46, "result": {"state": "success", "metadata": {"size": 17, "...": "..."}, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 47, "method": "reference/getData", "params": {"reference": "gs://default-bucket/logs/today.log", "maxSize": 1000}}
<< {"jsonrpc": "2.0", "id": 47, "result": {"data": "QUFBQkJCQkJCQkJCQkJDQ0M=", "...": "..."}}
