# Settings hold for what begins afterwards.

# storage.maxUploadRetryTime and its siblings, in seconds.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/getSettings"}
<< {"jsonrpc": "2.0", "id": 1, "result": {"maxUploadRetryTime": 600, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 120}}
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/updateSettings", "params": {"maxUploadRetryTime": 60}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"maxUploadRetryTime": 60, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 120}}

# Chunk sizes are rounded up to 256 KiB.
>> {"jsonrpc": "2.0", "id": 3, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 300000, "maxOperationRetryTime": 1.5}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"maxUploadRetryTime": 60, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 1.5, "uploadChunkSizeBytes": 524288}}

# Nothing changes where one of them is out of range.
>> {"jsonrpc": "2.0", "id": 4, "method": "storage/updateSettings", "params": {"maxUploadRetryTime": 10, "maxDownloadRetryTime": -1}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "maxDownloadRetryTime must be between 0 seconds and a year, not -1.0.", "data": {"name": "invalidArgument", "param": "maxDownloadRetryTime", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 5, "method": "storage/updateSettings", "params": {"uploadChunkSizeBytes": 0}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "uploadChunkSizeBytes must be positive, not 0.", "data": {"name": "invalidArgument", "param": "uploadChunkSizeBytes", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/getSettings", "params": {}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"maxUploadRetryTime": 60, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 1.5, "uploadChunkSizeBytes": 524288}}

# Who pays, at Google Cloud: nobody in particular where it is empty.
>> {"jsonrpc": "2.0", "id": 7, "method": "storage/updateSettings", "params": {"userProject": "my-project"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"userProject": "my-project", "...": "..."}}
>> {"jsonrpc": "2.0", "id": 8, "method": "storage/updateSettings", "params": {"userProject": "my project"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "userProject must be the id of a project: at most 255 printable characters of ASCII.", "data": {"name": "invalidArgument", "param": "userProject", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "storage/updateSettings", "params": {"userProject": ""}}
<< {"jsonrpc": "2.0", "id": 9, "result": {"maxUploadRetryTime": 60, "maxDownloadRetryTime": 600, "maxOperationRetryTime": 1.5, "uploadChunkSizeBytes": 524288}}

# How many tasks of all clients run at the same time.
>> {"jsonrpc": "2.0", "id": 10, "method": "storage/updateSettings", "params": {"uploadsAtOnce": 1, "downloadsAtOnce": 256}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"uploadsAtOnce": 1, "downloadsAtOnce": 256, "...": "..."}}
>> {"jsonrpc": "2.0", "id": 11, "method": "storage/updateSettings", "params": {"uploadsAtOnce": 2, "downloadsAtOnce": 0}}
<< {"jsonrpc": "2.0", "id": 11, "error": {"code": -13050, "message": "downloadsAtOnce must be between 1 and 256, not 0.", "data": {"name": "invalidArgument", "param": "downloadsAtOnce", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 12, "method": "storage/getSettings"}
<< {"jsonrpc": "2.0", "id": 12, "result": {"uploadsAtOnce": 1, "downloadsAtOnce": 256, "...": "..."}}
