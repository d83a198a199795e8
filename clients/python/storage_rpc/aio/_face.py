"""What references and tasks do with asyncio: a reference is made without a request, and a task starts later."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar, Union

from .._base import ReferenceBase
from .._core import PATIENCE
from .._events import STATUSES, Backlog
from .._methods import AsyncTaskMethods, Method, TaskVerb
from .._tasks import S, TaskBase, outcome
from .._types import Metadata, Status
from ..wire import segments
from ._session import Session

T = TypeVar("T")
R = TypeVar("R", bound="Place")
CallbackOf = Callable[[S], Union[Awaitable[object], object]]
"""Called with the snapshot of each event; if it returns an awaitable, the next callback waits for it."""


@dataclass(frozen=True)
class Place(ReferenceBase):
    """The fields of a reference, and those next to it. The path is checked when it is used."""

    bucket: str
    full_path: str
    object: str | None
    """The exact name of the object where `full_path` does not determine it, as in `folder/` or `a//b`."""
    _storage: Session[Any] = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        path = "/".join(segments(self.full_path if self.object is None else self.object))
        object.__setattr__(self, "full_path", path)
        if self.object == path != "":
            object.__setattr__(self, "object", None)

    @classmethod
    def _from_wire(cls: type[R], storage: Session[Any], message: Mapping[str, Any]) -> R:
        return cls(message["bucket"], message["fullPath"], message.get("object"), storage)

    @property
    def name(self) -> str:
        """The last part of the path; empty at the root."""
        return self.full_path.rpartition("/")[2]

    @property
    def url(self) -> str:
        """`gs://bucket/full_path`, never percent-encoded."""
        return f"gs://{self.bucket}/{self.full_path}"

    def child(self: R, path: str) -> R:
        return self._at(f"{self.full_path}/{path}")

    def parent(self: R) -> R | None:
        """None at the root."""
        return self._at(self.full_path.rpartition("/")[0]) if self.full_path else None

    def root(self: R) -> R:
        return self._at("")

    def _at(self: R, full_path: str) -> R:
        return type(self)(self.bucket, full_path, None, self._storage)

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(method, {"reference": self._place, **params}, then)


class Waiting(AsyncTaskMethods, TaskBase[S]):
    """How a task is started and awaited."""

    id: str | None
    """Unique across restarts of the service; None until the task has started."""
    _storage: Session[S]
    _listening: asyncio.Future[Any] | None

    def __init__(self, storage: Session[S], id: str | None = None) -> None:
        super().__init__(storage, id)
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

    async def wait(self) -> Metadata:
        """Returns the metadata of the object after all callbacks have run. Raises the error of the task."""
        self._storage._connection.guard.check()
        await self._listen()
        return outcome(await asyncio.shield(self._finished))

    def __await__(self) -> Generator[Any, None, Metadata]:
        return self._result().__await__()

    async def _result(self) -> Metadata:
        try:
            return await self.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.cancel(), PATIENCE)
            raise

    def _start(
        self, method: Method, params: Mapping[str, Any], callbacks: Mapping[Status, CallbackOf[S]]
    ) -> None:
        """Requests the task, and observes all its events."""
        request = self._storage._connection.submit(method, {**params, "observe": True}, self._begun(callbacks))
        self._started = self._listening = request.answer
        self._started.add_done_callback(self._note_failure)

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


async def happened(event: asyncio.Event, timeout: float | None) -> bool:
    """Waits for the event. False after `timeout` seconds."""
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except asyncio.TimeoutError:
        return False
    return True
