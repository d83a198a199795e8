from __future__ import annotations

from storage_rpc import Cancelled, InvalidArgument, ObjectNotFound, RetryLimitExceeded, Snapshot

from .support import MIB, PATIENCE, Heard, StorageTestCase


class ControlTests(StorageTestCase):
    def test_pause_resume_and_the_end(self) -> None:
        self.small_chunks()
        self.hold_at(MIB)
        pauses: list[Snapshot] = []

        def pause_once(snapshot: Snapshot) -> None:
            if not pauses and snapshot.task.pause():
                pauses.append(snapshot.task.snapshot())

        progress, paused, resumed = Heard(), Heard(), Heard()
        task = self.storage.reference("p").put_file(
            self.large_file(), on_progress=pause_once, observe={"pause": paused, "resume": resumed}
        )
        self.assertEqual(paused.next().state, "paused")
        task.observe("progress", progress)
        snapshot = task.snapshot()
        self.assertEqual(snapshot.state, "paused")
        self.assertLess(0, snapshot.progress.completed_unit_count)
        self.assertLessEqual(snapshot.progress.completed_unit_count, MIB)
        self.assertFalse(task.pause())
        with self.assertRaises(TimeoutError):
            task.wait(0.01)
        self.storage.harness.disarm()
        self.assertTrue(task.resume())
        self.assertFalse(task.resume())
        self.assertEqual(task.wait(PATIENCE).size, 3 * MIB)
        self.assertEqual(resumed.statuses, ["resume", "resume"])
        counts = [one.progress.completed_unit_count for one in progress.snapshots]
        self.assertEqual(counts, sorted(counts))
        self.assertLess(snapshot.progress.completed_unit_count, counts[0])
        self.assertEqual(counts[-1], 3 * MIB)
        self.assertFalse(task.pause() or task.resume() or task.cancel())

    def test_cancel(self) -> None:
        failure = Heard()
        task = self.running("c", failure=failure)
        self.assertTrue(task.cancel())
        with self.assertRaises(Cancelled) as caught:
            task.wait(PATIENCE)
        self.assertEqual((caught.exception.code, caught.exception.name), (-13040, "cancelled"))
        self.assertEqual([one.state for one in failure.snapshots], ["cancelled"])
        self.assertFalse(task.cancel() or task.resume())
        with self.assertRaises(ObjectNotFound):
            self.storage.reference("c").get_metadata()

    def test_a_failed_one_is_retried(self) -> None:
        self.small_chunks()
        self.storage.update_settings(max_upload_retry_time=0)
        self.storage.harness.arm("send", nth=2, fail={"httpStatus": 503})
        failure, success = Heard(), Heard()
        task = self.storage.reference("r").put_file(self.large_file(), observe={"failure": failure, "success": success})
        with self.assertRaises(RetryLimitExceeded):
            task.wait(PATIENCE)
        self.assertEqual(task.snapshot().state, "failed")
        self.hold_at(MIB)
        self.assertTrue(task.retry())
        self.storage.harness.settled()
        self.assertEqual(task.snapshot().state, "running")
        self.assertFalse(task.retry())
        anew = Heard()
        task.observe("success", anew)
        self.storage.harness.disarm()
        self.assertEqual(task.wait(PATIENCE).size, 3 * MIB)
        self.assertEqual(anew.next().state, "success")
        self.assertEqual((len(failure.snapshots), success.snapshots), (1, []))
        self.assertFalse(task.retry())

    def test_a_retry_ends_the_wait_after_a_failure(self) -> None:
        self.storage.harness.clock(at="2026-01-01T00:00:00Z")
        self.storage.harness.arm("send", nth=1, fail={"httpStatus": 503})
        task = self.storage.reference("r").put_file(self.large_file())
        self.storage.harness.settled()
        self.assertEqual(task.snapshot().state, "running")
        self.assertIsNotNone(task.snapshot().retry)
        self.assertTrue(task.retry())
        self.assertEqual(task.wait(PATIENCE).size, 3 * MIB)

    def test_cancel_a_paused_one(self) -> None:
        task = self.running()
        self.assertTrue(task.pause())
        self.assertTrue(task.cancel())
        self.assertEqual(task.snapshot().state, "cancelled")

    def test_tasks_are_found_again(self) -> None:
        task = self.running()
        self.assertIn(task, [snapshot.task for snapshot in self.storage.upload_tasks()])
        self.assertIs(self.storage.upload_task(task.id), task)
        self.assertTrue(self.storage.upload_task(task.id).cancel())
        done = self.storage.reference("d").put_data(b"done")
        done.wait()
        self.assertEqual(
            {one.task.id: one.state for one in self.storage.upload_tasks()}, {task.id: "cancelled", done.id: "success"}
        )

    def test_an_ended_task_may_be_forgotten(self) -> None:
        task = self.running()
        self.assertFalse(task.forget())
        task.cancel()
        self.assertTrue(task.forget())
        self.assertEqual(self.storage.upload_tasks(), [])

    def test_tasks_come_in_pages(self) -> None:
        tasks = [self.storage.reference(name).put_data(name) for name in "abcde"]
        for task in tasks:
            task.wait()
        pages = [[one.task for one in page] for page in self.storage.upload_task_pages(2)]
        self.assertEqual(pages, [tasks[:2], tasks[2:4], tasks[4:]])
        self.assertEqual([one.task for one in self.storage.upload_tasks()], tasks)
        self.assertEqual(list(self.storage.download_task_pages(2)), [[]])
        with self.assertRaises(InvalidArgument):
            next(self.storage.upload_task_pages(0))

    def test_an_unknown_task(self) -> None:
        task = self.storage.upload_task("nobody")
        for call in (task.pause, task.resume, task.cancel, task.snapshot, task.wait):
            with self.assertRaises(InvalidArgument) as caught:
                call()
            self.assertIn("nobody", caught.exception.message)

    def test_another_session_waits_and_controls(self) -> None:
        path = self.serve()
        mine, theirs = self.start(socket=path), self.start(socket=path)
        self._storage = mine
        task = self.running()
        copy = theirs.upload_task(task.id)
        self.assertEqual(copy.snapshot().state, "running")
        with self.assertRaises(TimeoutError):
            copy.wait(0.01)
        failure = Heard()
        copy.observe("failure", failure)
        self.assertTrue(copy.cancel())
        self.assertEqual(failure.next().task.id, task.id)
        for one in (task, copy):
            with self.assertRaises(Cancelled):
                one.wait(PATIENCE)
