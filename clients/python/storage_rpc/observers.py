"""Callbacks, and the thread they run on."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from .values import Callback, Snapshot, Status

log = logging.getLogger("storage_rpc")


class Dispatcher:
    """Runs callbacks one after the other, apart from the reader: so they may call the service themselves.

    What a callback raises is logged, and ends nothing.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="storage-rpc callbacks", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller is itself a callback."""
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
            except BaseException:  # A callback's sys.exit() too: this thread is not its own to end.
                log.exception("A callback failed")


class Observer:
    """One callback of one task. While it is busy, progress that waits for it collapses to the newest."""

    def __init__(self, status: Status, callback: Callback | None) -> None:
        self.status = status
        self.callback = callback
        """None where the task itself observes, or when the observer was removed."""
        self._waiting: list[Snapshot] | None = None
        self._lock = threading.Lock()

    def hear(self, snapshot: Snapshot, dispatcher: Dispatcher) -> None:
        with self._lock:
            if self._waiting and snapshot.status == "progress":
                self._waiting[0] = snapshot
                return
            box = self._waiting = [snapshot]
        dispatcher.post(lambda: self._tell(box))

    def seal(self) -> None:
        """Another event follows: what comes after it must not take the place of what came before."""
        with self._lock:
            self._waiting = None

    def _tell(self, box: list[Snapshot]) -> None:
        with self._lock:
            if self._waiting is box:
                self._waiting = None
        if self.callback:
            self.callback(box[0])
