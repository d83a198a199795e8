"""The thread that callbacks run on."""

from __future__ import annotations

import logging
import queue
import threading
from typing import Callable

log = logging.getLogger("storage_rpc")


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
