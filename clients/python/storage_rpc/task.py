"""An upload or a download, from its start to its end."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from . import wire
from .errors import ServiceGone, error_from_wire
from .observers import Observer
from .reference import Reference
from .values import Metadata, Snapshot

if TYPE_CHECKING:
    from .storage import Storage
    from .values import Callback, Status


class Task:
    """What uploads and downloads have in common. All calls may come from any thread, and from callbacks."""

    kind: ClassVar[str]
    """As in the names of the service's methods: `upload` or `download`."""

    def __init__(self, storage: Storage, id: str) -> None:
        self.id = id
        """Unique across restarts of the service."""
        self.observers: Mapping[Status, str] = {}
        """The handles of those that the task was started with."""
        self._storage = storage
        self._observers: dict[str, Observer] = {}
        self._lock = threading.Lock()
        self._end: concurrent.futures.Future[Snapshot] = concurrent.futures.Future()
        self._callbacks_ran = threading.Event()
        self._hears_its_end = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def pause(self) -> bool:
        """Returns once nothing moves any more. False where the state does not allow it."""
        return bool(self._call("pause")["accepted"])

    def resume(self) -> bool:
        """Goes on from where it was. False where the state does not allow it."""
        return bool(self._call("resume")["accepted"])

    def cancel(self) -> bool:
        """Returns once the task has ended. False where it had before, or was completed in that moment."""
        return bool(self._call("cancel")["accepted"])

    def snapshot(self) -> Snapshot:
        if self._end.done():
            return self._end.result()
        return snapshot_from_wire(self._storage, type(self), self._call("snapshot"))

    def wait(self, timeout: float | None = None) -> Metadata:
        """The metadata of the object, when the callbacks have run as well. Raises why the task failed.

        Raises `TimeoutError` after so many seconds; the task goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._hears_its_end:
            # Without a timeout of its own it waits: the session's is for calls that answer at once.
            return self._storage._connection.call(
                f"{self.kind}Task/wait",
                {"task": self.id},
                lambda result: wire.metadata_from_wire(result["metadata"]),
                timeout,
            )
        try:
            snapshot = self._end.result(timeout)
        except concurrent.futures.TimeoutError:
            raise TimeoutError(f"The {self.kind} has not ended within {timeout} seconds.") from None
        if not self._storage._dispatcher.is_current:
            self._callbacks_ran.wait(None if deadline is None else max(0, deadline - time.monotonic()))
        if snapshot.error:
            raise snapshot.error
        return snapshot.metadata

    # Observers

    def observe(self, status: Status, callback: Callback) -> str:
        """The handle of the observer, who hears at once if the status fits the task's state now.

        >>> task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """

        def then(result: Any) -> str:
            self._storage._register(self, {result["handle"]: Observer(status, callback)})
            return str(result["handle"])

        return self._storage._call(f"{self.kind}Task/observe", {"task": self.id, "status": status}, then)

    def remove_observer(self, handle: str) -> bool:
        """From here on its callback is not called. False where there is no such observer any more."""
        with self._lock:
            observer = self._observers.get(handle)
            if observer is None or observer.callback is None:
                return False
            observer.callback = None
            if handle in self.observers.values() and observer.status in ("success", "failure"):
                return True  # The task itself goes on listening there.
            del self._observers[handle]
        self._storage._call(f"{self.kind}Task/removeObserver", {"handle": handle}, lambda result: result)
        self._note_callbacks()
        return True

    def remove_all_observers(self, status: Status | None = None) -> int:
        """How many were removed: all of this session, or those of one status."""
        with self._lock:
            handles = [handle for handle, one in self._observers.items() if status in (None, one.status)]
        return sum(self.remove_observer(handle) for handle in handles)

    def _call(self, method: str) -> Any:
        return self._storage._call(f"{self.kind}Task/{method}", {"task": self.id}, lambda result: result)

    # On the reader's thread

    def _add(self, observers: Mapping[str, Observer]) -> None:
        ended = self._end.result().status if self._end.done() else None
        with self._lock:
            self._observers.update((handle, one) for handle, one in observers.items() if ended in (None, one.status))

    def _hear(self, handle: str, snapshot: Snapshot) -> None:
        is_end = snapshot.status in ("success", "failure")
        with self._lock:
            observer = self._observers.get(handle)
            if snapshot.status != "progress":
                for other in self._observers.values():
                    other.seal()
            if is_end:
                self._observers = {
                    key: one for key, one in self._observers.items() if one.status == snapshot.status and key != handle
                }
        if observer:
            observer.hear(snapshot, self._storage._dispatcher)
        if is_end and not self._end.done():
            self._end.set_result(snapshot)
        self._note_callbacks()

    def _lose(self, gone: ServiceGone) -> None:
        with self._lock:
            self._observers = {}
        if not self._end.done():
            self._end.set_exception(gone)
        self._note_callbacks()

    def _note_callbacks(self) -> None:
        if self._end.done() and not self._observers:
            self._storage._dispatcher.post(self._callbacks_ran.set)


class UploadTask(Task):
    """An upload that the service knows.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", on_progress=print)
    >>> task.pause(), task.resume()
    (True, True)
    >>> task.wait().md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"


class DownloadTask(Task):
    """A download to a file that the service knows; its snapshots have metadata when the file is there.

    >>> storage.reference("films/long.mp4").write_to_file("long.mp4", on_progress=print).wait().size
    1073741824
    """

    kind = "download"


def snapshot_from_wire(storage: Storage, kind: type[Task], message: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        task=storage._task(kind, message["task"]),
        status=message["status"],
        state=message["state"],
        progress=wire.progress_from_wire(message["progress"]),
        reference=Reference.from_wire(storage, message["reference"]),
        metadata=wire.metadata_from_wire(message.get("metadata", {})),
        error=error_from_wire(message["error"]) if "error" in message else None,
    )
