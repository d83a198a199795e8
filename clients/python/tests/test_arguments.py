"""What is given to the client, and what it refuses."""

from __future__ import annotations

import array
import asyncio
import errno
import os
import pickle
import unittest
from pathlib import Path
from typing import Any, Callable

from storage_rpc import AsyncStorage, AsyncUploadTask, Storage, StorageError, Unknown
from storage_rpc._files import local_path

from .aio_support import AsyncTestCase, within
from .support import StorageTestCase

NOT_BYTES: list[Any] = [5000, None, True, [1, 2], 1.5, Path("x"), {"a": 1}, object()]


class DataTests(StorageTestCase):
    def test_only_bytes_and_texts_are_put(self) -> None:
        reference = self.storage.reference("x")
        for data in NOT_BYTES:
            with self.subTest(data=data), self.assertRaisesRegex(TypeError, f"not {type(data).__name__}"):
                reference.put_data(data)
        self.assertEqual(self.storage.upload_tasks(), [])
        bytes_like: list[Any] = [array.array("B", b"abc"), memoryview(b"aabbcc")[::2]]
        for data in bytes_like:
            reference.put_data(data).wait()
            self.assertEqual(reference.get_data(3), b"abc")

    def test_only_bytes_texts_and_paths_are_seeded(self) -> None:
        for content in (5000, None, [1]):
            with self.assertRaises(TypeError):
                self.storage.harness.seed({"gs://b/a": content})  # type: ignore[dict-item]
        seeded: dict[Any, Any] = {"gs://b/a": bytearray(b"a"), "gs://b/b": memoryview(b"b"), "gs://b/c": self.file("c", b"c")}
        self.assertEqual(self.storage.harness.seed(seeded), {"objects": 3, "bytes": 3})

    def test_a_callback_must_be_callable(self) -> None:
        reference = self.storage.reference("x")
        wrong: list[Any] = [5, 0, "print", []]
        for value in wrong:
            with self.assertRaisesRegex(TypeError, f"^on_progress must be a function, not {type(value).__name__}"):
                reference.put_data(b"x", on_progress=value)
            with self.assertRaisesRegex(TypeError, "^observe\\['success'\\] must be a function"):
                reference.put_data(b"x", observe={"success": value})
            with self.assertRaisesRegex(TypeError, "^on_refresh_token must be a function"):
                Storage(on_refresh_token=value)
        with self.assertRaisesRegex(ValueError, "^on_progress and observe"):
            reference.put_data(b"x", on_progress=print, observe={"progress": print})
        self.assertEqual(self.storage.upload_tasks(), [])
        task = reference.put_data(b"x")
        with self.assertRaisesRegex(TypeError, "^callback must be a function, not int"):
            task.observe("progress", wrong[0])
        task.wait()

    def test_an_observer_of_no_status_is_refused(self) -> None:
        observe: Any = {"sucess": print}
        with self.assertRaisesRegex(ValueError, "There is no status 'sucess'; there are resume, "):
            self.storage.reference("x").put_data(b"x", observe=observe)
        task = self.storage.upload_task("x")
        with self.assertRaisesRegex(ValueError, "There is no status 'end'"):
            task.remove_all_observers("end")  # type: ignore[arg-type]


