# A client of the stateless revision names it in each request. Played with `storage-rpc mcp --allow-changes`.
>> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<< {"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {"subscribe": true}, "completions": {}}, "instructions": "<instructions>", "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "storage-rpc", "version": "0.1.0"}}}}
>> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write_object","arguments":{"reference":"gs://b/a","text":"Hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<< {"jsonrpc": "2.0", "id": 2, "result": {"isError": false, "resultType": "complete", "...": "..."}}
>> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"delete_objects","arguments":{"reference":"gs://b/a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<< {"jsonrpc": "2.0", "id": 3, "result": {"structuredContent": {"wouldDelete": 1, "bytes": 5, "names": ["gs://b/a"], "confirm": "<confirm>"}, "isError": false, "...": "..."}}
>> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"delete_objects","arguments":{"reference":"gs://b/a","confirm":"<confirm>"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<< {"jsonrpc": "2.0", "id": 4, "result": {"structuredContent": {"deleted": 1}, "isError": false, "...": "..."}}

# A version that is not known, and a request without one: a client that tries both generations then shakes hands.
>> {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}
<< {"jsonrpc": "2.0", "id": 5, "error": {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"], "requested": "2030-01-01"}}}
>> {"jsonrpc":"2.0","id":6,"method":"tools/list"}
<< {"jsonrpc": "2.0", "id": 6, "error": {"code": -32602, "message": "params._meta needs \"io.modelcontextprotocol/protocolVersion\", unless initialize comes first"}}
>> {"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}
<< {"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": "2025-11-25", "...": "..."}}
