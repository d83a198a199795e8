# Input that ends within a message of header framing.
@framing headers
>>> "Content-Length: 100\r\n\r\n{\"jsonrpc\""
@end
<< {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "The headers cannot be read: the input ended within a message of 100 bytes."}}
@closed
