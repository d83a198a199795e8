from __future__ import annotations

import asyncio

from storage_rpc import (
    AsyncSnapshot,
    AsyncUploadTask,
    Cancelled,
    InvalidArgument,
    ObjectNotFound,
    RetryLimitExceeded,
    Unknown,
)

from .aio_support import AsyncTestCase, Ears, hold_at, within
from .support import MIB


async def all_of(task: AsyncUploadTask) -> list[AsyncSnapshot]:
    return [snapshot async for snapshot in task]


class TaskTests(AsyncTestCase):
    async def test_awaiting_brings_the_metadata(self) -> None:
        storage = await self.open()
        reference = storage.reference("notes/today.txt")
        stored = await reference.put_data("It rained.", metadata={"custom_metadata": {"a": "1"}})
        self.assertEqual((stored.size, stored.custom_metadata), (10, {"a": "1"}))
        self.assertEqual(await reference.get_metadata(), stored)
        self.assertEqual(await reference.get_data(10), b"It rained.")
        path = self.directory / "copy"
        self.assertEqual(await reference.write_to_file(path), stored)
        self.assertEqual(path.read_bytes(), b"It rained.")

    async def test_bytes_are_those_of_the_moment(self) -> None:
        storage = await self.open()
        data = bytearray(b"before")
        task = storage.reference("x").put_data(data)
        data[:] = b"behind"
        await task
        self.assertEqual(await storage.reference("x").get_data(6), b"before")

    async def test_iterating_brings_all_of_a_life(self) -> None:
        storage = await self.open()
        task = storage.reference("x").put_file(self.large_file(size=8 * MIB))
        self.assertIsNone(task.id)
        heard = [snapshot async for snapshot in task]
        self.assertEqual((heard[0].status, heard[-1].status), ("resume", "success"))
        self.assertEqual({one.status for one in heard[1:-1]}, {"progress"})
        counts = [one.progress.completed_unit_count for one in heard]
        self.assertEqual((counts, counts[-1]), (sorted(counts), 8 * MIB))
        self.assertIs(heard[-1].task, task)
        self.assertEqual(heard[-1].metadata, await task)
        self.assertEqual([one.status async for one in task], ["success"])
        self.assertEqual(repr(task), f"<AsyncUploadTask {await task.started()}>")

    async def test_iterating_raises_why_it_failed(self) -> None:
        storage = await self.open()
        statuses = []
        with self.assertRaises(Unknown) as caught:
            async for snapshot in storage.reference("x").put_file(self.directory / "none"):
                statuses.append(snapshot.status)
        self.assertIn(str(self.directory / "none"), caught.exception.message)
        self.assertEqual(statuses, ["resume", "failure"])

    async def test_one_that_cannot_start(self) -> None:
        storage = await self.open()
        task = storage.reference().put_data(b"root")
        for attempt in (task, task.wait(), task.started(), task.pause(), task.snapshot()):
            with self.assertRaises(InvalidArgument):
                await attempt
        with self.assertRaises(InvalidArgument):
            async for _ in task:
                self.fail("There is no event.")

    async def test_pause_resume_cancel(self) -> None:
        storage = await self.open()
        failure = Ears()
        task = await self.under_way(storage, observe={"failure": failure})
        self.assertTrue(await task.pause())
        self.assertFalse(await task.pause())
        self.assertEqual((await task.snapshot()).state, "paused")
        self.assertTrue(await task.resume())
        self.assertTrue(await task.cancel())
        with self.assertRaises(Cancelled):
            await task
        self.assertEqual([one.state for one in failure.snapshots], ["cancelled"])
        self.assertFalse(await task.cancel())
        self.assertTrue(await task.forget())
        self.assertEqual(await storage.upload_tasks(), [])

    async def test_a_failed_one_is_retried(self) -> None:
        storage = await self.open()
        await storage.update_settings(max_upload_retry_time=0, upload_chunk_size_bytes=256 << 10)
        await storage.harness.arm("send", nth=2, fail={"httpStatus": 503})
        task = storage.reference("r").put_file(self.large_file())
        with self.assertRaises(RetryLimitExceeded):
            await task
        await hold_at(storage, MIB)
        self.assertTrue(await task.retry())
        self.assertFalse(await task.retry())
        self.assertEqual((await task.snapshot()).state, "running")
        heard = asyncio.ensure_future(all_of(task))
        await storage.harness.settled()
        await storage.harness.disarm()
        self.assertEqual((await within(heard))[-1].status, "success")
        self.assertEqual((await task).size, 3 * MIB)
        self.assertFalse(await task.retry())

    async def test_tasks_come_in_pages(self) -> None:
        storage = await self.open()
        tasks = [storage.reference(name).put_data(name) for name in "abcde"]
        for task in tasks:
            await task
        pages = [[one.task for one in page] async for page in storage.upload_task_pages(2)]
        self.assertEqual([len(page) for page in pages], [2, 2, 1])
        self.assertEqual({one for page in pages for one in page}, set(tasks))
        self.assertEqual(len(await storage.upload_tasks()), 5)
        self.assertEqual([page async for page in storage.download_task_pages(2)], [[]])

    async def test_who_is_cancelled_cancels(self) -> None:
        storage = await self.open()
        task = await self.under_way(storage)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(task, 0.01)
        self.assertEqual((await task.snapshot()).state, "cancelled")
        with self.assertRaises(ObjectNotFound):
            await storage.reference("large").get_metadata()

    async def test_who_is_cancelled_pauses_a_task_with_a_key(self) -> None:
        storage = await self.open()
        path = self.large_file()
        await hold_at(storage, MIB)
        task = storage.reference("large").put_file(path, key="large")
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(task, 0.01)
        self.assertEqual((await task.snapshot()).state, "paused")
        await storage.harness.disarm()
        again = storage.reference("large").put_file(path, key="large")
        self.assertEqual((await within(again)).size, path.stat().st_size)
        self.assertTrue(again.continued)

    async def test_cancelled_before_it_has_begun(self) -> None:
        storage = await self.open()
        path = self.large_file()
        await hold_at(storage, MIB)

        async def upload() -> None:
            await storage.reference("x").put_file(path)

        waiting = asyncio.create_task(upload())
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertEqual([one.state for one in await storage.upload_tasks()], ["cancelled"])

    async def test_who_only_waits_cancels_nothing(self) -> None:
        storage = await self.open()
        task = await self.under_way(storage)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(task.wait(), 0.01)
        events = task.__aiter__()
        await hold_at(storage, 2 * MIB)
        await events.__anext__()
        del events
        self.assertEqual((await task.snapshot()).state, "running")
        await storage.harness.disarm()
        self.assertEqual((await within(task)).size, 3 * MIB)

    async def test_a_stalled_consumer_sees_the_newest(self) -> None:
        storage = await self.open()
        await storage.update_settings(upload_chunk_size_bytes=256 << 10)
        iterations = 0
        async for snapshot in (task := storage.reference("x").put_file(self.large_file(size=8 * MIB))):
            iterations += 1
            if iterations == 1:
                await storage.call("uploadTask/wait", task=await task.started())
        self.assertEqual(snapshot.status, "success")
        self.assertLessEqual(iterations, 4)

    async def test_another_session_observes_and_waits(self) -> None:
        path = self.serve()
        mine, theirs = await self.open(socket=path), await self.open(socket=path)
        task = await self.under_way(mine)
        copy = theirs.upload_task(await task.started())
        self.assertIsNot(copy, task)
        self.assertIs(theirs.upload_task(await task.started()), copy)
        waiting = asyncio.create_task(copy.wait())
        statuses = []
        async for snapshot in copy:
            statuses.append(snapshot.status)
            if statuses[-1] == "pause":
                await mine.harness.disarm()
                self.assertTrue(await copy.resume())
            elif len(statuses) == 1:
                self.assertTrue(await task.pause())
        self.assertIn("pause", statuses)
        self.assertEqual(statuses[-1], "success")
        self.assertEqual(await waiting, await task)

    async def test_an_unknown_task(self) -> None:
        storage = await self.open()
        nobody = storage.download_task("nobody")
        for attempt in (nobody.pause(), nobody.snapshot(), nobody.wait(), nobody.observe("pause", print)):
            with self.assertRaises(InvalidArgument):
                await attempt

    async def test_many_concurrent_tasks(self) -> None:
        storage = await self.open()
        contents = [b"%d" % number * number for number in range(300)]
        tasks = [storage.reference(f"many/{len(content)}").put_data(content) for content in contents]
        self.assertEqual([(await task).size for task in tasks], [len(content) for content in contents])


