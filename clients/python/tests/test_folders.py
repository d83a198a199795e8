from __future__ import annotations

from pathlib import Path

from storage_rpc import Cancelled, FolderSnapshot, FolderTask, InvalidArgument, ProgressBar, StorageError, Unauthorized

from .aio_support import AsyncTestCase, within
from .support import PATIENCE, StorageTestCase
from .test_progress import Terminal

FILES = {"a.jpg": b"a", "deep/b.jpg": b"bb", "deep/er/c.txt": b"ccc"}


def planted(directory: Path) -> Path:
    for name, content in FILES.items():
        path = directory / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory / "photos"


class FolderTests(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.photos = planted(self.directory)
        self.folder = self.storage.reference("photos")

    def names(self) -> list[str]:
        return [item.full_path[len("photos/") :] for item in self.folder.list_all(recursive=True).items]

    def test_a_directory_goes_up_and_comes_down(self) -> None:
        task = self.folder.put_directory(self.photos)
        last = task.wait(PATIENCE)
        self.assertEqual((last.task, last.kind, last.state, last.is_planned), (task, "put", "success", True))
        self.assertEqual((last.files.total, last.files.completed, last.progress.completed_unit_count), (3, 3, 6))
        self.assertEqual((last.reference, last.directory), (self.folder, str(self.photos)))
        self.assertEqual(self.names(), sorted(FILES))
        self.folder.write_to_directory(self.directory / "copy").wait(PATIENCE)
        for name, content in FILES.items():
            self.assertEqual((self.directory / "copy" / name).read_bytes(), content)
        self.assertEqual(self.folder.delete_all().wait(PATIENCE).files.deleted, 3)
        self.assertEqual(self.names(), [])

    def test_what_is_chosen(self) -> None:
        self.folder.put_directory(self.photos, include=["*.jpg"], exclude=("a.jpg",)).wait(PATIENCE)
        self.assertEqual(self.names(), ["deep/b.jpg"])
        last = self.folder.put_directory(self.photos, changed=True, metadata={"content_type": "a/b"}).wait(PATIENCE)
        self.assertEqual((last.files.completed, last.files.unchanged), (2, 1))
        self.assertEqual(self.folder.child("a.jpg").get_metadata().content_type, "a/b")
        (self.photos / "a.jpg").unlink()
        last = self.folder.put_directory(self.photos, delete=True, if_generation_match=0).wait(PATIENCE)
        self.assertEqual((last.files.unchanged, last.files.deleted), (2, 1))
        for wrong in ("*.jpg", b"*.jpg"):
            with self.assertRaises((TypeError, StorageError)):
                self.folder.put_directory(self.photos, include=wrong)  # type: ignore[arg-type]

    def test_a_plan_changes_nothing_and_lists_its_items(self) -> None:
        task = self.folder.put_directory(self.photos, dry_run=True)
        self.assertTrue(task.wait(PATIENCE).dry_run)
        items = list(task.items())
        self.assertEqual([(item.path, item.size) for item in items], [(name, len(FILES[name])) for name in sorted(FILES)])
        self.assertEqual({(item.action, item.state) for item in items}, {("put", "pending")})
        self.assertEqual(items[0].reference, self.folder.child("a.jpg"))
        self.assertEqual(list(task.items(states=["failed", "refused"])), [])
        self.assertEqual(self.names(), [])

    def test_deleting_a_whole_bucket_needs_everything(self) -> None:
        bucket = self.storage.reference()
        self.assertEqual(bucket.put_directory(self.photos).wait(PATIENCE).files.completed, 3)
        with self.assertRaises(InvalidArgument):
            bucket.delete_all()
        self.assertEqual(bucket.delete_all(everything=True).wait(PATIENCE).files.deleted, 3)

    def test_events_come_as_with_any_task(self) -> None:
        heard: list[FolderSnapshot] = []
        task = self.folder.put_directory(self.photos, on_progress=heard.append, observe={"success": heard.append})
        events = list(task)
        self.assertEqual(events[-1].status, "success")
        task.wait(PATIENCE)
        self.assertEqual({one.status for one in heard}, {"progress", "success"})
        self.assertEqual(heard[-1], task.snapshot())
        self.assertEqual(str(heard[-1]), "photos: success, 6 of 6 bytes (100 %), 3 of 3 files")
        deleted = self.folder.delete_all(exclude=["a.jpg"]).wait(PATIENCE)
        self.assertRegex(str(deleted), r"^photos: success, .*, 2 of 2 deleted$")

    def test_paused_resumed_and_cancelled(self) -> None:
        self.storage.harness.arm("whole", times=None, rule="held", hold=True)
        task = self.folder.put_directory(self.photos)
        self.storage.harness.settled()
        self.assertTrue(task.pause())
        self.assertEqual(task.snapshot().state, "paused")
        self.assertTrue(task.resume())
        self.assertTrue(task.cancel())
        with self.assertRaises(Cancelled):
            task.wait(PATIENCE)
        self.assertFalse(task.pause())
        self.assertTrue(task.forget())

    def test_a_failed_task_is_retried(self) -> None:
        self.storage.harness.arm("whole", reference="gs://*/photos/a.jpg", fail={"error": "unauthorized"})
        task = self.folder.put_directory(self.photos)
        with self.assertRaises(StorageError):
            task.wait(PATIENCE)
        (failure,) = task.snapshot().failures
        self.assertEqual((failure.path, failure.state), ("a.jpg", "failed"))
        self.assertIsInstance(failure.error, Unauthorized)
        self.assertEqual([item.path for item in task.items(states=["failed"])], ["a.jpg"])
        self.assertTrue(task.retry())
        self.assertEqual(task.wait(PATIENCE).files.completed, 3)
        self.assertEqual([one.status for one in task], ["success"])
        self.assertFalse(task.retry())

    def test_tasks_are_listed(self) -> None:
        tasks = [self.folder.put_directory(self.photos, dry_run=True) for _ in range(3)]
        for task in tasks:
            task.wait(PATIENCE)
        self.assertEqual([one.task for one in self.storage.folder_tasks()], tasks)
        self.assertEqual([len(page) for page in self.storage.folder_task_pages(2)], [2, 1])
        self.assertIs(self.storage.folder_task(tasks[0].id), tasks[0])

    def test_a_bar_counts_the_files(self) -> None:
        shown = Terminal()
        with ProgressBar(shown) as bar:
            self.folder.put_directory(self.photos, on_progress=bar).wait(PATIENCE)
        self.assertRegex(shown.getvalue(), r"\] 3 of 3 files  100%  6 bytes of 6 bytes.*\x1b\[K\n$")

    def test_paths_are_those_of_the_client(self) -> None:
        for directory in (str(self.photos), self.photos.as_uri()):
            task: FolderTask = self.folder.put_directory(directory, dry_run=True)
            self.assertEqual(task.wait(PATIENCE).directory, str(self.photos))
        with self.assertRaises(ValueError):
            self.folder.put_directory("")


class AsyncFolderTests(AsyncTestCase):
    async def test_tasks_are_awaited_and_iterated(self) -> None:
        storage = await self.open()
        photos = planted(self.directory)
        folder = storage.reference("photos")
        task = folder.put_directory(photos)
        self.assertEqual([snapshot.status async for snapshot in task][-1], "success")
        self.assertEqual((await within(task)).files.completed, 3)
        plan = folder.delete_all(dry_run=True)
        await within(plan)
        self.assertEqual([item.path async for item in plan.items()], sorted(FILES))
        self.assertEqual((await within(folder.write_to_directory(self.directory / "copy"))).files.completed, 3)
        self.assertEqual([one.kind for one in await storage.folder_tasks()], ["put", "delete", "write"])

    async def test_a_failed_task_is_retried(self) -> None:
        storage = await self.open()
        await storage.harness.arm("whole", reference="gs://*/photos/a.jpg", fail={"error": "unauthorized"})
        task = storage.reference("photos").put_directory(planted(self.directory))
        with self.assertRaises(StorageError):
            await within(task)
        self.assertTrue(await task.retry())
        self.assertEqual((await within(task)).files.completed, 3)
