# Newline-delimited framing: one JSON text a line.

# A CR before the LF is tolerated, blank lines are skipped, blanks around the JSON too.
>>> "\r\n\n  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"service/ping\"} \r\n"
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}

# Two messages in one write, and one in two.
>>> "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"service/ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"service/ping\"}\n{\"jsonrpc\":\"2.0\","
<< {"jsonrpc": "2.0", "id": 2, "result": "pong"}
<< {"jsonrpc": "2.0", "id": 3, "result": "pong"}
>>> "\"id\":4,\"method\":\"service/ping\"}\n"
<< {"jsonrpc": "2.0", "id": 4, "result": "pong"}

# A line that is not JSON is answered without an id, and the connection lives on.
>> {"jsonrpc": "2.0", "id": 5,
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "<string>"}}
>> {"jsonrpc": "2.0", "id": 6, "method": "service/ping",}
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "<string>"}}
>> {"jsonrpc":"2.0","id":7,"method":"service/ping"}
<< {"jsonrpc": "2.0", "id": 7, "result": "pong"}

# JSON that is no message.
>> 42
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "A message must be an object, or an array of objects."}}
>> "ping"
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "A message must be an object, or an array of objects."}}
>> null
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "A message must be an object, or an array of objects."}}

# The last line needs no LF.
>>> "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"service/ping\"}"
@end
<< {"jsonrpc": "2.0", "id": 8, "result": "pong"}
@closed
