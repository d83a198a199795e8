"""The driver for asyncio: one task reads, one writes, one runs the callbacks, any task may call."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
from collections.abc import Mapping
from typing import Any, Callable, Generic, TypeVar

from .._core import CHUNK, Core
from ..errors import ServiceGone
from .transport import Child, Socket

T = TypeVar("T")
log = logging.getLogger("storage_rpc")
_current: contextvars.ContextVar[object] = contextvars.ContextVar("storage_rpc dispatcher", default=None)


class Request(Generic[T]):
    """A pending call. It is encoded when it can be written: so the queue holds no second copy of its data."""

    def __init__(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]) -> None:
        self.method, self.params, self.then = method, params, then
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.number: int | None = None


class Connection:
    """Sends calls, and handles the notifications and requests of the service."""

    def __init__(
        self,
        transport: Child | Socket,
        hear: Callable[[str, Mapping[str, Any]], None],
        reply: Callable[[str, Mapping[str, Any]], Any],
        gone: Callable[[ServiceGone], None],
    ) -> None:
        """Calls `hear` for each notification, and `gone` once, after the last.

        Calls `reply` for each request; it returns the result or an awaitable of it, or raises an `RPCError`.
        """
        self.core = Core(hear, self._serve)
        self.guard = transport.guard
        self._transport, self._reply, self._tell_gone = transport, reply, gone
        self._unsent: asyncio.Queue[Request[Any] | bytes | None] = asyncio.Queue()
        self._is_closing = self._is_over = False
        self._replies: set[asyncio.Task[None]] = set()
        self._writer = asyncio.create_task(self._write())
        self._reader = asyncio.create_task(self._read())

    def submit(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]) -> Request[T]:
        """Calls are sent in the order in which they are submitted."""
        self.guard.check()
        request = Request(method, params, then)
        if self._is_closing or self._is_over:
            request.answer.set_exception(self.core.gone or ServiceGone("The session is closed."))
        else:
            self._unsent.put_nowait(request)
        return request

    async def call(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        """Returns `then(result)`. Raises the error of the answer; cancelling sends `$/cancelRequest`."""
        request = self.submit(method, params, then)
        try:
            return await request.answer
        except asyncio.CancelledError:
            self.forsake(request)
            raise

    def forsake(self, request: Request[Any]) -> None:
        """Cancels a call whose answer nothing waits for."""
        farewell = None if request.number is None else self.core.give_up(request.number)
        if farewell:
            self._unsent.put_nowait(farewell)

    async def close(self, *, drain: bool) -> None:
        """Ends the session and the child process: after its tasks, or, without `drain`, immediately."""
        self._is_closing = True
        if drain and not self._is_over:
            self._unsent.put_nowait(None)
        else:
            self._writer.cancel()
            self._hang_up(drain=drain)
        await self._transport.end(drain=drain)
        await asyncio.wait({self._reader})
        for reply in self._replies:
            reply.cancel()

    def _hang_up(self, *, drain: bool) -> None:
        self.core.is_closing = True
        self._transport.hang_up(drain=drain)

    def _send(self, request: Request[Any] | bytes) -> None:
        if isinstance(request, bytes):
            self._transport.input.write(request)
        elif not request.answer.done():
            try:
                number, line = self.core.call(request.method, request.params, request.answer, request.then)
                request.number = number
                self._transport.input.write(line)
            except Exception as error:
                request.answer.set_exception(error)

    async def _write(self) -> None:
        while (request := await self._unsent.get()) is not None:
            self._send(request)
            with contextlib.suppress(OSError):  # The service has gone: the reader notices.
                await self._transport.input.drain()
        self._hang_up(drain=True)

    async def _read(self) -> None:
        trouble = ""
        try:
            while chunk := await self._transport.output.read(CHUNK):
                self.core.receive(chunk)
        except ValueError as error:
            trouble = str(error)
            await self._transport.break_off()
        except OSError as error:
            trouble = f"The connection is broken: {error.strerror}."
        self._tell_gone(self.core.end(trouble, await self._transport.obituary()))
        self._is_over = True
        self._writer.cancel()
        while not self._unsent.empty():
            request = self._unsent.get_nowait()
            if isinstance(request, Request):
                self._send(request)

    def _serve(self, *request: Any) -> None:
        reply = asyncio.create_task(self._answer(*request))
        self._replies.add(reply)
        reply.add_done_callback(self._replies.discard)

    async def _answer(self, id: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            result = self._reply(method, params)
            line = self.core.reply(id, await result if inspect.isawaitable(result) else result)
        except (Exception, SystemExit) as error:
            line = self.core.refuse(id, method, error)
        self._unsent.put_nowait(line)


class Dispatcher:
    """Runs callbacks one at a time, and awaits their results: so they may call the service.

    An exception of a callback is logged; the session continues.
    """

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Callable[[], object] | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    @property
    def is_current(self) -> bool:
        """Whether the caller is a callback, or was started by one."""
        return _current.get() is self

    def post(self, job: Callable[[], object]) -> None:
        self._jobs.put_nowait(job)

    async def close(self) -> None:
        """Returns when all callbacks have run."""
        self._jobs.put_nowait(None)
        if not self.is_current:
            await asyncio.wait({self._task})

    def cancel(self) -> None:
        """Cancels the callback that runs; those that wait do not run."""
        if self.is_current:
            self._jobs.put_nowait(None)
        else:
            self._task.cancel()

    async def _run(self) -> None:
        _current.set(self)
        while (job := await self._jobs.get()) is not None:
            try:
                result = job()
            except Exception:
                log.exception("A callback failed")
                continue
            if inspect.isawaitable(result):
                callback = asyncio.ensure_future(result)
                try:
                    await asyncio.wait({callback})  # A cancelled callback does not cancel this task.
                except asyncio.CancelledError:
                    callback.cancel()
                    raise
                if not callback.cancelled() and callback.exception():
                    log.error("A callback failed", exc_info=callback.exception())
