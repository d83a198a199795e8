"""The asyncio task that callbacks run in."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Callable

log = logging.getLogger("storage_rpc")


class Dispatcher:
    """Runs callbacks one after the other, and awaits what they return: so they may call the service themselves.

    What a callback raises is logged, and ends nothing.
    """

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Callable[[], object] | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    @property
    def is_current(self) -> bool:
        """Whether the caller is itself a callback."""
        return asyncio.current_task() is self._task

    def post(self, job: Callable[[], object]) -> None:
        self._jobs.put_nowait(job)

    async def close(self) -> None:
        """Returns when all callbacks have run."""
        self._jobs.put_nowait(None)
        if not self.is_current:
            await self._task

    async def _run(self) -> None:
        while (job := await self._jobs.get()) is not None:
            try:
                result = job()
                if inspect.isawaitable(result):
                    await result
            except Exception:
                log.exception("A callback failed")
