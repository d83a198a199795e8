# The guide, "Limitations on references": at most 1024 bytes of UTF-8, no CR or LF, and characters to avoid.

# 1024 bytes in 512 characters are allowed.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference", "params": {"path": "åååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååå"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "åååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååå", "name": "åååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååå", "url": "gs://default-bucket/åååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååå"}}

# One more is not.
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/reference", "params": {"path": "ååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååx"}}
<< {"jsonrpc": "2.0", "id": 2, "error": {"code": -13050, "message": "The path is 1025 bytes long; a full path has at most 1024 bytes of UTF-8.", "data": {"name": "invalidArgument", "param": "path", "retryable": false}}}

# Nor may a child grow beyond it.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/child", "params": {"reference": {"bucket": "default-bucket", "fullPath": "åååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååååå"}, "path": "x"}}
<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13050, "message": "The path is 1026 bytes long; a full path has at most 1024 bytes of UTF-8.", "data": {"name": "invalidArgument", "param": "path", "retryable": false}}}

# No carriage return.
>> {"jsonrpc": "2.0", "id": 4, "method": "storage/reference", "params": {"path": "images/a\rb"}}
<< {"jsonrpc": "2.0", "id": 4, "error": {"code": -13050, "message": "A path may have neither carriage return nor line feed.", "data": {"name": "invalidArgument", "param": "path", "retryable": false}}}

# No line feed.
>> {"jsonrpc": "2.0", "id": 5, "method": "storage/reference", "params": {"path": "images/a\nb"}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -13050, "message": "A path may have neither carriage return nor line feed.", "data": {"name": "invalidArgument", "param": "path", "retryable": false}}}

# # [ ] * ? are allowed, with a warning for each.
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/reference", "params": {"path": "images/[1]#*?.jpg"}}
<< {"jsonrpc": "2.0", "id": 6, "result": {"bucket": "default-bucket", "fullPath": "images/[1]#*?.jpg", "name": "[1]#*?.jpg", "url": "gs://default-bucket/images/[1]#*?.jpg", "warnings": ["fullPath contains \"#\", which does not work well with tools such as gsutil or the Realtime Database", "fullPath contains \"[\", which does not work well with tools such as gsutil or the Realtime Database", "fullPath contains \"]\", which does not work well with tools such as gsutil or the Realtime Database", "fullPath contains \"*\", which does not work well with tools such as gsutil or the Realtime Database", "fullPath contains \"?\", which does not work well with tools such as gsutil or the Realtime Database"]}}

# Any other sequence of Unicode is a name, as it is.
>> {"jsonrpc": "2.0", "id": 7, "method": "storage/reference", "params": {"path": "Фото/日本 🏔/é + %2F ..\u0001"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"bucket": "default-bucket", "fullPath": "Фото/日本 🏔/é + %2F ..\u0001", "name": "é + %2F ..\u0001", "url": "gs://default-bucket/Фото/日本 🏔/é + %2F ..\u0001"}}

# The same holds for buckets, within their own limits.
>> {"jsonrpc": "2.0", "id": 8, "method": "storage/reference", "params": {"bucket": "a/b"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13050, "message": "Bucket \"a/b\" cannot be: a bucket's name has no slash, space or control character.", "data": {"name": "invalidArgument", "param": "bucket", "retryable": false}}}
