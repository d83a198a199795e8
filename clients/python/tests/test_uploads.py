from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import os
import threading

from storage_rpc import InvalidArgument, NonMatchingChecksum, ObjectNotFound, PreconditionFailed, RPCError, Unknown

from .support import MIB, PATIENCE, Heard, StorageTestCase


def md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content).digest()).decode()


class UploadTests(StorageTestCase):
    def test_from_memory(self) -> None:
        contents = [b"", b"x", "naïve ☃".encode(), os.urandom(64 << 10), os.urandom(5 * MIB + 1)]
        for content in contents:
            with self.subTest(size=len(content)):
                stored = self.storage.reference("a/memory").put_data(content).wait(PATIENCE)
                self.assertEqual((stored.size, stored.md5_hash), (len(content), md5(content)))
                self.assertEqual(stored, self.storage.reference("a/memory").get_metadata())

    def test_any_bytes_and_texts(self) -> None:
        for data in (bytearray(b"abc"), memoryview(b"abc"), "abc"):
            self.assertEqual(self.storage.reference("x").put_data(data).wait().md5_hash, md5(b"abc"))

    def test_from_a_file(self) -> None:
        for size in (0, 1, 256 << 10, 6 * MIB + 3):
            content = os.urandom(size)
            with self.subTest(size=size):
                heard = Heard()
                path = self.file("space.jpg", content)
                stored = self.storage.reference("images/s").put_file(path, on_progress=heard).wait(PATIENCE)
                self.assertEqual((stored.size, stored.md5_hash), (size, md5(content)))
                self.assertEqual(stored.content_type, "image/jpeg")
                self.assertEqual(heard.snapshots[-1].progress.completed_unit_count, size)
                self.assertEqual(heard.snapshots[-1].progress.fraction_completed, 1)

    def test_a_relative_path_and_odd_names(self) -> None:
        content = b"here"
        path = self.file("sp ace#☃%20.txt", content)
        relative = os.path.relpath(path)
        stored = self.storage.reference("odd/☃ %2F#").put_file(relative).wait()
        self.assertEqual((stored.size, stored.content_type, stored.name), (4, "text/plain", "☃ %2F#"))

    def test_metadata_goes_with_it(self) -> None:
        metadata = {"content_type": "image/x-own", "cache_control": "no-store", "custom_metadata": {"Some_Key": "1"}}
        stored = self.storage.reference("m").put_data(b"m", metadata=metadata).wait()
        self.assertEqual((stored.content_type, stored.cache_control), ("image/x-own", "no-store"))
        self.assertEqual(stored.custom_metadata, {"Some_Key": "1"})

    def test_md5_is_checked(self) -> None:
        reference = self.storage.reference("checked")
        self.assertEqual(reference.put_data(b"abc", metadata={"md5_hash": md5(b"abc")}).wait().size, 3)
        with self.assertRaises(NonMatchingChecksum) as caught:
            reference.put_data(b"abd", metadata={"md5_hash": md5(b"abc")}).wait()
        self.assertEqual((caught.exception.code, caught.exception.name), (-13031, "nonMatchingChecksum"))
        self.assertEqual(reference.get_metadata().md5_hash, md5(b"abc"))

    def test_nothing_is_replaced_unasked(self) -> None:
        reference = self.storage.reference("once")
        stored = reference.put_data(b"a", if_generation_match=0).wait()
        with self.assertRaises(PreconditionFailed) as caught:
            reference.put_data(b"b", if_generation_match=0).wait()
        self.assertEqual((caught.exception.code, caught.exception.data["generation"]), (-13412, stored.generation))
        reference.put_data(b"c", if_generation_match=stored.generation, if_metageneration_match=1).wait()
        with self.assertRaises(PreconditionFailed):
            reference.update_metadata({"content_type": "text/plain"}, if_generation_match=stored.generation)
        with self.assertRaises(PreconditionFailed):
            reference.delete(if_metageneration_match=2)
        reference.delete(if_metageneration_match=1)

    def test_a_missing_file_fails_the_task(self) -> None:
        path = self.directory / "no such file"
        failure = Heard()
        task = self.storage.reference("x").put_file(path, observe={"failure": failure})
        with self.assertRaises(Unknown) as caught:
            task.wait()
        self.assertIn(str(path), caught.exception.message)
        self.assertEqual(caught.exception.data["file"], str(path))
        self.assertEqual([one.state for one in failure.snapshots], ["failed"])
        error = task.snapshot().error
        assert error is not None
        self.assertEqual(error.message, caught.exception.message)

    def test_a_refused_upload_stores_nothing(self) -> None:
        with self.assertRaises(InvalidArgument):
            self.storage.reference().put_data(b"root")
        with self.assertRaises(RPCError) as caught:
            self.storage.reference("x").put_data(b"x", metadata={"no_such": "property"})
        self.assertIn("noSuch", caught.exception.message)
        with self.assertRaises(ObjectNotFound):
            self.storage.reference("x").get_metadata()

    def test_data_that_is_too_long_for_a_message(self) -> None:
        self.storage._connection.core.max_message_bytes = 1000
        with self.assertRaisesRegex(ValueError, "put_file"):
            self.storage.reference("x").put_data(b"x" * 1000)

    def test_a_name_that_is_no_utf_8(self) -> None:
        with self.assertRaisesRegex(UnicodeEncodeError, r"'/tmp/\\udcff' must be UTF-8"):
            self.storage.reference("x").put_file("/tmp/\udcff")
        self.assertEqual(self.storage.call("service/ping"), "pong")

    def test_no_object_is_found_before_its_upload_has_ended(self) -> None:
        task = self.running("photos/large")
        reference = self.storage.reference("photos/large")
        sentence = rf"does not exist. The upload of {reference.url} has not ended \(task {task.id}, 33 %\); wait for it first"
        for call in (reference.download_url, reference.get_metadata, reference.get_stream().read):
            with self.assertRaisesRegex(ObjectNotFound, sentence):
                call()
        task.cancel()
        with self.assertRaisesRegex(ObjectNotFound, "does not exist.$"):
            reference.download_url()
        (self.directory / "folder").mkdir()
        self.large_file("folder/large")
        folder = self.storage.reference("photos").put_directory(self.directory / "folder")
        self.storage.harness.settled()
        with self.assertRaisesRegex(ObjectNotFound, r"has not ended \(33 %\); wait for it first"):
            reference.download_url()
        folder.cancel()

    def test_eight_threads(self) -> None:
        storage = self.storage

        def upload(thread: int) -> list[tuple[str, int]]:
            stored = []
            for number in range(50):
                content = b"%d" % thread * number
                task = storage.reference(f"{thread}/{number}").put_data(content)
                stored.append((task.wait(PATIENCE).full_path, task.snapshot().progress.completed_unit_count))
            return stored

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            results = list(threads.map(upload, range(8)))
        self.assertEqual(results, [[(f"{t}/{n}", n) for n in range(50)] for t in range(8)])
        self.assertLess(threading.active_count(), 10)

    def test_waiting_long_after_the_end(self) -> None:
        tasks = [self.storage.reference(f"many/{number}").put_data(b"x") for number in range(1100)]
        self.assertEqual({task.wait(PATIENCE).size for task in tasks}, {1})
        self.assertEqual(tasks[0].snapshot().state, "success")
