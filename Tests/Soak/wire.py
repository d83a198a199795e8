"""A socket that never blocks, and the two framings."""
import json
import socket


class Wire:
    def __init__(self, path, has_headers):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.setblocking(False)
        self.has_headers, self.unsent, self.unread = has_headers, bytearray(), bytearray()
        self.is_shut = False

    def fileno(self):
        return self.socket.fileno()

    def say(self, text):
        self.unsent += b"Content-Length: %d\r\n\r\n%b" % (len(text), text) if self.has_headers else text + b"\n"

    def push(self):
        try:
            del self.unsent[: self.socket.send(self.unsent)]
        except BlockingIOError:
            pass

    def shut(self):
        """Nothing more is said, all that there is can still be heard."""
        if not self.unsent and not self.is_shut:
            self.is_shut = True
            self.socket.shutdown(socket.SHUT_WR)

    def hear(self):
        """What has come; None at the end."""
        try:
            piece = self.socket.recv(1 << 18)
        except BlockingIOError:
            return []
        if not piece:
            return None
        self.unread += piece
        return [json.loads(text) for text in (self.bodies() if self.has_headers else self.lines())]

    def lines(self):
        *whole, rest = self.unread.split(b"\n")
        self.unread = rest
        return whole

    def bodies(self):
        start, texts = 0, []
        while (end := self.unread.find(b"\r\n\r\n", start)) >= 0:
            length = int(self.unread[start:end].split(b":")[1])
            if len(self.unread) < end + 4 + length:
                break
            texts.append(self.unread[end + 4 : end + 4 + length])
            start = end + 4 + length
        del self.unread[:start]
        return texts
