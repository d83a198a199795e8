"""The program as a child that answers one call at a time."""
import base64
import json
import os
import select
import subprocess
import time

TIMEOUT = 20  # seconds; nothing here takes one


class Failure(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']} {error['message']}")
        self.code, self.message, self.data = error["code"], error["message"], error.get("data", {})


class Gone(Exception):
    """The process ended before it answered."""


class Service:
    def __init__(self, binary, root, environment=None, *flags):
        command = [str(binary), "serve", "--root", str(root), "--log-level", "error", *flags]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.rest, self.number = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def call(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Gone(method) from None
        while "method" in (answer := json.loads(self.line(method))):
            self.refuse(answer)
        if answer.get("id") != self.number:
            raise AssertionError(f"{method} was not answered but by {answer}")
        if "error" in answer:
            raise Failure(answer["error"])
        return answer["result"]

    def refuse(self, request):
        """Answers a request of the service, such as for another token."""
        if "id" in request:
            error = {"code": -32601, "message": "This client answers no requests."}
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode() + b"\n")
            self.process.stdin.flush()

    def line(self, method):
        end = time.monotonic() + TIMEOUT
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{method} was not answered within {TIMEOUT} seconds")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise Gone(method)
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def kill(self):
        self.process.kill()
        self.process.wait()

    def data(self, path):
        return base64.b64decode(self.call("reference/getData", reference=url(path), maxSize=1 << 30)["data"])

    def end(self):
        """Its status and what it said on stderr, after the end of its input."""
        try:
            _, errors = self.process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise AssertionError("the service did not end with its input") from None
        return self.process.returncode, errors.decode()


def url(path):
    return f"gs://bucket/{path}"
