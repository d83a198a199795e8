# References by URL: gs:// is taken literally, a download URL is percent-decoded.
>> {"jsonrpc": "2.0", "id": 1, "method": "storage/reference", "params": {"url": "gs://default-bucket/images/a%20b?c#d"}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"bucket": "default-bucket", "fullPath": "images/a%20b?c#d", "name": "a%20b?c#d", "url": "gs://default-bucket/images/a%20b?c#d", "warnings": ["fullPath contains \"#\", which does not work well with tools such as gsutil or the Realtime Database", "fullPath contains \"?\", which does not work well with tools such as gsutil or the Realtime Database"]}}
>> {"jsonrpc": "2.0", "id": 2, "method": "storage/reference", "params": {"url": "https://firebasestorage.googleapis.com/v0/b/default-bucket/o/images%2Fa%20b.jpg?alt=media&token=1"}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"bucket": "default-bucket", "fullPath": "images/a b.jpg", "name": "a b.jpg", "url": "gs://default-bucket/images/a b.jpg"}}
>> {"jsonrpc": "2.0", "id": 3, "method": "storage/reference", "params": {"url": "http://localhost:9199/v0/b/default-bucket/o/images%2Fspace.jpg"}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}
>> {"jsonrpc": "2.0", "id": 4, "method": "storage/reference", "params": {"url": "gs://default-bucket"}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# With a bucket too, they must agree.
>> {"jsonrpc": "2.0", "id": 5, "method": "storage/reference", "params": {"url": "gs://default-bucket/a", "bucket": "default-bucket"}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"bucket": "default-bucket", "fullPath": "a", "name": "a", "url": "gs://default-bucket/a"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "storage/reference", "params": {"url": "gs://other/a", "bucket": "default-bucket"}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -13051, "message": "gs://other/a is in bucket other, not in default-bucket.", "data": {"name": "bucketMismatch", "bucket": "other", "object": "a", "retryable": false}}}

# What is not a storage URL says why.
>> {"jsonrpc": "2.0", "id": 7, "method": "storage/reference", "params": {"url": "ftp://default-bucket/a"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -13053, "message": "ftp://default-bucket/a is not a storage URL: it must start with gs://, s3://, http:// or https://.", "data": {"name": "pathError", "param": "url", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 8, "method": "storage/reference", "params": {"url": "https://example.com/a"}}
<< {"jsonrpc": "2.0", "id": 8, "error": {"code": -13053, "message": "https://example.com/a is not a storage URL: it must look like http[s]://HOST/v0/b/BUCKET/o/PATH.", "data": {"name": "pathError", "param": "url", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 9, "method": "storage/reference", "params": {"url": "gs://"}}
<< {"jsonrpc": "2.0", "id": 9, "error": {"code": -13053, "message": "gs:// is not a storage URL: gs:// must be followed by a bucket.", "data": {"name": "pathError", "param": "url", "retryable": false}}}
>> {"jsonrpc": "2.0", "id": 10, "method": "storage/reference", "params": {"url": "https://h/v0/b/default-bucket/o/%zz"}}
<< {"jsonrpc": "2.0", "id": 10, "error": {"code": -13053, "message": "https://h/v0/b/default-bucket/o/%zz is not a storage URL: a % is not followed by two hexadecimal digits.", "data": {"name": "pathError", "param": "url", "retryable": false}}}

# A reference param takes URLs just so.
>> {"jsonrpc": "2.0", "id": 11, "method": "reference/root", "params": {"reference": "https://firebasestorage.googleapis.com/v0/b/default-bucket/o/images%2Fspace.jpg"}}
<< {"jsonrpc": "2.0", "id": 11, "result": {"bucket": "default-bucket", "fullPath": "", "name": "", "url": "gs://default-bucket/"}}

# What Google Cloud Storage gives: by path, by host, links of the JSON API, signed.
>> {"jsonrpc": "2.0", "id": 12, "method": "storage/reference", "params": {"url": "https://storage.googleapis.com/default-bucket/images/a%20b.jpg?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=1"}}
<< {"jsonrpc": "2.0", "id": 12, "result": {"bucket": "default-bucket", "fullPath": "images/a b.jpg", "name": "a b.jpg", "url": "gs://default-bucket/images/a b.jpg"}}
>> {"jsonrpc": "2.0", "id": 13, "method": "storage/reference", "params": {"url": "https://default-bucket.storage.googleapis.com/images/space.jpg"}}
<< {"jsonrpc": "2.0", "id": 13, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}
>> {"jsonrpc": "2.0", "id": 14, "method": "storage/reference", "params": {"url": "https://storage.googleapis.com/download/storage/v1/b/default-bucket/o/images%2Fspace.jpg?generation=1&alt=media"}}
<< {"jsonrpc": "2.0", "id": 14, "result": {"bucket": "default-bucket", "fullPath": "images/space.jpg", "name": "space.jpg", "url": "gs://default-bucket/images/space.jpg"}}
>> {"jsonrpc": "2.0", "id": 15, "method": "storage/reference", "params": {"url": "https://storage.googleapis.com/upload/storage/v1/b/default-bucket/o?uploadType=resumable&name=images%2Fspace+station.jpg"}}
<< {"jsonrpc": "2.0", "id": 15, "result": {"bucket": "default-bucket", "fullPath": "images/space station.jpg", "name": "space station.jpg", "url": "gs://default-bucket/images/space station.jpg"}}

# What is no URL of an object is not repeated as far as it may be secret.
>> {"jsonrpc": "2.0", "id": 16, "method": "storage/reference", "params": {"url": "https://me:password@storage.googleapis.com/default-bucket/a?token=1"}}
<< {"jsonrpc": "2.0", "id": 16, "error": {"code": -13053, "message": "https://(…)@storage.googleapis.com/default-bucket/a… is not a storage URL: it must look like http[s]://HOST/v0/b/BUCKET/o/PATH.", "data": {"name": "pathError", "param": "url", "retryable": false}}}
