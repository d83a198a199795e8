"""The program as a child that listens on a socket, and what the kernel tells of it."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

TIMEOUT = 20  # seconds; nothing here takes as long


class Service:
    def __init__(self, binary, place, flags, prepare):
        """`prepare` runs in the child before it becomes the service."""
        self.socket, self.root, self.number = place / "socket", place / "root", 0
        self.errors = open(place / "errors", "w+b")
        command = [str(binary), "serve", "--socket", str(self.socket), "--root", str(self.root), *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=self.errors, preexec_fn=prepare)
        self.client = socket.socket(socket.AF_UNIX)
        self.client.settimeout(TIMEOUT)
        if not until(self.listens):
            raise SystemExit(f"{binary} does not listen")
        self.lines = self.client.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def listens(self):
        try:
            self.client.connect(str(self.socket))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def answer(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.client.sendall(json.dumps(message).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        if answer.get("id") != self.number:
            raise AssertionError(f"{method} was not answered but by {answer}")
        return answer

    def call(self, method, **params):
        return self.answer(method, **params)["result"]

    def tasks(self, kind):
        return self.call(f"{kind}Task/list")["tasks"]

    def measure(self):
        """Descriptors, threads of each name, KiB of memory."""
        process = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in open(process / "status"))
        threads = collections.Counter()
        for thread in (process / "task").iterdir():
            with contextlib.suppress(OSError):  # it has ended
                threads[(thread / "comm").read_text().strip()] += 1
        return len(os.listdir(process / "fd")), threads, int(status["VmRSS"].split()[0])

    def end(self):
        """Its status after SIGTERM, and what it said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT)
        self.errors.seek(0)
        return status, self.errors.read().decode()


def build():
    """The program, built for release."""
    package = pathlib.Path(__file__).resolve().parent.parent.parent
    command = ["swift", "build", "-c", "release"]
    subprocess.run([*command, "--product", "storage-rpc"], cwd=package, check=True)
    shown = subprocess.run([*command, "--show-bin-path"], cwd=package, check=True, stdout=subprocess.PIPE)
    return pathlib.Path(shown.stdout.decode().strip()) / "storage-rpc"


def until(holds):
    """Whether it holds in time."""
    end = time.monotonic() + TIMEOUT
    while not (is_held := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return is_held
