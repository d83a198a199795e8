"""Transports for asyncio: a child process, or a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, Awaitable, TypeVar, cast

from .._core import CHUNK, FAREWELL, GRACE, LAST_WORDS, PATIENCE
from .._files import socket_address
from .._fork import ForkGuard, HasFileno
from .._program import is_shared
from ..errors import ServiceGone, cannot_start, disconnected, no_service_at, obituary
from ..wire import Lines

T = TypeVar("T")
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

    def __init__(self, process: asyncio.subprocess.Process, is_shared: bool) -> None:
        assert process.stdin and process.stdout
        self.input, self.output = process.stdin, process.stdout
        self._process, self._is_shared = process, is_shared
        self._pipes: Any = process._transport  # type: ignore[attr-defined]
        ends = [cast(asyncio.BaseTransport, self._pipes.get_pipe_transport(number)) for number in range(3)]
        # Event loops of other packages may not provide their pipes.
        self.guard = LoopGuard(*filter(None, (end.get_extra_info("pipe") for end in ends)))
        self._is_over = asyncio.Event()
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
                ),
                is_shared(command),
            )
        except OSError as error:
            raise cannot_start(command, error) from None

    def hang_up(self, *, drain: bool) -> None:
        """Closes the input: the service ends after its tasks, or, without `drain`, immediately."""
        if not drain:
            self.input.write(FAREWELL)
        self.input.close()

    async def break_off(self) -> None:
        """Ends the process, without waiting for writes."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        if await within(PATIENCE, self._process.wait()) is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def end(self, *, drain: bool) -> None:
        """Waits for the end of the output, and ends a process that hangs. A shared service may have pending answers for ever."""
        try:
            await within(None if drain and not self._is_shared else PATIENCE, self._is_over.wait())
        finally:
            if not self._is_over.is_set():
                await self.break_off()

    async def obituary(self) -> ServiceGone:
        """The error for the end of the output. A process that continues is not ended: it serves others."""
        self._is_over.set()
        status = await within(GRACE, self._process.wait())
        if status is None:
            self._leave()
        await within(PATIENCE, self._stderr)
        self.input.close()
        return obituary(status, self._last_words)

    def _leave(self) -> None:
        for number in range(3):
            self._pipes.get_pipe_transport(number).close()
        # The transport of asyncio kills the process when it is closed or deleted; other event loops do not.
        with contextlib.suppress(AttributeError):
            self._pipes._closed = True

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
        self.input.transport.abort()

    async def break_off(self) -> None:
        self.input.transport.abort()

    async def end(self, *, drain: bool) -> None:
        pass

    async def obituary(self) -> ServiceGone:
        self.input.transport.abort()
        return disconnected()


async def within(seconds: float | None, awaited: Awaitable[Any]) -> Any:
    """None after the timeout."""
    try:
        return await asyncio.wait_for(awaited, seconds)
    except asyncio.TimeoutError:
        return None


async def through(awaited: Awaitable[T]) -> T:
    """Waits for the end even if the caller is cancelled meanwhile, and raises that afterwards: for what ends soon by itself."""
    ending, cancelled = asyncio.ensure_future(awaited), None
    while not ending.done():
        try:
            await asyncio.wait({ending})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not ending.cancelled():
            ending.exception()
        raise cancelled
    return ending.result()
