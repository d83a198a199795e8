"""What the tests share: a service with a directory of its own, and files to upload."""

from __future__ import annotations

import logging
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, cast

from storage_rpc import Snapshot, Storage, UploadTask
from storage_rpc.values import Callback, Status

PATIENCE = 60.0  # seconds; a safety net, never a measure
MIB = 1 << 20
HARNESS = [os.environ.get("STORAGE_RPC", ""), "serve", "--harness"]
logging.getLogger("storage_rpc").addFilter(lambda record: "warning: --harness" not in record.getMessage())
HELLO = """
import json, sys
def say(**message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
server = {"name": "storage-rpc", "version": "0.0.9"}
say(id=json.loads(input())["id"], result={"server": server, "defaultBucket": "b", "limits": {"maxMessageBytes": 1 << 20}})
sys.stdout.flush()
request = json.loads(input())
"""


class Heard:
    """A callback that keeps what it receives."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self._queue: queue.SimpleQueue[Snapshot] = queue.SimpleQueue()

    def __call__(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)
        self._queue.put(snapshot)

    def next(self) -> Snapshot:
        return self._queue.get(timeout=PATIENCE)

    @property
    def statuses(self) -> list[str]:
        return [snapshot.status for snapshot in self.snapshots]


class StorageTestCase(unittest.TestCase):
    """Each test has an empty directory; `self.storage` is a session that is started when it is first used."""

    @classmethod
    def setUpClass(cls) -> None:
        if not shutil.which(os.environ.get("STORAGE_RPC", "")):
            sys.exit("STORAGE_RPC does not name the program that is tested: build it, and export STORAGE_RPC=PATH.")

    def setUp(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="storage-rpc-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._storage: Storage | None = None

    @property
    def storage(self) -> Storage:
        if self._storage is None:
            self._storage = self.start()
        return self._storage

    def start(self, **options: Any) -> Storage:
        """One more session, by default with a service of its own that has a harness; closed when the test ends."""
        if "socket" not in options:
            options = {"command": HARNESS, "root": self.directory / "root", **options}
        storage = Storage(timeout=PATIENCE, **options)
        self.addCleanup(storage.close, drain=False)
        return storage

    def serve(self) -> str:
        """The socket of a service that runs until the test ends."""
        return self.serve_in("root")

    def serve_in(self, name: str) -> str:
        path = str(self.directory / "socket")
        root = str(self.directory / name)
        command = [*HARNESS, "--stdio", "--socket", path, "--root", root]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.addCleanup(self._stop, process)
        assert process.stdin and process.stdout
        # Its answer on stdout means that it listens: the socket is opened before stdin is read.
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"service/ping"}\n')
        process.stdin.flush()
        self.assertIn(b"pong", process.stdout.readline())
        return path

    def fake(self, program: str, **options: Any) -> Storage:
        """A session with a service that greets, takes one request, then runs the given program."""
        storage = Storage(command=[sys.executable, "-c", HELLO + program], timeout=PATIENCE, **options)
        self.addCleanup(storage.close, drain=False)
        return storage

    def assert_reaped(self, process: int) -> None:
        """Waits until the process has ended, and this one has taken note of that."""
        deadline = time.monotonic() + PATIENCE
        while is_there(process):
            self.assertLess(time.monotonic(), deadline, "The process has not been reaped.")
            time.sleep(0.005)

    @staticmethod
    def _stop(process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        process.communicate(timeout=PATIENCE)

    def file(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        path.write_bytes(content)
        return path

    def large_file(self, name: str = "large.bin", size: int = 3 * MIB) -> Path:
        """A file of many chunks, which takes no room on the disk."""
        path = self.directory / name
        with open(path, "wb") as file:
            file.truncate(size)
        return path

    def small_chunks(self) -> None:
        self.storage.update_settings(upload_chunk_size_bytes=256 << 10)

    def hold_at(self, byte: int) -> None:
        """Each upload stops before that byte, however often it comes there, until `harness.disarm()`."""
        self.storage.harness.arm("send", at=byte, times=None, rule="held", hold=True)

    def running(self, path: str = "large", **observe: Callback) -> UploadTask:
        """An upload that is held after its first MiB, and all events so far were sent."""
        self.small_chunks()
        self.hold_at(MIB)
        callbacks = cast("dict[Status, Callback]", observe)
        task = self.storage.reference(path).put_file(self.large_file(), on_progress=Heard(), observe=callbacks)
        self.storage.harness.settled()
        return task


def is_there(process: int) -> bool:
    """Also where it has ended, and its parent has not taken note of that."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def pid(storage: Storage) -> int:
    return int(storage.call("service/status")["pid"])
