"""What references and tasks do with asyncio: a reference is made without a request, and a task starts later."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar, Union

from .._base import ReferenceBase
from .._core import PATIENCE
from .._events import STATUSES, Backlog, S
from .._methods import Method, TaskVerb
from .._streams import await_bytes, check_end, size_of
from .._tasks import R, TaskBase
from .._types import Metadata, Status
from ..wire import checked_text, segments
from ._session import Session
from .transport import through

T = TypeVar("T")
P = TypeVar("P", bound="Place")
CallbackOf = Callable[[S], Union[Awaitable[object], object]]
"""Called with the snapshot of each event; if it returns an awaitable, the next callback waits for it."""


@dataclass(frozen=True)
class Place(ReferenceBase):
    """The fields of a reference, and those next to it. The path is checked when it is used."""

    bucket: str
    full_path: str
    object: str | None
    """The exact name of the object where `full_path` does not determine it, as in `folder/` or `a//b`."""
    _storage: Session = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        path = "/".join(segments(self.full_path if self.object is None else self.object))
        object.__setattr__(self, "full_path", path)
        if self.object == path != "":
            object.__setattr__(self, "object", None)

    @classmethod
    def _from_wire(cls: type[P], storage: Session, message: Mapping[str, Any]) -> P:
        return cls(message["bucket"], message["fullPath"], message.get("object"), storage)

    @property
    def name(self) -> str:
        """The last part of the path; empty at the root."""
        return self.full_path.rpartition("/")[2]

    @property
    def url(self) -> str:
        """`gs://bucket/full_path`, never percent-encoded."""
        return f"gs://{self.bucket}/{self.full_path}"

    def child(self: P, path: str) -> P:
        return self._at(f"{self.full_path}/{checked_text(path, 'The path of a child')}")

    def parent(self: P) -> P | None:
        """None at the root."""
        return self._at(self.full_path.rpartition("/")[0]) if self.full_path else None

    def root(self: P) -> P:
        return self._at("")

    def _at(self: P, full_path: str) -> P:
        return type(self)(self.bucket, full_path, None, self._storage)

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(method, {"reference": self._place, **params}, then)


class Waiting(TaskBase[S, R]):
    """How a task is started and awaited."""

    id: str | None
    """Unique across restarts of the service; None until the task has started."""
    _storage: Session
    _listening: asyncio.Future[Any] | None

    def __init__(self, storage: Session, id: str | None = None) -> None:
        super().__init__(storage, id)
        self._has_key = False
        self._kept = STATUSES
        self._started: asyncio.Future[str] = storage._promise()
        if id is not None:
            self._started.set_result(id)

    def _renew(self) -> None:
        super()._renew()
        self._listening = None

    async def started(self) -> str:
        """The id, once the service has created the task."""
        return await asyncio.shield(self._started)

    async def wait(self) -> R:
        """Returns the result of the task after all callbacks have run: the metadata of the object, or the last snapshot
        of a folder. Raises the error of the task."""
        self._storage._connection.guard.check()
        await self._listen()
        return self._outcome(await asyncio.shield(self._finished))

    def __await__(self) -> Generator[Any, None, R]:
        return result(self, self._ask_to_stop).__await__()

    async def _ask_to_stop(self) -> None:
        """Pauses a task with a key, which the same call resumes, and cancels any other."""
        await self._ask("pause" if self._has_key else "cancel", {}, bool)

    def _start(
        self, method: Method, params: Mapping[str, Any], callbacks: Mapping[Status, CallbackOf[S]]
    ) -> None:
        """Requests the task, and observes all its events."""
        self._has_key = "key" in params
        request = self._storage._connection.submit(method, {**params, "observe": True}, self._begun(callbacks))
        self._started = self._listening = request.answer
        self._started.add_done_callback(self._note_failure)
        self._storage._starts.add(self._started)
        self._started.add_done_callback(self._storage._starts.discard)

    def _follow(self, backlog: Backlog[S]) -> None:
        self._events.follow(backlog)

    async def _listen(self) -> None:
        """Observes a task that this session did not start."""
        self._storage._connection.guard.check()
        if self._listening is None:
            requests = (self._ask("observe", {"status": one}, self._observing(one, None)) for one in STATUSES)
            self._listening = asyncio.gather(*requests)
            self._listening.add_done_callback(self._note_failure)
        await asyncio.shield(self._listening)

    def _note_failure(self, future: asyncio.Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, Exception):
            self._events.lose(error)

    async def _ask(self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        then = self._understood(verb, then)
        return await self._storage._ask(self._method(verb), {"task": await self.started(), **params}, then)


READS = ("read", "__iter__", "__aiter__")
"""What a source has one of."""


class Source:
    """What bytes are read from."""


class Sink:
    """What bytes are written to. Awaiting it is awaiting the object, as with a task."""

    cancel: Callable[[], Awaitable[object]]

    async def wait(self) -> Metadata:
        raise NotImplementedError

    def __await__(self) -> Generator[Any, None, Metadata]:
        return result(self, self.cancel).__await__()


async def result(awaited: Any, stop: Callable[[], Awaitable[object]]) -> Any:
    """Waits for a task or a stream. Cancelling this stops it."""
    try:
        return await awaited.wait()
    except asyncio.CancelledError:
        await quietly(stop)
        raise


async def quietly(call: Callable[[], Awaitable[object]]) -> None:
    """Calls where an error was raised already."""
    with contextlib.suppress(Exception):
        await through(asyncio.wait_for(call(), PATIENCE))


async def begun(task: Waiting[Any, Any]) -> str:
    """The id of a task that may have been started just now."""
    return await task.started()


async def answered(answer: asyncio.Future[T]) -> T:
    """The result of a request that was sent before."""
    return await asyncio.shield(answer)


def forsake(session: Session, answers: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels requests whose answers nothing waits for."""
    for answer in answers:
        answer.cancel()


def feed(stream: Any, source: Any) -> None:
    """Reads the source into the stream in the background."""
    fed = stream.task._storage._fed
    fed[stream] = asyncio.create_task(stream._feed(source))
    fed[stream].add_done_callback(lambda _: fed.pop(stream, None))


def starve(stream: Any) -> None:
    """Reads no more of the source."""
    feeding = stream.task._storage._fed.get(stream)
    if feeding is not None:
        feeding.cancel()


async def chunks(source: Any, size: int) -> AsyncIterator[Any]:
    """The bytes of a source. A file of the system is read on another thread."""
    if not hasattr(source, "read"):
        if isinstance(source, AsyncIterable):
            async for chunk in source:
                size_of(chunk, source)
                yield chunk
            return
        for chunk in source:
            size_of(chunk, source)
            yield chunk
        return
    while (chunk := await read_from(source, size)) is None or size_of(chunk, source):
        if chunk is None:
            await asyncio.get_running_loop().run_in_executor(None, await_bytes, source)
        yield b"" if chunk is None else chunk
    check_end(source)


async def read_from(source: Any, size: int) -> Any:
    if inspect.iscoroutinefunction(source.read):
        return await source.read(size)
    chunk = await asyncio.get_running_loop().run_in_executor(None, source.read, size)
    return await chunk if inspect.isawaitable(chunk) else chunk


async def happened(event: asyncio.Event, timeout: float | None) -> bool:
    """Waits for the event. False after `timeout` seconds."""
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except asyncio.TimeoutError:
        return False
    return True
