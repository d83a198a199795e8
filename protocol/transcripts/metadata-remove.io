# The guide: a property that is set to nil is deleted. Absent, null and "" are three things.
>> {"jsonrpc": "2.0", "id": 1, "method": "reference/putData", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "text": "Hello, world!", "metadata": {"cacheControl": "no-store", "contentLanguage": "en"}, "wait": true}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"state": "success", "...": "..."}}

# newMetadata.contentType = nil; updatedMetadata.contentType is nil
>> {"jsonrpc": "2.0", "id": 2, "method": "reference/updateMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "metadata": {"contentType": null}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "generation": "<generation>", "metageneration": "2", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "cacheControl": "no-store", "contentLanguage": "en"}}

# "" is a value.
>> {"jsonrpc": "2.0", "id": 3, "method": "reference/updateMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "metadata": {"cacheControl": "", "contentLanguage": null}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "generation": "<generation>", "metageneration": "3", "size": 13, "timeCreated": "<time>", "updated": "<time>", "md5Hash": "bNNVbesNpUvKBgtMOUeYOQ==", "crc32c": "yKEG5Q==", "cacheControl": ""}}

# What is not there can be removed.
>> {"jsonrpc": "2.0", "id": 4, "method": "reference/updateMetadata", "params": {"reference": {"bucket": "default-bucket", "fullPath": "images/forest.jpg", "name": "forest.jpg", "url": "gs://default-bucket/images/forest.jpg"}, "metadata": {"contentLanguage": null}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"cacheControl": "", "metageneration": "<string>", "...": "..."}}
