"""Transports for threads: a child process, or a Unix socket."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence

from ._core import CHUNK, FAREWELL, GRACE, LAST_WORDS, PATIENCE
from ._files import socket_address
from ._fork import ForkGuard
from ._program import is_shared
from .errors import ServiceGone, cannot_start, disconnected, no_service_at, obituary

log = logging.getLogger("storage_rpc")


class Child:
    """The service as a child process, on its stdin and stdout; its stderr is logged."""

    def __init__(self, command: Sequence[str]) -> None:
        refuse_green_threads()
        try:
            # In a session of its own: Ctrl-C at the terminal interrupts the caller only.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise cannot_start(command, error) from None
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output = self._process.stdin, self._process.stdout
        self.guard = ForkGuard(self._input, self._output, self._process.stderr)
        self._is_shared = is_shared(command)
        self._is_over = threading.Event()
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._stderr = threading.Thread(target=self._listen_to_stderr, name="storage-rpc stderr", daemon=True)
        self._stderr.start()

    def read(self) -> bytes:
        return os.read(self._output.fileno(), CHUNK)

    def write(self, line: bytes) -> None:
        rest = memoryview(line)  # Unbuffered: a fork would inherit a copy of the buffer, and write it again.
        while rest:
            rest = rest[os.write(self._input.fileno(), rest) :]

    def hang_up(self, *, drain: bool) -> None:
        """Closes the input: the service ends after its tasks, or, without `drain`, immediately."""
        with contextlib.suppress(OSError, ValueError):
            if not drain:
                self.write(FAREWELL)
        with contextlib.suppress(OSError):
            self._input.close()

    def break_off(self) -> None:
        """Ends the process, without waiting for writes."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def end(self, *, drain: bool) -> None:
        """Waits for the end of the output, and ends a process that hangs. A shared service may have pending answers for ever."""
        try:
            self._is_over.wait(None if drain and not self._is_shared else PATIENCE)
        finally:
            if not self._is_over.is_set():
                self.break_off()

    def obituary(self) -> ServiceGone:
        """The error for the end of the output. A process that continues is not ended: it serves others."""
        self._is_over.set()
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GRACE)
            self._stderr.join(PATIENCE)
        self._output.close()
        self.hang_up(drain=True)
        return obituary(status, self._last_words)

    def _listen_to_stderr(self) -> None:
        assert self._process.stderr
        with self._process.stderr as stderr:
            for line in stderr:
                self._last_words.append(line.decode(errors="replace").rstrip())
                log.warning("%s", self._last_words[-1])
        self._process.wait()  # It is reaped, though it may outlive the session.


def refuse_green_threads() -> None:
    """Raises `RuntimeError` where gevent has replaced threads or pipes: a read of the child's output would fail, or stop
    all of them."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and any(map(monkey.is_module_patched, ("subprocess", "threading"))):
        advice = "start it yourself with storage-rpc serve --socket PATH, and use Storage(socket=PATH)"
        raise RuntimeError(f"gevent has patched this process, which cannot talk to a service as its child: {advice}.")


class Socket:
    """A service on a Unix socket; the service and its tasks outlive the session."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_address(path) as address:
                self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise no_service_at(path, error) from None
        self.guard = ForkGuard(self._socket)

    def read(self) -> bytes:
        return self._socket.recv(CHUNK)

    def write(self, line: bytes) -> None:
        self._socket.sendall(line)

    def hang_up(self, *, drain: bool) -> None:
        self.break_off()

    def break_off(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def end(self, *, drain: bool) -> None:
        pass

    def obituary(self) -> ServiceGone:
        self._socket.close()
        return disconnected()
