"""What the tests of the asyncio client share."""

from __future__ import annotations

import asyncio
import os
import sys
import unittest
from typing import Any

from storage_rpc import AsyncSnapshot, AsyncStorage, AsyncUploadTask

from .support import HARNESS, HELLO, MIB, PATIENCE, StorageTestCase, is_there


class AsyncTestCase(StorageTestCase, unittest.IsolatedAsyncioTestCase):
    """Each test has an empty directory, and as many sessions as it opens."""

    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().slow_callback_duration = PATIENCE

    async def open(self, **options: Any) -> AsyncStorage:
        """One more session, by default with a service of its own that has a harness; closed when the test ends."""
        if "socket" not in options and "command" not in options:
            options = {"command": HARNESS, "root": self.directory / "root", **options}
        storage = await AsyncStorage(**options).open()
        self.addAsyncCleanup(storage.close, drain=False)
        return storage

    async def pretend(self, program: str, **options: Any) -> AsyncStorage:
        """A session with a service that greets, takes one request, then runs the given program."""
        return await self.open(command=[sys.executable, "-c", HELLO + program], **options)

    async def under_way(self, storage: AsyncStorage, path: str = "large", **options: Any) -> AsyncUploadTask:
        """An upload that is held after its first MiB until `harness.disarm()`, and all events so far were sent."""
        await storage.update_settings(upload_chunk_size_bytes=256 << 10)
        await hold_at(storage, MIB)
        task = storage.reference(path).put_file(self.large_file(), **options)
        await storage.harness.settled()
        return task


async def hold_at(storage: AsyncStorage, byte: int) -> None:
    """Each upload stops before that byte, however often it comes there, until `harness.disarm()`."""
    await storage.harness.arm("send", at=byte, times=None, rule="held", hold=True)


async def process_id(storage: AsyncStorage) -> int:
    return (await storage.status()).pid


async def reaped(process: int) -> None:
    """Returns when the process has ended, and this one has taken note of that; the loop may have to run for it."""
    while is_there(process):
        await asyncio.sleep(0.005)


async def none_but(tasks: set[asyncio.Task[Any]]) -> None:
    """Returns when no tasks run but these, and the caller."""
    while asyncio.all_tasks() - tasks - {asyncio.current_task()}:
        await asyncio.sleep(0.005)


async def within(awaited: Any) -> Any:
    return await asyncio.wait_for(awaited, PATIENCE)


class Ears:
    """A callback that keeps what it receives."""

    def __init__(self) -> None:
        self.snapshots: list[AsyncSnapshot] = []

    def __call__(self, snapshot: AsyncSnapshot) -> None:
        self.snapshots.append(snapshot)

    @property
    def statuses(self) -> list[str]:
        return [snapshot.status for snapshot in self.snapshots]
