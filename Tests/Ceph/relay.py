"""A relay between the service and radosgw that knows what each request is, and acts at a moment of it."""
import re
import socket
import threading
import urllib.parse


class Cut(Exception):
    """The connections of a request end."""


class Relay:
    """`plan` is a pair of a request's step and its moment, and a deed that is done then, once.

    Steps of uploads in parts are create, part 1, part 2 …, list, complete and abort; the others are get, head, put, copy
    and delete. The moments of a request are before, sent (radosgw has all of it) and answered (the service has nothing
    of the answer). `steps` has the steps of each upload.
    """

    def __init__(self, target):
        self.target, self.plan, self.steps = target, None, {}
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with client, client.makefile("rb") as requests:
                while head := read_head(requests):
                    self.pass_on(head, requests, client)
        except (Cut, OSError):
            pass  # one of the two has gone

    def pass_on(self, head, requests, client):
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        step = self.note(method, target, head)
        self.reach(step, "before")
        with socket.create_connection(self.target) as server, server.makefile("rb") as answers:
            server.sendall(head)
            copy(requests, server, length(head))
            self.reach(step, "sent")
            answer = read_head(answers)
            while answer and answer.startswith(b"HTTP/1.1 100"):
                answer = read_head(answers)
            if not answer:
                raise Cut
            self.reach(step, "answered")
            client.sendall(answer)
            if method == "HEAD" or answer.split(b" ")[1] in (b"204", b"304"):
                return
            if (count := length(answer, None)) is not None:
                copy(answers, client, count)
            elif b"transfer-encoding: chunked" in answer.lower():
                copy_chunks(answers, client)
            else:
                raise Cut

    def note(self, method, target, head):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query, keep_blank_values=True)
        upload = query.get("uploadId", [None])[0]
        number = query.get("partNumber", [None])[0]
        step = "copy" if b"\r\nx-amz-copy-source:" in head.lower() else method.lower()
        if method == "POST" and "uploads" in query:
            step = "create"
        elif upload:
            step = {"POST": "complete", "DELETE": "abort", "GET": "list", "PUT": f"part {number}"}.get(method, step)
            with self.lock:
                self.steps.setdefault(upload, []).append(step)
        return step

    def reach(self, step, moment):
        with self.lock:
            if not self.plan or self.plan[0] != (step, moment):
                return
            deed, self.plan = self.plan[1], None
        deed()

    def do(self, step, moment, deed):
        with self.lock:
            self.plan = (step, moment), deed

    @property
    def is_done(self):
        with self.lock:
            return self.plan is None


def read_head(stream):
    lines = []
    while line := stream.readline():
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)
    return b""


def length(head, otherwise=0):
    found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return int(found.group(1)) if found else otherwise


def copy(source, target, count):
    while count:
        piece = source.read(min(count, 1 << 16))
        if not piece:
            raise Cut
        target.sendall(piece)
        count -= len(piece)


def copy_chunks(source, target):
    while True:
        line = source.readline()
        if not line:
            raise Cut
        target.sendall(line)
        size = int(line.split(b";")[0], 16)
        copy(source, target, size + 2)
        if not size:
            return
