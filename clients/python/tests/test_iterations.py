from __future__ import annotations

import concurrent.futures
import os
import signal

from storage_rpc import Cancelled, InvalidArgument, ServiceGone, Snapshot, Unknown

from .support import MIB, PATIENCE, Heard, StorageTestCase, pid


class IterationTests(StorageTestCase):
    def test_iterating_brings_all_until_the_end(self) -> None:
        self.small_chunks()
        task = self.storage.reference("x").put_file(self.large_file())
        heard = list(task)
        self.assertEqual(heard[-1].status, "success")
        self.assertLessEqual({one.status for one in heard[:-1]}, {"resume", "progress"})
        counts = [one.progress.completed_unit_count for one in heard]
        self.assertEqual((counts, counts[-1]), (sorted(counts), 3 * MIB))
        self.assertIs(heard[-1].task, task)
        self.assertEqual([one.status for one in task], ["success"])
        self.assertEqual(task.wait(PATIENCE).size, 3 * MIB)

    def test_it_begins_with_what_is_now(self) -> None:
        task = self.running()
        self.assertTrue(task.pause())
        events = iter(task)
        self.assertEqual(next(events).status, "pause")
        self.hold_at(2 * MIB)
        task.resume()
        self.assertEqual(next(events).status, "resume")
        self.assertEqual(next(events).status, "progress")
        task.cancel()
        with self.assertRaises(Cancelled):
            for snapshot in events:
                last = snapshot
        self.assertEqual((last.status, last.state), ("failure", "cancelled"))
        with self.assertRaises(Cancelled):
            next(events)

    def test_leaving_early_stops_nothing(self) -> None:
        task = self.running()
        for _ in task:
            break
        self.assertEqual(task.snapshot().state, "running")
        self.assertTrue(task.cancel())

    def test_observers_come_and_go_beside_it(self) -> None:
        task = self.running()
        events = iter(task)
        self.assertTrue(task.remove_observer(task.observers["progress"]))
        heard = Heard()
        task.observe("pause", heard)
        task.pause()
        self.assertEqual([one.status for one in events_until("pause", events)][-1], "pause")
        self.assertEqual(heard.next().status, "pause")
        task.remove_all_observers()
        self.hold_at(2 * MIB)
        task.resume()
        self.assertEqual(len(list(events_until("progress", events))), 2)
        task.cancel()

    def test_a_task_that_another_session_has_begun(self) -> None:
        path = self.serve()
        self._storage = self.start(socket=path)
        task = self.running()
        theirs = self.start(socket=path).upload_task(task.id)
        events = iter(theirs)
        self.assertEqual(next(events).status, "resume")
        self.hold_at(2 * MIB)
        self.assertEqual(next(events).status, "progress")
        task.cancel()
        with self.assertRaises(Cancelled):
            list(events)
        with self.assertRaises(Cancelled):
            theirs.wait(PATIENCE)
        with self.assertRaises(InvalidArgument):
            iter(self.storage.upload_task("no such task"))

    def test_several_iterations_and_one_in_a_callback(self) -> None:
        task = self.running()
        inner: list[Snapshot] = []
        task.observe("pause", lambda snapshot: inner.extend([next(iter(snapshot.task))]))
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            all_of_them = [threads.submit(list, iter(task)) for _ in range(4)]
            task.pause()
            task.cancel()
            for one in all_of_them:
                with self.assertRaises(Cancelled):
                    one.result(PATIENCE)
        with self.assertRaises(Cancelled):
            task.wait(PATIENCE)
        self.assertEqual(len(inner), 1)

    def test_what_fails_and_a_service_that_is_killed(self) -> None:
        with self.assertRaises(Unknown):
            list(self.storage.reference("x").put_file("/no/such/file"))
        events = iter(self.running())
        os.kill(pid(self.storage), signal.SIGKILL)
        with self.assertRaises(ServiceGone):
            list(events)


def events_until(status: str, events: object) -> list[Snapshot]:
    """As far as the first one of that status."""
    heard: list[Snapshot] = []
    while not heard or heard[-1].status != status:
        heard.append(next(events))  # type: ignore[call-overload]
    return heard
