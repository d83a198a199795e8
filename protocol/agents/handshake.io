# A client of an older revision shakes hands, lists the tools, and calls them. Played with `storage-rpc mcp --allow-changes`.
>> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1.0"}}}
<< {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {"subscribe": true}, "completions": {}}, "serverInfo": {"name": "storage-rpc", "version": "0.1.0"}, "instructions": "<instructions>"}}
>> {"jsonrpc":"2.0","method":"notifications/initialized"}
>> {"jsonrpc":"2.0","id":1,"method":"ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": {}}
>> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_object","arguments":{"reference":"gs://b/notes/a b.txt","text":"Hello"}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "<written>"}], "structuredContent": {"reference": "gs://b/notes/a b.txt", "uri": "gs://b/notes/a%20b.txt", "size": 5, "generation": "<generation>", "contentType": "text/plain", "md5Hash": "ixqZU8RhEpaoJ6v4xHgE1w==", "crc32c": "<crc32c>", "timeCreated": "<time>", "updated": "<time>"}, "isError": false}}
>> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_object","arguments":{"reference":"gs://b/notes/a b.txt"}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "<page>"}], "isError": false}}

# What a model can mend is an answer of the tool. Nothing that exists is replaced unasked.
>> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"write_object","arguments":{"reference":"gs://b/notes/a b.txt","text":"Other"}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": "<exists>"}], "isError": true}}
>> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_object","arguments":{"reference":"gs://b/none","page":2}}}
<< {"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "read_object has no argument \"page\". It has: reference, offset, length. Call it without that."}], "isError": true}}

# Errors of JSON-RPC are for what no model has written.
>> {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"upload","arguments":{}}}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32602, "message": "The tool upload needs flags of storage-rpc mcp that were not given"}}
>> {"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"gs://b/none"}}
<< {"jsonrpc": "2.0", "id": 7, "error": {"code": -32002, "message": "Resource not found", "data": {"uri": "gs://b/none"}}}
>> {"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"gs://b/notes/a%20b.txt"}}
<< {"jsonrpc": "2.0", "id": 8, "result": {"contents": [{"uri": "gs://b/notes/a%20b.txt", "mimeType": "text/plain", "text": "Hello"}]}}

# Subscriptions tell of changes.
>> {"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"gs://b/notes/"}}
<< {"jsonrpc": "2.0", "id": 9, "result": {}}
>> {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"write_object","arguments":{"reference":"gs://b/notes/new","text":"New"}}}
<<* {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "gs://b/notes/new"}}
<< {"jsonrpc": "2.0", "id": 10, "result": {"isError": false, "...": "..."}}
