from __future__ import annotations

import dataclasses
import urllib.error
import urllib.request

from storage_rpc import (
    Cancelled,
    DownloadSizeExceeded,
    DownloadTask,
    InvalidArgument,
    ObjectNotFound,
    Unknown,
)

from .support import MIB, PATIENCE, Heard, StorageTestCase


class DownloadTests(StorageTestCase):
    def test_a_download_returns_the_uploaded_bytes(self) -> None:
        reference = self.storage.reference("notes/today.txt")
        stored = reference.put_data("It rained.").wait()
        self.assertEqual(reference.get_data(10), b"It rained.")
        progress, success = Heard(), Heard()
        path = self.file("today.txt", b"before")
        task = reference.write_to_file(path, on_progress=progress, observe={"success": success})
        self.assertIsInstance(task, DownloadTask)
        self.assertEqual(task.wait(), stored)
        self.assertEqual(path.read_bytes(), b"It rained.")
        self.assertEqual([one.progress.completed_unit_count for one in progress.snapshots][-1], 10)
        self.assertEqual([one.metadata for one in success.snapshots], [stored])
        self.assertIs(success.snapshots[0].task, task)
        self.assertEqual(task.snapshot(), success.snapshots[0])
        self.assertEqual(repr(task), f"<DownloadTask {task.id}>")

    def test_too_much_data(self) -> None:
        reference = self.storage.reference("x")
        reference.put_data(b"x" * 11).wait()
        with self.assertRaises(DownloadSizeExceeded) as caught:
            reference.get_data(10)
        self.assertIn("11", caught.exception.message)
        self.assertIn("10", caught.exception.message)
        with self.assertRaises(InvalidArgument):
            reference.get_data(-1)
        reference.put_data(b"").wait()
        self.assertEqual(reference.get_data(0), b"")

    def test_failures(self) -> None:
        path = self.directory / "none"
        missing = self.storage.reference("none")
        failure = Heard()
        with self.assertRaises(ObjectNotFound):
            missing.write_to_file(path, observe={"failure": failure}).wait()
        self.assertEqual([one.state for one in failure.snapshots], ["failed"])
        self.assertFalse(path.exists())
        with self.assertRaises(ObjectNotFound):
            missing.get_data(1)
        self.storage.reference("there").put_data(b"x").wait()
        with self.assertRaises(Unknown) as caught:
            self.storage.reference("there").write_to_file(self.directory / "no" / "file").wait()
        self.assertIn(str(self.directory / "no"), caught.exception.message)
        with self.assertRaises(InvalidArgument):
            self.storage.reference().write_to_file(path)

    def test_a_download_url_needs_no_credentials(self) -> None:
        reference = self.storage.reference("notes/it rained?.txt")
        reference.put_data("It rained.").wait()
        url = reference.download_url()
        self.assertEqual(self.fetch(url), b"It rained.")
        self.assertEqual(reference.download_url(), url)
        self.assertEqual(self.storage.reference_for_url(url), reference)
        fresh = reference.revoke_download_url()
        self.assertEqual(self.fetch(fresh), b"It rained.")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.fetch(url)
        caught.exception.close()

    @staticmethod
    def fetch(url: str) -> bytes:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    def test_pause_resume_cancel(self) -> None:
        task = self.fetching()
        self.assertTrue(task.pause())
        self.assertEqual(task.snapshot().state, "paused")
        self.assertEqual(self.storage.download_tasks()[0].task, task)
        with self.assertRaises(TimeoutError):
            task.wait(0.01)
        self.storage.harness.disarm()
        self.assertTrue(task.resume())
        self.assertEqual(task.wait(PATIENCE).size, 3 * MIB)
        self.assertFalse(task.pause() or task.resume() or task.cancel())

    def test_cancel(self) -> None:
        task = self.fetching()
        self.assertTrue(task.cancel())
        with self.assertRaises(Cancelled) as caught:
            task.wait(PATIENCE)
        self.assertEqual(caught.exception.message, "User cancelled the download of gs://default-bucket/large.")
        self.assertFalse((self.directory / "copy").exists())

    def test_each_kind_has_its_own_tasks(self) -> None:
        upload = self.storage.reference("x").put_data(b"x")
        upload.wait()
        download = self.storage.reference("x").write_to_file(self.directory / "x")
        download.wait()
        self.assertEqual([one.task for one in self.storage.upload_tasks()], [upload])
        self.assertEqual([one.task for one in self.storage.download_tasks()], [download])
        self.assertIs(self.storage.download_task(download.id), download)
        with self.assertRaises(InvalidArgument) as caught:
            self.storage.download_task(upload.id).pause()
        self.assertIn("no download task", caught.exception.message)

    def fetching(self) -> DownloadTask:
        """A download that is held after its first MiB until `harness.disarm()`."""
        reference = self.storage.reference("large")
        reference.put_file(self.large_file()).wait(PATIENCE)
        self.storage.harness.arm("fetch", at=MIB, times=None, hold=True)
        task = reference.write_to_file(self.directory / "copy")
        self.storage.harness.settled()
        return task


class ListTests(StorageTestCase):
    def test_pages_and_all(self) -> None:
        names = ["a", "b/c", "b/d", "e"]
        for name in names:
            self.storage.reference(name).put_data(name).wait()
        root = self.storage.reference()
        everything = root.list_all()
        self.assertEqual([one.full_path for one in everything.prefixes], ["b"])
        self.assertEqual([one.full_path for one in everything.items], ["a", "e"])
        self.assertIsNone(everything.page_token)
        seen, page = [], root.list(max_results=1)
        while True:
            seen += [*page.prefixes, *page.items]
            if page.page_token is None:
                break
            page = root.list(1, page.page_token)
        self.assertEqual([one.full_path for one in seen], ["a", "b", "e"])
        self.assertEqual(seen[1].list().items[0].get_data(3), b"b/c")
        self.assertEqual(dataclasses.astuple(self.storage.reference("nothing").list()), ((), (), None, (), None))
        self.assertIs(self.storage.reference("x", bucket="nobodys").list().bucket_exists, False)
        whole = root.list(metadata=True)
        self.assertEqual(list(whole.metadata), [one.get_metadata() for one in whole.items])

    def test_what_cannot_be_listed(self) -> None:
        for count in (0, 1001):
            with self.assertRaises(InvalidArgument):
                self.storage.reference().list(count)
        with self.assertRaises(InvalidArgument):
            self.storage.reference().list(page_token="invented")

    def test_delete(self) -> None:
        reference = self.storage.reference("a")
        reference.put_data(b"x").wait()
        reference.delete()
        for call in (reference.delete, reference.get_metadata, reference.download_url, reference.revoke_download_url):
            with self.assertRaises(ObjectNotFound):
                call()
        self.assertEqual(self.storage.reference().list().items, ())
        with self.assertRaises(InvalidArgument):
            self.storage.reference().delete()
