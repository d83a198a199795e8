"""The tasks of a session, and their events: for threads and for asyncio."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Awaitable, Mapping
from typing import Any, Callable, ClassVar, Generic, TypeVar, Union, cast

from ._events import Events, Observer
from ._methods import Method, TaskVerb
from ._types import SnapshotOf, Status, TokenKind
from .errors import RPCError, ServiceGone
from .wire import decode

FreshToken = Union[str, "tuple[str, float | None]", None]
"""A token, or a token and the seconds for which it is good; None for "no more"."""

RefreshToken = Callable[[TokenKind, str], FreshToken]
AsyncRefreshToken = Callable[[TokenKind, str], Union[Awaitable[FreshToken], FreshToken]]

S = TypeVar("S", bound=SnapshotOf[Any, Any])


class TaskBase(Generic[S]):
    """An upload or a download."""

    kind: ClassVar[str]
    """`upload` or `download`, as in the names of the service's methods."""
    id: Any
    observers: Mapping[Status, str]
    """The handles of the observers that the task was started with."""
    _events: Events[S]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def _method(self, verb: TaskVerb) -> Method:
        return cast("Method", f"{self.kind}Task/{verb}")


K = TypeVar("K", bound=TaskBase[Any])


class Tasks(Generic[S]):
    """Maps ids to tasks. A task is one object while it is referenced or observed."""

    def __init__(
        self,
        snapshot: type[S],
        kinds: tuple[type[TaskBase[S]], ...],
        make: Callable[[type[Any], str], Any],
        to_reference: Callable[[Any], object],
    ) -> None:
        self._snapshot, self._make, self._to_reference = snapshot, make, to_reference
        self._kinds = {f"{kind.kind}Task/event": kind for kind in kinds}
        self._known: weakref.WeakValueDictionary[tuple[type[Any], str], Any] = weakref.WeakValueDictionary()
        self._observed: set[TaskBase[S]] = set()
        self._lock = threading.Lock()

    def get(self, kind: type[K], id: str) -> K:
        with self._lock:
            task = self._known.get((kind, id))
            if task is None:
                task = self._known[kind, id] = self._make(kind, id)
            return cast("K", task)

    def keep(self, task: TaskBase[S], id: str) -> None:
        with self._lock:
            self._known[type(task), id] = task

    def snapshot(self, kind: type[TaskBase[S]], message: Mapping[str, Any]) -> S:
        converters = {"TaskT": lambda id: self.get(kind, id), "ReferenceT": self._to_reference}
        return decode(self._snapshot, converters)(message)

    def page(self, kind: type[TaskBase[S]]) -> Callable[[Any], tuple[list[S], str | None]]:
        """Converts a page of a list of tasks into their snapshots and the token of the next page."""
        return lambda result: ([self.snapshot(kind, task) for task in result["tasks"]], result.get("pageToken"))

    def begin(
        self, task: TaskBase[S], handles: Mapping[Status, str], callbacks: Mapping[Status, Callable[[S], object]]
    ) -> None:
        """Registers the observers that the service has added to a new task."""
        task.observers = {status: handle for status, handle in handles.items() if status in callbacks}
        own = {handle: Observer(status, callbacks.get(status)) for status, handle in handles.items()}
        self.register(task, own, own=True)

    def register(self, task: TaskBase[S], observers: Mapping[str, Observer[S]], *, own: bool = False) -> None:
        task._events.add(observers, own=own)
        self._observed.add(task)

    def hear(self, event: str, params: Mapping[str, Any]) -> None:
        kind = self._kinds.get(event)
        if kind is None:
            return
        snapshot = self.snapshot(kind, params["snapshot"])
        snapshot.task._events.hear(params["handle"], snapshot)
        if not snapshot.task._events.observers:
            self._observed.discard(snapshot.task)

    def lose(self, gone: ServiceGone) -> None:
        for task in list(self._observed):
            task._events.lose(gone)


def no_method(method: str) -> RPCError:
    return RPCError(f'There is no method "{method}".', -32601)


def fresh_to_wire(fresh: Any) -> Any:
    """The result of `auth/refreshToken`."""
    if not isinstance(fresh, tuple):
        return fresh
    token, expires_in = fresh
    return {"token": token, "expiresIn": expires_in}