class ObserverTests(AsyncTestCase):
    async def test_callbacks_have_run_when_the_wait_ends(self) -> None:
        storage = await self.open()
        heard = Ears()

        async def slowly(snapshot: AsyncSnapshot) -> None:
            await storage.ping()
            heard(snapshot)

        task = storage.reference("x").put_data(b"x", on_progress=slowly, observe={"success": slowly, "pause": slowly})
        await task
        self.assertEqual(heard.statuses, ["progress", "success"])
        self.assertEqual(set(task.observers), {"progress", "success", "pause"})

    async def test_a_callback_may_wait_for_its_task(self) -> None:
        storage = await self.open()
        sizes = []

        async def measure(snapshot: AsyncSnapshot) -> None:
            sizes.append((await snapshot.task).size)
            sizes.append((await snapshot.reference.child("more").put_data(b"22")).size)

        await within(storage.reference("x").put_data(b"1", observe={"success": measure}))
        self.assertEqual(sizes, [1, 2])

    async def test_a_callback_that_raises(self) -> None:
        storage = await self.open()

        def fail(snapshot: AsyncSnapshot) -> None:
            raise RuntimeError("the callback's own trouble")

        async def fail_later(snapshot: AsyncSnapshot) -> None:
            fail(snapshot)

        for callback in (fail, fail_later):
            with self.assertLogs("storage_rpc", "ERROR") as logs:
                await storage.reference("x").put_data(b"x", on_progress=callback)
            self.assertIn("the callback's own trouble", logs.output[0])

    async def test_a_callback_that_is_cancelled(self) -> None:
        storage = await self.open()

        async def give_up(snapshot: AsyncSnapshot) -> None:
            raise asyncio.CancelledError

        success = Ears()
        await within(storage.reference("x").put_data(b"x", on_progress=give_up, observe={"success": success}))
        self.assertEqual(success.statuses, ["success"])

    async def test_slow_callbacks_receive_the_newest_progress(self) -> None:
        storage = await self.open()
        await storage.update_settings(upload_chunk_size_bytes=256 << 10)
        heard, may_go = Ears(), asyncio.Event()

        async def slow(snapshot: AsyncSnapshot) -> None:
            heard(snapshot)
            await may_go.wait()

        task = storage.reference("x").put_file(self.large_file(size=8 * MIB), on_progress=slow)
        await storage.call("uploadTask/wait", task=await task.started())
        may_go.set()
        await task
        self.assertLess(len(heard.snapshots), 10)
        self.assertEqual(heard.snapshots[-1].progress.fraction_completed, 1)

    async def test_they_come_and_go(self) -> None:
        storage = await self.open()
        failure, late = Ears(), Ears()
        task = await self.under_way(storage, observe={"failure": failure})
        handle = await task.observe("failure", late)
        self.assertTrue(await task.remove_observer(handle))
        self.assertFalse(await task.remove_observer(handle))
        self.assertTrue(await task.remove_observer(task.observers["failure"]))
        self.assertEqual(await task.remove_all_observers(), 0)
        pause = Ears()
        await task.observe("pause", pause)
        await task.pause()
        await task.observe("pause", pause)
        self.assertEqual(await task.remove_all_observers("pause"), 2)
        await task.cancel()
        with self.assertRaises(Cancelled):
            await task
        self.assertEqual((failure.statuses, late.statuses, pause.statuses), ([], [], ["pause", "pause"]))
