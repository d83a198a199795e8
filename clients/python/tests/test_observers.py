from __future__ import annotations

import threading

from storage_rpc import Cancelled, InvalidArgument, RPCError, Snapshot
from storage_rpc.values import Status

from .support import MIB, PATIENCE, Heard, StorageTestCase


class ObserverTests(StorageTestCase):
    def test_all_of_a_life(self) -> None:
        heard = Heard()
        statuses: tuple[Status, ...] = ("resume", "progress", "pause", "success", "failure")
        task = self.storage.reference("x").put_data(b"x" * (MIB), observe=dict.fromkeys(statuses, heard))
        task.wait(PATIENCE)
        self.assertEqual(set(task.observers), set(statuses))
        self.assertEqual((heard.statuses[0], heard.statuses[-1]), ("resume", "success"))
        self.assertEqual(set(heard.statuses[1:-1]), {"progress"})
        self.assertEqual(heard.snapshots[-1].metadata, self.storage.reference("x").get_metadata())
        self.assertIs(heard.snapshots[-1].task, task)
        self.assertEqual(str(heard.snapshots[-1]), "x: success, 1048576 of 1048576 bytes (100 %)")

    def test_late_observers_of_the_current_status_are_called_immediately(self) -> None:
        task = self.running()
        task.pause()
        pause, success = Heard(), Heard()
        task.observe("pause", pause)
        task.observe("success", success)
        self.assertEqual(pause.next().state, "paused")
        task.cancel()
        failure = Heard()
        task.observe("failure", failure)
        self.assertEqual(failure.next().state, "cancelled")
        self.assertEqual(success.snapshots, [])

    def test_late_ones_have_run_when_wait_returns(self) -> None:
        task = self.running()
        task.pause()
        heard = [Heard() for _ in range(5)]
        for one in heard:
            task.observe("failure", one)
        task.cancel()
        with self.assertRaises(Cancelled):
            task.wait(PATIENCE)
        self.assertEqual([one.statuses for one in heard], [["failure"]] * 5)

    def test_removed_by_handle(self) -> None:
        success, failure, late = Heard(), Heard(), Heard()
        task = self.running(failure=failure, success=success)
        handle = task.observe("failure", late)
        self.assertTrue(task.remove_observer(handle))
        self.assertFalse(task.remove_observer(handle))
        self.assertTrue(task.remove_observer(task.observers["failure"]))
        self.assertFalse(task.remove_observer(task.observers["failure"]))
        self.assertFalse(task.remove_observer("nobody"))
        task.cancel()
        with self.assertRaises(Cancelled):
            task.wait(PATIENCE)
        self.assertEqual((success.snapshots, failure.snapshots, late.snapshots), ([], [], []))

    def test_removed_by_status_and_all(self) -> None:
        task = self.running(pause=(pause := Heard()), failure=(failure := Heard()))
        task.observe("pause", pause)
        self.assertEqual(task.remove_all_observers("pause"), 2)
        task.pause()
        self.assertEqual(pause.snapshots, [])
        self.assertEqual(task.remove_all_observers(), 2)
        self.assertEqual(task.remove_all_observers(), 0)
        task.cancel()
        with self.assertRaises(Cancelled):
            task.wait(PATIENCE)
        self.assertEqual(failure.snapshots, [])

    def test_what_cannot_be_observed(self) -> None:
        task = self.storage.reference("x").put_data(b"x")
        with self.assertRaises(RPCError):
            task.observe("end", Heard())  # type: ignore[arg-type]
        with self.assertRaises(InvalidArgument):
            self.storage.upload_task("nobody").observe("pause", Heard())

    def test_a_callback_calls_the_service(self) -> None:
        done: list[object] = []
        finished = threading.Event()

        def copy(snapshot: Snapshot) -> None:
            second = snapshot.reference.parent()
            assert second is not None
            done.append(second.child("second").put_data(b"22").wait(PATIENCE).size)
            done.append(snapshot.task.wait(PATIENCE).size)
            finished.set()

        self.storage.reference("a/first").put_data(b"1", observe={"success": copy})
        self.assertTrue(finished.wait(PATIENCE))
        self.assertEqual(done, [2, 1])

    def test_a_callback_that_raises(self) -> None:
        for error in (RuntimeError("the callback's own trouble"), SystemExit("the callback's own trouble")):

            def fail(snapshot: Snapshot, error: BaseException = error) -> None:
                raise error

            heard = Heard()
            with self.subTest(error=error), self.assertLogs("storage_rpc", "ERROR") as logs:
                self.storage.reference("x").put_data(b"x", on_progress=fail, observe={"success": heard}).wait(PATIENCE)
            self.assertIn("the callback's own trouble", logs.output[0])
            self.assertEqual(heard.statuses, ["success"])
        self.assertEqual(self.storage.call("service/ping"), "pong")

    def test_slow_callbacks_receive_the_newest_progress(self) -> None:
        self.small_chunks()
        block = threading.Event()
        progress, pause = Heard(), Heard()

        def slow(snapshot: Snapshot) -> None:
            block.wait(PATIENCE)
            progress(snapshot)

        task = self.storage.reference("x").put_file(
            self.large_file(size=8 * MIB), on_progress=slow, observe={"pause": pause}
        )
        self.storage.call("uploadTask/wait", task=task.id)
        block.set()
        task.wait(PATIENCE)
        self.assertLess(len(progress.snapshots), 10)
        self.assertEqual(progress.snapshots[-1].progress.fraction_completed, 1)
