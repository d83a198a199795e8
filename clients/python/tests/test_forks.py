from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import traceback
from typing import Callable

from storage_rpc import AsyncStorage, ServiceGone

from .aio_support import AsyncTestCase, process_id, reaped, within
from .support import PATIENCE, StorageTestCase, pid


class Fork:
    """A process that runs an action, reports its result, and runs until it is left."""

    def __init__(self, action: Callable[[], object]) -> None:
        (self._told, tell), (stay, self._stay) = os.pipe(), os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(self._stay)
            try:
                action()
                os.write(tell, b"fine")
            except BaseException:
                os.write(tell, traceback.format_exc().encode())
            os.close(tell)
            os.read(stay, 1)
            os._exit(0)
        os.close(tell)
        os.close(stay)

    def __enter__(self) -> str:
        """Its report."""
        with open(self._told) as told:
            return told.read()

    def __exit__(self, *error: object) -> None:
        os.close(self._stay)
        os.waitpid(self.id, 0)


class ForkTests(StorageTestCase):
    def test_the_error_in_a_fork_says_that_it_needs_its_own_session(self) -> None:
        storage, task = self.storage, self.running()
        events = iter(task)

        def use_all() -> None:
            for use in (storage.ping, storage.reference, task.pause, task.wait, lambda: next(events), task.__iter__):
                with self.assertRaisesRegex(ServiceGone, f"belongs to process {os.getppid()}, which .* forked"):
                    use()
            with self.start(root=self.directory / "other") as own:
                self.assertEqual(own.ping(), "pong")

        with Fork(use_all) as outcome:
            self.assertEqual(outcome, "fine")
            self.assertEqual(storage.ping(), "pong")
        self.assertTrue(task.cancel())

    def test_a_fork_does_not_read_or_end_the_session(self) -> None:
        storage, task = self.storage, self.running()
        transport = storage._connection._transport

        def close() -> None:
            self.assertEqual(transport.read(), b"")
            transport.write(b"no message\n")
            with storage:
                pass
            with self.assertRaises(ZeroDivisionError), storage:
                raise ZeroDivisionError
            gc.collect()

        with Fork(close) as outcome:
            self.assertEqual(outcome, "fine")
        self.assertEqual(task.snapshot().state, "running")
        self.assertTrue(task.cancel())

    def test_a_fork_that_lives_on_holds_up_no_end(self) -> None:
        process = pid(self.storage)
        with Fork(gc.collect), concurrent.futures.ThreadPoolExecutor(1) as thread:
            thread.submit(self.storage.close).result(PATIENCE)
            self.assert_reaped(process)

    def test_sessions_on_a_socket(self) -> None:
        storage = self.start(socket=self.serve())

        def use() -> None:
            with self.assertRaises(ServiceGone):
                storage.ping()
            storage.close()

        with Fork(use) as outcome:
            self.assertEqual((outcome, storage.ping()), ("fine", "pong"))


class AsyncForkTests(AsyncTestCase):
    async def test_a_fork_neither_uses_nor_ends_the_session(self) -> None:
        for storage in (await self.open(), await self.open(socket=self.serve_in("other"))):
            task = await self.under_way(storage)

            async def use_all() -> None:
                for use in (storage.ping, task.pause, task.wait, task.__aiter__().__anext__):
                    with self.assertRaisesRegex(ServiceGone, "forked"):
                        await use()
                await storage.close(drain=False)
                async with AsyncStorage(root=self.directory / "third") as own:
                    self.assertEqual(await own.ping(), "pong")

            with Fork(lambda: asyncio.run(use_all())) as outcome:
                self.assertEqual((outcome, await storage.ping()), ("fine", "pong"))
            self.assertTrue(await task.cancel())

    async def test_a_fork_that_lives_on_holds_up_no_end(self) -> None:
        storage = await self.open()
        process = await process_id(storage)
        with Fork(gc.collect):
            await within(storage.close())
            await within(reaped(process))
