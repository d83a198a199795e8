"""The driver for threads: one thread reads, one runs the callbacks, any thread may call."""

from __future__ import annotations

import concurrent.futures
import logging
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Callable, TypeVar

from ._core import PATIENCE, Core
from ._streams import STEP
from .errors import ServiceGone
from .transport import Child, Socket

T = TypeVar("T")
log = logging.getLogger("storage_rpc")


class Answer(concurrent.futures.Future[T]):
    """What a call resolves to."""

    number: int
    """The id of the request."""


def steps(timeout: float | None) -> Iterator[float]:
    """The durations of waits that last `timeout` seconds together. Python notices a Ctrl-C that comes just before its main
    thread sleeps only when this thread wakes up."""
    if not isinstance(timeout, (int, float, type(None))):
        raise TypeError(f"A timeout is a number of seconds, not {type(timeout).__name__}.")
    end = None if timeout is None else time.monotonic() + timeout
    while (left := STEP if end is None else end - time.monotonic()) > 0:
        yield min(STEP, left)


def result_of(future: concurrent.futures.Future[T], timeout: float | None = None) -> T:
    """The result, for which it waits in steps."""
    for step in steps(timeout):
        try:
            return future.result(step)
        except concurrent.futures.TimeoutError:
            if future.done():
                break
    return future.result(0)


class Connection:
    """Sends calls from any thread, and handles the notifications and requests of the service."""

    def __init__(
        self,
        transport: Child | Socket,
        hear: Callable[[str, Mapping[str, Any]], None],
        reply: Callable[[str, Mapping[str, Any]], Any],
        gone: Callable[[ServiceGone], None],
    ) -> None:
        """Calls `hear` on the reader's thread for each notification, and `gone` once, after the last.

        Calls `reply` for each request, on a thread of its own; it returns the result, or raises an `RPCError`.
        """
        self.core = Core(hear, self._serve)
        self.guard = transport.guard
        self._transport, self._reply, self._tell_gone = transport, reply, gone
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="storage-rpc reader", daemon=True)
        self._reader.start()

    def call(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None) -> T:
        """Returns `then(result)`, computed on the reader's thread. Raises the error of the answer."""
        answer = self._send(method, params, then)
        try:
            return result_of(answer, timeout)
        except concurrent.futures.TimeoutError:
            farewell = self.core.give_up(answer.number)
            if farewell is None:
                return result_of(answer)
            self._write(farewell)
            raise TimeoutError(f"{method} was not answered within {timeout} seconds.") from None

    def submit(
        self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]
    ) -> Answer[T]:
        """Sends a call without waiting for its answer. Calls are sent in the order in which they are submitted."""
        return self._send(method, params, then)

    def forsake(self, answer: Answer[Any]) -> bool:
        """Cancels a call whose answer nothing waits for. False if it has been answered."""
        farewell = self.core.give_up(answer.number)
        if farewell is not None:
            self._write(farewell)
        return farewell is not None

    def close(self, *, drain: bool) -> None:
        """Ends the session and the child process: after its tasks, or, without `drain`, immediately."""
        self.core.is_closing = True
        if self._writing.acquire(timeout=-1 if drain else PATIENCE):
            try:
                self._transport.hang_up(drain=drain)
            finally:
                self._writing.release()
        self._transport.end(drain=drain)
        self._reader.join()

    def _send(
        self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]
    ) -> Answer[T]:
        self.guard.check()
        answer: Answer[T] = Answer()
        answer.number, line = self.core.call(method, params, answer, then)
        self._write(line)
        return answer

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._transport.write(line)
            except (OSError, ValueError):
                pass  # The service has gone: the reader notices, and fails the call.
            except BaseException:  # Ctrl-C within a line: the service could not parse further lines.
                self._transport.hang_up(drain=True)
                raise

    def _read(self) -> None:
        trouble = ""
        try:
            while chunk := self._transport.read():
                self.core.receive(chunk)
        except ValueError as error:
            trouble = str(error)
            self._transport.break_off()
        except OSError as error:
            trouble = f"The connection is broken: {error.strerror}."
        self._tell_gone(self.core.end(trouble, self._transport.obituary()))

    def _serve(self, *request: Any) -> None:
        threading.Thread(target=self._answer, args=request, name="storage-rpc reply", daemon=True).start()

    def _answer(self, id: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            line = self.core.reply(id, self._reply(method, params))
        except BaseException as error:  # sys.exit() in a callback too: the service waits for an answer.
            line = self.core.refuse(id, method, error)
        self._write(line)


class Dispatcher:
    """Runs callbacks one at a time, apart from the reader: so they may call the service.

    An exception of a callback is logged; the session continues.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="storage-rpc callbacks", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller is a callback."""
        return threading.current_thread() is self._thread

    def post(self, job: Callable[[], object]) -> None:
        self._jobs.put(job)

    def close(self) -> None:
        """Returns when all callbacks have run."""
        self._jobs.put(None)
        if not self.is_current:
            self._thread.join()

    def _run(self) -> None:
        for job in iter(self._jobs.get, None):
            try:
                job()
            except BaseException:  # sys.exit() in a callback too: it must not end this thread.
                log.exception("A callback failed")
