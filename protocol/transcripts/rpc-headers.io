# Header framing, as in LSP; answered in kind.
@framing headers
>> {"jsonrpc":"2.0","id":1,"method":"service/ping"}
<< {"jsonrpc": "2.0", "id": 1, "result": "pong"}

# Other headers are ignored, names are case-insensitive, lengths are in bytes.
>>> "content-type: text/plain\r\ncontent-LENGTH:51\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"é\",\"method\":\"service/ping\"}"
<< {"jsonrpc": "2.0", "id": "é", "result": "pong"}

# A body that is not JSON is answered, and skipped.
>> {
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "<string>"}}
>> {"jsonrpc":"2.0","id":2,"method":"service/ping"}
<< {"jsonrpc": "2.0", "id": 2, "result": "pong"}

# Headers that cannot be read end the connection, after the error.
>>> "Content-Length: twelve\r\n\r\n"
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "The headers cannot be read: Content-Length is not a decimal number in range."}}
@closed
