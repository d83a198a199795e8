"""The asyncio task that callbacks run in."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from typing import Callable

log = logging.getLogger("storage_rpc")
_current: contextvars.ContextVar[object] = contextvars.ContextVar("storage_rpc dispatcher", default=None)


class Dispatcher:
    """Runs callbacks one at a time, and awaits their results: so they may call the service.

    An exception of a callback is logged; the session continues.
    """

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Callable[[], object] | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    @property
    def is_current(self) -> bool:
        """Whether the caller is a callback, or was started by one."""
        return _current.get() is self

    def post(self, job: Callable[[], object]) -> None:
        self._jobs.put_nowait(job)

    async def close(self) -> None:
        """Returns when all callbacks have run."""
        self._jobs.put_nowait(None)
        if not self.is_current:
            await self._task

    async def _run(self) -> None:
        _current.set(self)
        while (job := await self._jobs.get()) is not None:
            try:
                result = job()
            except Exception:
                log.exception("A callback failed")
                continue
            if inspect.isawaitable(result):
                callback = asyncio.ensure_future(result)
                await asyncio.wait({callback})  # A cancelled callback does not cancel this task.
                if not callback.cancelled() and callback.exception():
                    log.error("A callback failed", exc_info=callback.exception())
