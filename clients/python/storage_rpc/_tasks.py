"""The tasks of a session, without IO: for threads and for asyncio."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any, Callable, ClassVar, Generic, TypeVar, cast

from ._changes import Feeds
from ._events import ENDS, Events, Observer, S
from ._methods import Method, TaskVerb
from ._streams import MOVING
from ._types import Status
from .errors import ServiceGone
from .wire import checked_text, decode

T = TypeVar("T")
R = TypeVar("R")


class TaskBase(Generic[S, R]):
    """A task of any kind, which has snapshots and a result."""

    kind: ClassVar[str]
    """`upload`, `download` or `folder`, as in the names of the service's methods."""
    id: Any
    observers: Mapping[Status, str]
    """The handles of the observers that the task was started with."""
    continued: bool
    """Whether the request has joined the unfinished task with its `key`, instead of starting another one."""
    _start: Any
    """Requests the task; with threads, it waits for the answer."""

    def __init__(self, storage: Any, id: str | None = None) -> None:
        self.id = id
        self.observers = {}
        self.continued = False
        self._storage = storage
        self._kept = ENDS
        self._renew()

    def _renew(self) -> None:
        """Waits for an end: of a new task, and of one that has failed and runs again."""
        self._end, self._done = self._storage._promise(), self._storage._promise()
        self._events: Events[S] = Events(self._end, self._done, self._storage._dispatcher.post)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def _finished(self) -> Any:
        """The promise of the last snapshot: for a callback the end itself, for others after the callbacks."""
        return self._end if self._storage._dispatcher.is_current else self._done

    def _method(self, verb: TaskVerb) -> Method:
        return cast("Method", f"{self.kind}Task/{verb}")

    def _begun(self, callbacks: Mapping[Status, Callable[[S], object]]) -> Callable[[Any], str]:
        """Converts the answer to the start into the id, and registers the observers before their first events."""

        def then(result: Any) -> str:
            handles: dict[Status, str] = result["observers"]
            self.id = id = str(result["task"])
            self.continued = bool(result.get("continued"))
            self.observers = {status: handle for status, handle in handles.items() if status in callbacks}
            own = {handle: Observer(status, callbacks.get(status)) for status, handle in handles.items()}
            self._storage._tasks.keep(self)
            self._storage._tasks.register(self, own, own=True)
            return id

        return then

    def _understood(self, verb: TaskVerb, then: Callable[[Any], T]) -> Callable[[Any], T]:
        """Converts an answer. That to `retry` may mean that a task that has ended here runs again."""

        def resumed(result: Any) -> T:
            if verb == "retry" and self._events.over and result["snapshot"]["state"] in ("queued", "running", "paused"):
                self._renew()
            self._storage._tasks.moved.add(self)
            return then(result)

        return resumed if verb in ("resume", "retry") else then

    def _outcome(self, snapshot: S) -> R:
        """The result of a task that has ended. Raises its error."""
        if snapshot.error:
            raise snapshot.error
        return self._result_of(snapshot)

    def _result_of(self, snapshot: S) -> R:
        raise NotImplementedError

    def _observing(self, status: Status, callback: Callable[[S], object] | None) -> Callable[[Any], str]:
        """Converts the answer to `observe` into the handle, and registers the observer before its first event."""

        def then(result: Any) -> str:
            handle = str(result["handle"])
            self._storage._tasks.register(self, {handle: Observer(status, callback)}, own=callback is None)
            return handle

        return then


def moves(snapshot: Any) -> bool:
    """Whether the task runs, or will, without bytes from this program."""
    return snapshot.state in MOVING and getattr(snapshot, "origin", None) != "stream"


K = TypeVar("K", bound=TaskBase[Any, Any])


class Tasks:
    """Maps ids to tasks. A task is one object while it is referenced or observed."""

    def __init__(self, storage: Any, kinds: Mapping[type[TaskBase[Any, Any]], type[Any]]) -> None:
        """`kinds` are the classes of tasks, and those of their snapshots."""
        self._storage, self._snapshots = storage, kinds
        self._kinds = {f"{kind.kind}Task/event": kind for kind in kinds}
        self._known: weakref.WeakValueDictionary[tuple[type[Any], str], Any] = weakref.WeakValueDictionary()
        self._observed: set[TaskBase[Any, Any]] = set()
        self.moved: set[Any] = set()
        """The tasks that this session has started, resumed or retried, until it receives their end."""
        self.feeds = Feeds()
        self._lock = threading.Lock()

    def get(self, kind: type[K], id: str) -> K:
        checked_text(id, "The id of a task")
        with self._lock:
            task = self._known.get((kind, id))
            if task is None:
                task = self._known[kind, id] = kind(self._storage, id)
            return cast("K", task)

    def keep(self, task: TaskBase[Any, Any]) -> None:
        with self._lock:
            self._known[type(task), task.id] = task
        self.moved.add(task)

    def snapshot(self, kind: type[TaskBase[S, Any]]) -> Callable[[Mapping[str, Any]], S]:
        """Converts a message into the snapshot of a task of that kind."""
        converters = {
            "TaskT": lambda id: self.get(kind, id),
            "ReferenceT": self._storage._to_reference,
            "tuple[ItemT, ...]": lambda all: tuple(map(self._storage._to_item, all)),
        }
        return decode(self._snapshots[kind], converters)

    def page(self, kind: type[TaskBase[S, Any]]) -> Callable[[Any], tuple[list[S], str | None]]:
        """Converts a page of a list of tasks into their snapshots and the token of the next page."""
        return lambda result: (list(map(self.snapshot(kind), result["tasks"])), result.get("pageToken"))

    def register(self, task: TaskBase[S, Any], observers: Mapping[str, Observer[S]], *, own: bool = False) -> None:
        task._events.add(observers, own=own)
        self._observed.add(task)

    def hear(self, event: str, params: Mapping[str, Any]) -> None:
        if event == "storage/changed":
            self.feeds.hear(params)
        kind = self._kinds.get(event)
        if kind is None:
            return
        snapshot = self.snapshot(kind)(params["snapshot"])
        snapshot.task._events.hear(params["handle"], snapshot)
        if snapshot.status in ENDS:
            self.moved.discard(snapshot.task)
        if not snapshot.task._events.observers:
            self._observed.discard(snapshot.task)

    def lose(self, gone: ServiceGone) -> None:
        self.feeds.lose(gone)
        for task in list(self._observed):
            task._events.lose(gone)
