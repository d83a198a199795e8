from __future__ import annotations

import asyncio
import threading

from storage_rpc import Change, ServiceGone
from storage_rpc._changes import MOST, ChangeBacklog, glob

from .aio_support import AsyncTestCase
from .support import PATIENCE, StorageTestCase


class ChangeTests(StorageTestCase):
    def test_changes_below_a_reference_arrive_in_order(self) -> None:
        folder = self.storage.reference("uploads")
        with folder.changes() as changes:
            stored = folder.child("a").put_data(b"1").wait()
            folder.child("a").update_metadata({"cache_control": "no-store"})
            self.storage.reference("uploads2").put_data(b"1").wait()
            folder.child("a").move(folder.child("b")).wait()
            heard = [next(changes) for _ in range(4)]
        kinds = [(one.change, one.reference.name) for one in heard]
        self.assertEqual(kinds, [("created", "a"), ("updated", "a"), ("created", "b"), ("deleted", "a")])
        self.assertEqual((heard[0].generation, heard[1].metageneration), (stored.generation, "2"))
        self.assertEqual(heard[0].reference, folder.child("a"))
        self.assertEqual(list(changes), [])

    def test_one_that_waits_is_woken_by_the_change_and_by_the_end(self) -> None:
        folder = self.storage.reference("uploads")
        with folder.changes() as changes:
            with self.assertRaises(TimeoutError):
                changes.next(0.01)
            threading.Timer(0.05, lambda: folder.child("a").put_data(b"1").wait()).start()
            change = changes.next(PATIENCE)
            assert change is not None
            self.assertEqual(change.change, "created")
            threading.Timer(0.05, changes.close).start()
            self.assertIsNone(changes.next(PATIENCE))

    def test_the_end_of_the_session_ends_an_iteration(self) -> None:
        changes = self.storage.reference().changes()
        with changes:
            self.storage.close()
            for _ in range(2):
                with self.assertRaises(ServiceGone):
                    changes.next(PATIENCE)

    def test_a_slow_reader_learns_that_it_has_missed_some(self) -> None:
        reference = self.storage.reference("x")
        missed = Change("missed", reference)
        backlog = ChangeBacklog(lambda: None, missed)
        for number in range(MOST + 1):
            backlog.push(Change("created", reference, str(number)))
        self.assertEqual(backlog.pop(), missed)
        self.assertIsNone(backlog.pop())

    def test_patterns(self) -> None:
        for pattern, path, fits in [
            ("uploads/**", "uploads/a/b.txt", True),
            ("uploads/*", "uploads/a/b.txt", False),
            ("uploads/*.txt", "uploads/a.txt", True),
            ("uploads/?.txt", "uploads/ab.txt", False),
            ("a.b", "axb", False),
            ("**", "a/b", True),
        ]:
            self.assertEqual(bool(glob(pattern).fullmatch(path)), fits, (pattern, path))


class AsyncChangeTests(AsyncTestCase):
    async def test_changes_are_iterated(self) -> None:
        storage = await self.open()
        folder = storage.reference("uploads")
        heard = []
        async with folder.changes() as changes:
            await folder.child("a").put_data(b"1")
            await folder.child("a").delete()
            async for change in changes:
                heard.append(change.change)
                if change.change == "deleted":
                    await changes.close()
        self.assertEqual(heard, ["created", "deleted"])

    async def test_waiting_for_an_object(self) -> None:
        storage = await self.open()
        waiting = asyncio.ensure_future(storage.harness.wait_for("uploads/**", within=PATIENCE))
        await asyncio.sleep(0.05)
        await storage.reference("other").put_data(b"1")
        await storage.reference("uploads/a/b").put_data(b"1")
        self.assertEqual((await waiting).full_path, "uploads/a/b")
        self.assertEqual((await storage.harness.wait_for("uploads/*/b")).name, "b")
        with self.assertRaises(TimeoutError):
            await storage.harness.wait_for("gs://elsewhere/**", within=0.01)
