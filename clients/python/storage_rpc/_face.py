"""What references and tasks do with threads: references come from the service, and a task has started when it is made."""

from __future__ import annotations

import concurrent.futures
import contextlib
import io
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

from ._base import ReferenceBase
from ._events import ENDS, STATUSES, Backlog, S
from ._methods import Method, TaskVerb
from ._session import Session
from ._streams import await_bytes, check_end, size_of
from ._tasks import R, TaskBase
from ._types import Metadata, Status
from .connection import Answer, result_of, steps
from .text import TextDownloadStream, TextUploadStream

T = TypeVar("T")
P = TypeVar("P", bound="Place")
CallbackOf = Callable[[S], object]
"""Called with the snapshot of each event."""


@dataclass(frozen=True)
class Place(ReferenceBase):
    """The fields of a reference."""

    bucket: str
    full_path: str
    name: str = field(compare=False)
    """The last part of the path; empty at the root."""
    url: str = field(compare=False)
    """`gs://bucket/full_path`, never percent-encoded."""
    warnings: tuple[str, ...] = field(compare=False, repr=False)
    """Properties of the path that other tools may not support."""
    object: str | None
    """The exact name of the object where `full_path` does not determine it, as in `folder/` or `a//b`."""
    _storage: Session = field(compare=False, repr=False)

    @classmethod
    def from_wire(cls: type[P], storage: Session, message: Mapping[str, Any]) -> P:
        warnings = tuple(message.get("warnings", ()))
        place = (message["bucket"], message["fullPath"], message["name"], message["url"])
        return cls(*place, warnings, message.get("object"), storage)

    def _ask(
        self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._storage._ask(method, {"reference": self._place, **params}, then, timeout)


class Waiting(TaskBase[S, R]):
    """How a task is started and waited for."""

    id: str
    """Unique across restarts of the service."""
    _storage: Session

    def __init__(self, storage: Session, id: str | None = None) -> None:
        super().__init__(storage, id)
        self._listening = threading.Lock()

    def wait(self, timeout: float | None = None) -> R:
        """Returns the result of the task after all callbacks have run: the metadata of the object, or the last snapshot
        of a folder. Raises the error of the task.

        Raises `TimeoutError` after `timeout` seconds; the task continues.
        """
        self._storage._connection.guard.check()
        if not self._events.own:
            # Without a timeout it waits for ever: the session's timeout is for calls that answer immediately.
            snapshot = self._storage._tasks.snapshot(type(self))
            return self._outcome(
                self._storage._connection.call(self._method("wait"), {"task": self.id}, snapshot, timeout)
            )
        try:
            snapshot = result_of(self._finished, timeout)
        except concurrent.futures.TimeoutError:
            if not self._end.done():
                raise TimeoutError(f"The {self.kind} has not ended within {timeout} seconds.") from None
            snapshot = self._end.result()  # Its callbacks are still running.
        return self._outcome(snapshot)

    def _start(
        self,
        method: Method,
        params: Mapping[str, Any],
        callbacks: Mapping[Status, CallbackOf[S]],
        timeout: float | None,
    ) -> None:
        statuses = [*{**callbacks, "success": None, "failure": None}]
        self._storage._ask(method, {**params, "observe": statuses}, self._begun(callbacks), timeout)

    def _follow(self, backlog: Backlog[S]) -> None:
        self._events.follow(backlog)
        self._listen()

    def _listen(self) -> None:
        """Adds the missing observers of the task itself: first those of its end."""
        self._storage._connection.guard.check()
        with self._listening:
            self._kept = STATUSES
            own = self._events.own
            known = {own[handle].status for handle in self._events.handles(None) if handle in own}
            for status in (*ENDS, *STATUSES):
                if status not in known and not self._events.over:
                    self._ask("observe", {"status": status}, self._observing(status, None))
                    known.add(status)

    def _ask(
        self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        then = self._understood(verb, then)
        return self._storage._ask(self._method(verb), {"task": self.id, **params}, then, timeout)


READS = ("read", "__iter__")
"""What a source has one of."""


class Wrapped:
    """A stream that a wrapper of the module `io` may hold."""

    _is_closed: bool
    _session: Session
    _task: Any
    _trouble: BaseException | None

    def _dealloc_warn(self, wrapper: object, /) -> None:
        """Cancels the task. A wrapper that is collected calls this before it writes what it has left, and closes.

        That can be on any thread, the one that reads the answers of the service included: this waits for nothing.
        """
        if not self._is_closed:
            self._is_closed, kind = True, type(wrapper).__name__
            self._trouble = ValueError(f"The {kind} of this stream was collected before it was closed.")
            cancel = self._task.cancel
            self._session._dispatcher.post(lambda: quietly(cancel))
            warnings.warn(f"unclosed {kind} of {self._task!r}", ResourceWarning)

    def _wrapped(self, kind: Callable[..., T], *form: str | None) -> T:
        try:
            return kind(self, *form)
        except BaseException:  # There is no such encoding.
            self._is_closed = True
            quietly(self._task.cancel)
            raise


class Source(Wrapped, io.RawIOBase):
    """What bytes are read from."""

    def text(self, encoding: str = "utf-8", errors: str | None = None, newline: str | None = None) -> TextDownloadStream:
        """This stream as a file of text. The arguments are those of `open`.

        >>> with storage.reference("log.txt").get_stream().text() as file:
        ...     for line in file:
        ...         print(line)
        """
        return self._wrapped(TextDownloadStream, encoding, errors, newline)

    def readable(self) -> bool:
        return True

    def __del__(self) -> None:
        """Nothing: `close` asks the service, which an end in the collection of garbage must not wait for."""


class Sink(Wrapped, io.BufferedIOBase):
    """What bytes are written to."""

    def text(self, encoding: str = "utf-8", errors: str | None = None, newline: str | None = None) -> TextUploadStream:
        """This stream as a file of text. The arguments are those of `open`.

        >>> with storage.reference("log.txt").put_stream().text() as file:
        ...     print("a line", file=file)
        """
        return self._wrapped(TextUploadStream, encoding, errors, newline)

    def wait(self, timeout: float | None = None) -> Metadata:
        raise NotImplementedError

    def writable(self) -> bool:
        return True

    def __del__(self) -> None:
        """Does nothing: an unclosed stream must not be stored."""


def quietly(call: Callable[[], object]) -> None:
    """Calls where an error was raised already."""
    with contextlib.suppress(Exception):
        call()


def begun(task: Waiting[Any, Any]) -> str:
    return task.id


def answered(answer: concurrent.futures.Future[T]) -> T:
    """The result of a request that was sent before."""
    return result_of(answer)


def forsake(session: Session, answers: Iterable[Answer[Any]]) -> None:
    """Cancels requests whose answers nothing waits for."""
    for answer in answers:
        session._connection.forsake(answer)


def feed(stream: Any, source: Any) -> None:
    """Reads the source into the stream on another thread."""
    fed = stream.task._storage._fed

    def run() -> None:
        stream._feed(source)
        fed.pop(stream, None)

    fed[stream] = threading.Thread(target=run, name="storage-rpc stream", daemon=True)
    fed[stream].start()


def starve(stream: Any) -> None:
    """The source is read no more once its next bytes cannot be written."""


def chunks(source: Any, size: int) -> Iterator[Any]:
    """The bytes of a source."""
    if not hasattr(source, "read"):
        for chunk in source:
            size_of(chunk, source)
            yield chunk
        return
    while (chunk := source.read(size)) is None or size_of(chunk, source):
        if chunk is None:
            await_bytes(source)
        yield b"" if chunk is None else chunk  # Of no bytes the writer sees whether the stream was closed.
    check_end(source)


def happened(event: threading.Event, timeout: float | None) -> bool:
    """Waits for the event. False after `timeout` seconds."""
    return any(event.wait(step) for step in steps(timeout)) or event.is_set()