class PathTests(unittest.TestCase):
    def test_a_file_url_is_a_path(self) -> None:
        here = os.getcwd()
        paths = {
            "file:///a/b%20c%23%3F%25.txt": "/a/b c#?%.txt",
            "file://localhost/a": "/a",
            "FILE://LocalHost/a": "/a",
            "file:/a": "/a",
            "file:///%C3%A4": "/ä",
            "a:/b": f"{here}/a:/b",
            "file:a": f"{here}/file:a",
            "a/b": f"{here}/a/b",
        }
        for given, path in paths.items():
            self.assertEqual(local_path(given), path)
        odd = Path("/a/ä%20#?\\\n b")
        self.assertEqual((local_path(odd), local_path(odd.as_uri())), (str(odd), str(odd)))

    def test_any_other_url_is_no_file(self) -> None:
        refused = {
            "": "empty",
            "file://host/a": "The host host of a file URL is not this machine",
            "file://": "absolute path",
            "file://localhost": "absolute path",
            "file:///a?b": "%3F",
            "file:///a#b": "%23",
            "file:///a%2Fb": "%2F",
            "file:///a%00": "%00",
            "file:///%ff": "UTF-8",
            "file:///%": "UTF-8",
            "gs://b/a": "^A URL of the scheme gs is no local file.$",
            "https://h/v0/b/b/o/a?token=SECRET": "^A URL of the scheme https is no local file.$",
        }
        for given, message in refused.items():
            with self.subTest(given=given), self.assertRaisesRegex(ValueError, message):
                local_path(given)
        with self.assertRaises(TypeError):
            local_path(5)  # type: ignore[arg-type]


class FileTests(StorageTestCase):
    def test_a_local_file_that_is_missing_is_an_error_of_files_too(self) -> None:
        reference, none = self.storage.reference("x"), self.directory / "none"
        with self.assertRaisesRegex(FileNotFoundError, f"^File {none} does not exist.$") as caught:
            reference.put_file(none).wait()
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertIsInstance(error, Unknown)
        self.assertEqual((error.code, error.filename, error.errno), (-13000, str(none), errno.ENOENT))
        reference.put_data(b"x").wait()
        for task in (reference.write_to_file(none / "x"), reference.put_directory(none)):
            self.assertRaises(FileNotFoundError, task.wait)
        for other in (reference.put_file(self.directory), self.storage.reference("y").write_to_file(none)):
            with self.assertRaises(StorageError) as raised:
                other.wait()
            self.assertNotIsInstance(raised.exception, FileNotFoundError)

    def test_file_urls_are_put_and_written(self) -> None:
        reference = self.storage.reference("x")
        reference.put_file(self.file("a b#%.txt", b"here").as_uri()).wait()
        copy = self.directory / "c d"
        reference.write_to_file(copy.as_uri()).wait()
        self.assertEqual(copy.read_bytes(), b"here")
        with self.assertRaises(ValueError):
            reference.put_file("file://host/a")
        with self.assertRaises(ValueError):
            Storage(root="gs://b")

    def test_a_socket_with_a_long_path_is_reached(self) -> None:
        self.directory /= "x" * 120
        self.directory.mkdir()
        path = self.serve()
        self.assertEqual(self.start(socket=path).ping(), "pong")

        async def ping() -> str:
            async with AsyncStorage(socket=path) as storage:
                return await storage.ping()

        self.assertEqual(asyncio.run(ping()), "pong")


class LoopTests(AsyncTestCase):
    async def test_the_error_in_another_event_loop_says_that_it_needs_its_own_session(self) -> None:
        storage = await self.open()
        await self.under_way(storage)
        (snapshot,) = await storage.upload_tasks()
        task = snapshot.task
        assert isinstance(task, AsyncUploadTask)
        events = task.__aiter__()

        async def put() -> None:
            await storage.reference("x").put_data(b"x")

        uses: list[Callable[[], Any]] = [
            storage.ping,
            storage.open,
            storage.close,
            storage.upload_tasks,
            storage.harness.settled,
            storage.reference("x").get_metadata,
            put,
            task.wait,
            task.pause,
            task.snapshot,
            events.__anext__,
        ]

        async def use_all() -> None:
            for use in uses:
                with self.assertRaisesRegex(RuntimeError, "another event loop"):
                    await asyncio.wait_for(use(), 30)
            async with AsyncStorage(root=self.directory / "other") as own:
                await own.ping()

        await within(asyncio.get_running_loop().run_in_executor(None, asyncio.run, use_all()))
        self.assertEqual((await storage.ping(), await task.cancel()), ("pong", True))
