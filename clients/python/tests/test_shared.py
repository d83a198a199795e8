from __future__ import annotations

import asyncio
import concurrent.futures
import os
import unittest.mock
from typing import Any

from storage_rpc import AsyncStorage, ServiceGone, Storage
from storage_rpc._program import command_line

from .aio_support import AsyncTestCase, process_id, within
from .support import PATIENCE, StorageTestCase, pid

LINGER = ["--idle-timeout", "10"]  # Where a test fails before it ends the service.


def shared(test: StorageTestCase) -> dict[str, Any]:
    command = [os.environ["STORAGE_RPC"], *LINGER]
    return {"command": command, "root": test.directory / "root", "shared": True}


class SharedTests(StorageTestCase):
    def share(self) -> Storage:
        storage = Storage(timeout=PATIENCE, **shared(self))
        self.addCleanup(storage.close, drain=False)
        return storage

    def test_all_sessions_on_a_root_have_one_service(self) -> None:
        one, other = self.share(), self.share()
        self.assertEqual(pid(one), pid(other))
        one.reference("x").put_data(b"shared").wait(PATIENCE)
        self.assertEqual(other.reference("x").get_data(6), b"shared")
        with self.assertLogs("storage_rpc"), self.assertRaisesRegex(ServiceGone, "in use"):
            self.start()
        other.stop()

    def test_tasks_outlive_their_session(self) -> None:
        self.serve()
        for drain in (True, False):
            self._storage = self.share()
            service, task = pid(self.storage), self.running()
            self.storage.close(drain=drain)
            with self.assertRaisesRegex(ServiceGone, "closed"):
                task.wait(PATIENCE)
            with self.share() as other:
                self.assertEqual(pid(other), service)
                self.assertTrue(other.upload_task(task.id).cancel())

    def test_closing_ends_a_wait_for_a_paused_task(self) -> None:
        self.serve()
        task = self.share().reference("x").put_stream().task
        task.pause()
        other = self.share()
        waiting = concurrent.futures.ThreadPoolExecutor().submit(other.upload_task(task.id).wait)
        while other.status().requests["waiting"] == 0:
            pass
        with unittest.mock.patch("storage_rpc.transport.PATIENCE", 0.05):
            other.close()
        with self.assertRaises(ServiceGone):
            waiting.result(PATIENCE)

    def test_one_that_listens_on_a_socket_is_found(self) -> None:
        listening = self.start(socket=self.serve())
        self.assertEqual(pid(self.share()), pid(listening))

    def test_the_command_line(self) -> None:
        self.assertEqual(command_line(["program", "--bucket", "b"], "/r", True)[1:2], ["connect"])
        replaced = command_line(["program", "serve", "--bucket", "b"], "/r", True)
        self.assertEqual(replaced, ["program", "connect", "--bucket", "b", "--root", "/r"])
        self.assertEqual(command_line(["program"], None, False), ["program"])
        with self.assertRaises(ValueError):
            Storage(socket="/a", shared=True)
        with self.assertRaises(ValueError):
            AsyncStorage(socket="/a", shared=True)


class AsyncSharedTests(AsyncTestCase):
    async def test_all_sessions_on_a_root_have_one_service(self) -> None:
        one, other = await asyncio.gather(*(self.open(**shared(self)) for _ in range(2)))
        self.assertEqual(await process_id(one), await process_id(other))
        await other.stop()

    async def test_closing_ends_a_wait_for_a_paused_task(self) -> None:
        self.serve()
        async with AsyncStorage(**shared(self)) as storage:
            paused = storage.reference("x").put_stream().task
            await paused.pause()
            async with AsyncStorage(**shared(self)) as other:
                waiting = asyncio.create_task(other.call("uploadTask/wait", task=paused.id))
                while (await other.status()).requests["waiting"] == 0:
                    pass
                with unittest.mock.patch("storage_rpc.aio.transport.PATIENCE", 0.05):
                    await within(other.close())
                with self.assertRaises(ServiceGone):
                    await within(waiting)

    async def test_tasks_outlive_their_session(self) -> None:
        self.serve()
        one, other = await self.open(**shared(self)), await self.open(**shared(self))
        task = await self.under_way(one)
        id = await task.started()
        await one.close()
        with self.assertRaisesRegex(ServiceGone, "closed"):
            await within(task)
        self.assertTrue(await other.upload_task(id).cancel())
