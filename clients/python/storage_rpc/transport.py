"""Ways to reach the service: as a child process, or on a Unix socket."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Sequence

from .errors import ServiceGone

log = logging.getLogger("storage_rpc")
_FAREWELL = b'{"jsonrpc":"2.0","id":0,"method":"shutdown"}\n{"jsonrpc":"2.0","method":"exit"}\n'
PATIENCE = 3.0  # seconds; a service that is told to end does so within two


class Child:
    """The service as a child process, on its stdin and stdout; what it says on stderr is logged."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            # In a session of its own: Ctrl-C at the terminal is for the caller, who decides what it means.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            advice = "set STORAGE_RPC to its path, or pass command=[...]"
            raise ServiceGone(f'The program "{command[0]}" cannot be started: {error.strerror}; {advice}.') from None
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        self._last_words: deque[str] = deque(maxlen=10)
        self._stderr = threading.Thread(target=self._listen_to_stderr, name="storage-rpc stderr", daemon=True)
        self._stderr.start()

    def lines(self) -> Iterator[bytes]:
        return iter(self._output)

    def write(self, line: bytes) -> None:
        self._input.write(line)
        self._input.flush()

    def hang_up(self, *, drain: bool) -> None:
        """Ends the input: the service ends when its uploads have, or at once."""
        with contextlib.suppress(OSError, ValueError):
            if not drain:
                self.write(_FAREWELL)
        with contextlib.suppress(OSError):
            self._input.close()

    def break_off(self) -> None:
        """Waits for nothing, not even for what is being written."""
        self._process.terminate()

    def end(self, *, drain: bool) -> None:
        """Returns when the process has ended, and is no zombie."""
        try:
            self._process.wait(None if drain else PATIENCE)
        except BaseException as error:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def obituary(self) -> ServiceGone:
        """Why there is nothing more to read."""
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return ServiceGone("The service has closed its output.", None, self._last_words)
        self._stderr.join(PATIENCE)
        self._output.close()
        self.hang_up(drain=True)
        how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        last = f": {self._last_words[-1]}" if self._last_words else "."
        return ServiceGone(f"The service {how}{last}", status, self._last_words)

    def _listen_to_stderr(self) -> None:
        assert self._process.stderr
        with self._process.stderr as stderr:
            for line in stderr:
                self._last_words.append(line.decode(errors="replace").rstrip())
                log.warning("%s", self._last_words[-1])


class Socket:
    """A service that listens on a Unix socket; it, and the uploads in it, outlive the session."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise ServiceGone(f"No service can be reached at {path}: {error.strerror or error}.") from None

    def lines(self) -> Iterator[bytes]:
        with self._socket.makefile("rb") as stream:
            yield from stream

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
        return ServiceGone("The service has closed the connection.")
