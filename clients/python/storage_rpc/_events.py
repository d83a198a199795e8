"""The events of a task and their observers, without IO: for threads and for asyncio."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, Callable, Generic, Protocol, TypeVar, get_args

from ._core import Promise
from ._types import Status
from .errors import StorageError


class Told(Protocol):
    """What the snapshots of all kinds of tasks have."""

    @property
    def task(self) -> Any: ...
    @property
    def status(self) -> Status: ...
    @property
    def error(self) -> StorageError | None: ...


S = TypeVar("S", bound=Told)
Post = Callable[[Callable[[], object]], object]
STATUSES: tuple[Status, ...] = get_args(Status)
ENDS: tuple[Status, ...] = ("success", "failure")


def known(status: Status | None) -> Status | None:
    """The status. Raises `ValueError` if there is no such status, whose events would never come."""
    if status is not None and status not in STATUSES:
        raise ValueError(f"There is no status {status!r}; there are {', '.join(STATUSES)}.")
    return status


def called(name: str, callback: Any) -> Any:
    """The callback. Raises `TypeError` for what cannot be called."""
    if not callable(callback):
        raise TypeError(f"{name} must be a function, not {type(callback).__name__}.")
    return callback


class Observer(Generic[S]):
    """One callback of one task. While it runs, only the newest pending progress event is kept."""

    def __init__(self, status: Status, callback: Callable[[S], object] | None) -> None:
        self.status = status
        self.callback = callback
        """None if only the task itself observes."""
        self._waiting: list[S] | None = None
        self._lock = threading.Lock()

    def hear(self, snapshot: S, post: Post) -> None:
        with self._lock:
            if self._waiting and snapshot.status == "progress":
                self._waiting[0] = snapshot
                return
            box = self._waiting = [snapshot]
        post(lambda: self._tell(box))

    def seal(self) -> None:
        """Keeps the pending event from being replaced, because another event follows it."""
        with self._lock:
            self._waiting = None

    def _tell(self, box: list[S]) -> object:
        with self._lock:
            if self._waiting is box:
                self._waiting = None
        return self.callback(box[0]) if self.callback else None


class Backlog(Generic[S]):
    """The pending events of an iteration; of successive progress events only the newest is kept."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self.wake = wake
        self._waiting: deque[S | Exception] = deque()
        self._lock = threading.Lock()

    def push(self, news: S | Exception) -> None:
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if last and not isinstance(last, Exception) and not isinstance(news, Exception):
                if last.status == news.status == "progress":
                    self._waiting.pop()
            self._waiting.append(news)
        self.wake()

    def pop(self) -> S | None:
        """The next event, or None if there is none yet. Raises the error that ended the session."""
        with self._lock:
            news = self._waiting.popleft() if self._waiting else None
        if isinstance(news, Exception):
            raise news
        return news


class Events(Generic[S]):
    """The observers of one task by their handles, until it ends. `own` holds those of the task itself."""

    def __init__(self, end: Promise[S], done: Promise[S], post: Post) -> None:
        """`end` resolves with the last snapshot, and `done` after the last callback; `post` queues jobs in order."""
        self.own: dict[str, Observer[S]] = {}
        self.observers: dict[str, Observer[S]] = {}
        self.over: S | Exception | None = None
        self._end, self._done, self._post = end, done, post
        self._backlogs: weakref.WeakSet[Backlog[S]] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, observers: Mapping[str, Observer[S]], *, own: bool = False) -> None:
        """Adds observers. After the end of the task, adds only those of its final status."""
        with self._lock:
            if own:
                self.own.update(observers)
            ended = None if self.over is None or isinstance(self.over, Exception) else self.over.status
            self.observers.update((key, one) for key, one in observers.items() if ended in (None, one.status))

    def silence(self, handle: str, keep: tuple[Status, ...]) -> bool | None:
        """Stops calls of the callback. False if there is none; None if the task itself still needs the observer."""
        with self._lock:
            observer = self.observers.get(handle)
            if observer is None or observer.callback is None:
                return False
            observer.callback = None
            if handle in self.own and observer.status in keep:
                return None
            del self.observers[handle]
        return True

    def follow(self, backlog: Backlog[S]) -> None:
        """Passes the events of the task's own observers to the backlog; after the end, the last one."""
        with self._lock:
            if self.over:
                backlog.push(self.over)
            else:
                self._backlogs.add(backlog)

    def handles(self, status: Status | None) -> list[str]:
        known(status)
        with self._lock:
            return [handle for handle, one in self.observers.items() if status in (None, one.status)]

    def hear(self, handle: str, snapshot: S) -> None:
        is_end = snapshot.status in ENDS
        with self._lock:
            observer = self.observers.get(handle)
            if snapshot.status != "progress":
                for other in self.observers.values():
                    other.seal()
            if is_end:
                self.observers = {
                    key: one for key, one in self.observers.items() if one.status == snapshot.status and key != handle
                }
        if observer:
            observer.hear(snapshot, self._post)
        if handle in self.own or is_end:
            if self._pass_on(snapshot, is_end):
                settle(self._end, snapshot)
        self.note()

    def lose(self, error: Exception) -> None:
        """Ends the task with the error that ended the session."""
        self.observers = {}
        if self._pass_on(error, True):
            settle(self._end, error)
            settle(self._done, error)

    def _pass_on(self, news: S | Exception, is_end: bool) -> bool:
        """Passes an event to the backlogs; returns whether it is the first final one."""
        with self._lock:
            if self.over:
                return False
            for backlog in self._backlogs:
                backlog.push(news)
            if is_end:
                self.over = news
        return is_end

    def note(self) -> None:
        """Resolves `done` behind the last callback, once no observer expects another event."""
        over = self.over
        if over and not self.observers:
            self._post(lambda: settle(self._done, over))


def settle(promise: Promise[S], news: S | Exception) -> None:
    if promise.done():
        return
    if isinstance(news, Exception):
        promise.set_exception(news)
    else:
        promise.set_result(news)
