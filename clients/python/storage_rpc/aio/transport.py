"""Transports for asyncio: a child process, or a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, Awaitable, cast

from .._core import CHUNK, FAREWELL, LAST_WORDS, PATIENCE, Lines
from .._files import socket_address
from .._fork import ForkGuard, HasFileno
from ..errors import ServiceGone, cannot_start, disconnected, no_service_at, obituary

log = logging.getLogger("storage_rpc")


class LoopGuard(ForkGuard):
    """Also keeps other event loops away, whose tasks would wait for ever: a loop does not wake those of another."""

    def __init__(self, *files: HasFileno) -> None:
        super().__init__(*files)
        self._loop = asyncio.get_running_loop()

    def check(self) -> None:
        super().check()
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("The session belongs to another event loop: each loop needs a session of its own.")


class Child:
    """The service as a child process, on its stdin and stdout; its stderr is logged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self.input, self.output = process.stdin, process.stdout
        self._process = process
        pipes: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
        ends = [cast(asyncio.BaseTransport, pipes.get_pipe_transport(number)) for number in range(3)]
        # Event loops of other packages may not provide their pipes.
        self.guard = LoopGuard(*filter(None, (end.get_extra_info("pipe") for end in ends)))
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._stderr = asyncio.create_task(self._listen_to_stderr())

    @classmethod
    async def start(cls, command: Sequence[str]) -> Child:
        pipe = asyncio.subprocess.PIPE
        try:
            # In a session of its own: Ctrl-C at the terminal interrupts the caller only.
            return cls(
                await asyncio.create_subprocess_exec(
                    *command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
                )
            )
        except OSError as error:
            raise cannot_start(command, error) from None

    def hang_up(self, *, drain: bool) -> None:
        """Closes the input: the service ends after its tasks, or, without `drain`, at once."""
        if not drain:
            self.input.write(FAREWELL)
        self.input.close()

    def break_off(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    async def end(self, *, drain: bool) -> None:
        """Waits for the end of the process, and reaps it."""
        try:
            if drain or await within_patience(self._process.wait()) is not None:
                await self._process.wait()
                return
        except asyncio.CancelledError:
            await self._insist()
            raise
        await self._insist()

    async def obituary(self) -> ServiceGone:
        """The error for the end of the output."""
        status = await within_patience(self._process.wait())
        if status is not None:
            await within_patience(self._stderr)
            self.input.close()
        return obituary(status, self._last_words)

    async def _insist(self) -> None:
        self.break_off()
        if await within_patience(self._process.wait()) is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _listen_to_stderr(self) -> None:
        assert self._process.stderr
        lines = Lines()
        while chunk := await self._process.stderr.read(CHUNK):
            for line in lines.take(chunk):
                self._last_words.append(line.decode(errors="replace").rstrip())
                log.warning("%s", self._last_words[-1])


class Socket:
    """A service on a Unix socket; the service and its tasks outlive the session."""

    def __init__(self, output: asyncio.StreamReader, input: asyncio.StreamWriter) -> None:
        self.input, self.output = input, output
        self.guard = LoopGuard(input.get_extra_info("socket"))

    @classmethod
    async def connect(cls, path: str) -> Socket:
        try:
            with socket_address(path) as address:
                return cls(*await asyncio.open_unix_connection(address))
        except OSError as error:
            raise no_service_at(path, error) from None

    def hang_up(self, *, drain: bool) -> None:
        self.break_off()

    def break_off(self) -> None:
        self.input.transport.abort()

    async def end(self, *, drain: bool) -> None:
        pass

    async def obituary(self) -> ServiceGone:
        self.break_off()
        return disconnected()


async def within_patience(awaited: Awaitable[Any]) -> Any:
    """None after the timeout."""
    try:
        return await asyncio.wait_for(awaited, PATIENCE)
    except asyncio.TimeoutError:
        return None
