"""Which ends of a stream store its object."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import csv
import gc
import gzip
import http.client
import http.server
import io
import logging
import os
import tarfile
import threading
import traceback
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any, Callable

from storage_rpc import AsyncStorage, AsyncUploadStream, Cancelled, ServiceGone, Storage
from storage_rpc._program import program

from .aio_support import AsyncTestCase, within
from .support import MIB, PATIENCE, StorageTestCase


def leave(file: Any, half: str | bytes = "half") -> None:
    file.write(half)
    raise KeyError


def text(stream: Any) -> None:
    with io.TextIOWrapper(stream) as file:
        leave(file)


def text_of_both(stream: Any) -> None:
    with stream as inner, io.TextIOWrapper(inner) as file:
        leave(file)


def buffered(stream: Any) -> None:
    with io.BufferedWriter(stream) as file:
        leave(file, b"half")


def two_wrappers(stream: Any) -> None:
    with io.TextIOWrapper(io.BufferedWriter(stream)) as file:
        leave(file)


def codec(stream: Any) -> None:
    with codecs.getwriter("utf-8")(stream) as file:
        leave(file)


def packed(stream: Any) -> None:
    with stream, gzip.GzipFile(fileobj=stream, mode="wb") as file:
        leave(file, b"half")


def archive(stream: Any) -> None:
    with stream, zipfile.ZipFile(stream, "w") as file:
        file.writestr("half", b"half")
        raise KeyError


def closing(stream: Any) -> None:
    with contextlib.closing(io.TextIOWrapper(stream)) as file:
        leave(file)


def stack(stream: Any) -> None:
    with contextlib.ExitStack() as all:
        all.enter_context(io.TextIOWrapper(stream)).write("half")
        raise KeyError


def in_finally(stream: Any) -> None:
    try:
        stream.write(b"half")
        raise KeyError
    finally:
        stream.close()


def in_except(stream: Any) -> None:
    try:
        stream.write(b"half")
        raise KeyError
    except KeyError:
        stream.close()
        raise


def another_exception(stream: Any) -> None:
    with io.TextIOWrapper(stream) as file:
        try:
            raise ValueError
        except ValueError:
            file.write("half")
            raise KeyError from None


def text_mode(stream: Any) -> None:
    with stream.text() as file:
        leave(file)


LEFT: tuple[Callable[[Any], None], ...] = (
    text, text_of_both, buffered, two_wrappers, codec, packed, archive, closing, stack, in_finally, in_except,
    another_exception, text_mode,
)  # fmt: skip


class UploadEndTests(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        log, silent = logging.getLogger("storage_rpc"), logging.NullHandler()
        log.addHandler(silent)
        self.addCleanup(log.removeHandler, silent)
        self.reference = self.storage.reference("object")
        self.reference.put_data(b"good").wait()

    def stream(self) -> Any:
        """What the types of Python's library would refuse to wrap."""
        return self.reference.put_stream()

    def stored(self) -> bytes:
        return self.reference.get_data(MIB)

    def test_an_exception_does_not_change_the_object(self) -> None:
        for leave in LEFT:
            with self.subTest(leave.__name__):
                stream = self.stream()
                with self.assertRaises(KeyError):
                    leave(stream)
                self.assertTrue(stream.closed)
                with self.assertRaises(Cancelled):
                    stream.wait(PATIENCE)
                self.assertEqual(self.stored(), b"good")

    def test_a_dropped_generator_does_not_change_the_object(self) -> None:
        stream = self.stream()

        def lines() -> Iterator[None]:
            with io.TextIOWrapper(stream) as file:
                file.write("half")
                yield
                file.write("whole")

        one = lines()
        next(one)
        del one
        gc.collect()
        with self.assertRaises(Cancelled):
            stream.wait(PATIENCE)
        self.assertEqual(self.stored(), b"good")

    def test_the_log_names_what_a_close_has_cancelled(self) -> None:
        with self.assertLogs("storage_rpc", "WARNING") as logs, self.assertRaises(KeyError):
            text(self.stream())
        self.assertRegex(logs.output[0], "<UploadTask .*> is cancelled: .* while KeyError was handled")

    def test_a_collected_wrapper_does_not_change_the_object(self) -> None:
        for wrap in (io.TextIOWrapper, io.BufferedWriter, lambda stream: io.TextIOWrapper(io.BufferedWriter(stream))):
            stream = self.stream()
            file: Any = wrap(stream)
            file.write("half" if hasattr(file, "encoding") else b"half")
            with self.assertWarnsRegex(ResourceWarning, "unclosed .* of <UploadTask"):
                del file
                gc.collect()
            with self.assertRaisesRegex(ValueError, "collected before it was closed"):
                stream.wait(PATIENCE)
            self.assertEqual(self.stored(), b"good")

    def test_a_stream_whose_wrapper_was_collected_does_not_end_with_success(self) -> None:
        with self.assertRaisesRegex(ValueError, "TextIOWrapper of this stream was collected"):
            with self.stream() as stream:
                with self.assertWarns(ResourceWarning):
                    io.TextIOWrapper(stream).write("half")
                    gc.collect()
        self.assertEqual(self.stored(), b"good")

    def test_a_collection_on_any_thread_waits_for_nothing(self) -> None:
        stream = self.stream()
        file = [io.TextIOWrapper(stream)]
        file[0].write("x" * MIB)
        collecting = threading.Thread(target=file.clear)
        with self.assertWarns(ResourceWarning), self.storage._connection._writing:  # No request can be sent.
            collecting.start()
            collecting.join(PATIENCE)
            self.assertFalse(collecting.is_alive())
        with self.assertRaises(ValueError):
            stream.wait(PATIENCE)

    def test_a_deliberate_end_stores(self) -> None:
        with io.TextIOWrapper(self.stream()) as file:
            csv.writer(file).writerow(["a", "b"])
        self.assertEqual(self.stored(), b"a,b\r\n")
        wrapper = io.BufferedWriter(self.stream())
        wrapper.write(b"closed")
        wrapper.close()
        self.assertEqual(self.stored(), b"closed")
        with self.stream() as stream, zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("name", b"zipped")
        self.assertEqual(zipfile.ZipFile(io.BytesIO(self.stored())).read("name"), b"zipped")
        with self.stream() as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
            tar.add(self.file("name", b"tarred"), "name")
        self.assertEqual(tarfile.open(fileobj=io.BytesIO(self.stored())).getnames(), ["name"])

    def test_a_stream_that_begins_in_a_handler_ends_in_it(self) -> None:
        try:
            raise KeyError("the report")
        except KeyError:
            with io.TextIOWrapper(self.stream()) as file:
                traceback.print_exc(file=file)
        self.assertIn(b"the report", self.stored())
        try:
            raise KeyError
        except KeyError:
            with self.assertRaises(ValueError), io.TextIOWrapper(self.stream()) as file:
                file.write("half")
                raise ValueError
        self.assertIn(b"the report", self.stored())
        try:
            raise KeyError
        except KeyError as error:
            with self.assertRaises(KeyError), io.TextIOWrapper(self.stream()) as file:
                file.write("half")
                raise error
        self.assertIn(b"the report", self.stored())

    def test_finish_stores_in_a_handler_too(self) -> None:
        stream = self.stream()
        try:
            raise KeyError
        except KeyError:
            stream.write(b"on purpose")
            stream.finish()
            stream.close()
        self.assertEqual(self.stored(), b"on purpose")

    def test_a_close_that_fails_closes(self) -> None:
        stream = self.reference.put_stream(size=8)
        stream.write(b"half")
        with self.assertRaisesRegex(Exception, "announced 8"):
            stream.close()
        self.assertTrue(stream.closed)
        stream.close()
        with self.assertRaises(Cancelled):
            stream.wait(PATIENCE)
        failing: Any = self.reference.put_stream(size=8)
        file = io.TextIOWrapper(failing)
        file.write("half")
        with self.assertRaisesRegex(Exception, "announced 8"):
            file.close()
        self.assertTrue(file.closed)
        self.assertEqual(self.stored(), b"good")

    def test_leaving_a_source_cancels_it(self) -> None:
        block = threading.Event()
        self.addCleanup(block.set)

        def slow() -> Iterator[bytes]:
            yield b"half"
            block.wait(PATIENCE)

        with self.assertRaises(KeyError), contextlib.closing(self.reference.put_stream(slow())) as stream:
            raise KeyError
        with self.assertRaises(Cancelled):
            stream.wait(PATIENCE)
        self.assertEqual(self.stored(), b"good")


class SessionEndTests(StorageTestCase):
    """What the end of a session does to a stream that is not finished."""

    content = os.urandom(6 * MIB + 7)

    def private(self) -> Storage:
        """A session whose service has no harness: that would let go what waits."""
        return self.start(command=[program()])

    def test_what_was_written_is_sent(self) -> None:
        with self.private() as storage:
            stream = storage.reference("x").put_stream()
            stream.write(self.content)
        with self.assertRaisesRegex(ServiceGone, "closed"):
            stream.write(b"more")
        later = self.private()
        task = later.upload_task(stream.task.id)
        self.assertEqual((task.snapshot().state, task.snapshot().offset), ("paused", len(self.content)))
        task.resume()
        task.stream().finish()
        self.assertEqual(later.reference("x").get_data(len(self.content)), self.content)

    def test_an_early_end_sends_nothing_more(self) -> None:
        with self.private() as storage:
            stream = storage.reference("x").put_stream()
            stream.write(b"half")
            storage.close(drain=False)
        self.assertEqual(self.private().upload_task(stream.task.id).snapshot().offset, 0)

    def test_a_paused_upload_is_not_waited_for(self) -> None:
        last = self.private()
        for storage in (self.private(), self.start(command=[program()], shared=True), last):
            stream = storage.reference("x").put_stream()
            stream.task.pause()
            stream.write(bytes(MIB + 1))
            storage.close()
            with self.assertRaises(ServiceGone):
                stream.flush()
        with self.start(command=[program()], shared=True) as storage:
            storage.call("service/stop")


class TextTests(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.reference = self.storage.reference("text")

    def test_text_is_written_and_read_as_with_open(self) -> None:
        with self.reference.put_stream().text() as file:
            print("Grüße", file=file)
        self.assertEqual((file.closed, file.wait(PATIENCE).size), (True, 8))
        self.assertEqual(self.reference.get_data(MIB), "Grüße\n".encode())
        with self.reference.put_stream().text("latin-1", newline="\r\n", errors="replace") as file:
            file.write("Grüße\n€\n")
        self.assertEqual(self.reference.get_data(MIB), "Grüße\r\n?\r\n".encode("latin-1"))
        with self.reference.get_stream().text("latin-1") as lines:
            self.assertEqual(list(lines), ["Grüße\n", "?\n"])
        self.assertTrue(lines.stream.verified)
        with self.reference.get_stream().text("latin-1", newline="") as lines:
            self.assertEqual(lines.readline(), "Grüße\r\n")

    def test_it_is_finished_closed_and_cancelled(self) -> None:
        file = self.reference.put_stream().text()
        file.write("finished")
        self.assertEqual((file.finish().size, file.finish().size), (8, 8))
        file = self.reference.put_stream().text()
        file.write("closed")
        file.close()
        self.assertEqual(self.reference.get_data(MIB), b"closed")
        file = self.reference.put_stream().text()
        file.write("cancelled")
        self.assertTrue(file.cancel())
        self.assertEqual(file.task.snapshot().state, "cancelled")
        self.assertEqual(self.reference.get_data(MIB), b"closed")

    def test_text_that_cannot_be_encoded_stores_nothing(self) -> None:
        with self.assertRaises(UnicodeEncodeError), self.reference.put_stream().text("ascii") as file:
            file.write("half, ")
            file.write("Grüße")
        self.assertFalse(self.reference.exists())

    def test_an_unknown_encoding_begins_nothing_that_stays(self) -> None:
        stream = self.reference.put_stream()
        with self.assertRaises(LookupError):
            stream.text("klingon")
        self.assertEqual((stream.closed, stream.task.snapshot().state), (True, "cancelled"))

    def test_a_reader_that_is_collected_cancels(self) -> None:
        self.reference.put_data(b"line\n" * MIB).wait()
        reading = self.reference.get_stream()
        lines = io.TextIOWrapper(io.BufferedReader(reading))
        self.assertEqual(lines.readline(), "line\n")
        with self.assertWarns(ResourceWarning):
            del lines
            gc.collect()
        with self.assertRaises(Cancelled):
            reading.task.wait(PATIENCE)


class Slow:
    """A pipe that has nothing to read now and then."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        os.set_blocking(reading, False)
        self._file = open(reading, "rb", buffering=0)
        self.fileno = self._file.fileno
        self.was_empty = threading.Event()

    def read(self, size: int) -> bytes | None:
        chunk = self._file.read(size)
        if chunk is None:
            self.was_empty.set()
        return chunk

    def write(self, data: bytes) -> None:
        os.write(self._writing, data)

    def end(self) -> None:
        os.close(self._writing)

    def close(self) -> None:
        self._file.close()


class Empty:
    """A source without bytes, and without a descriptor."""

    def read(self, size: int) -> None:
        return None


class NonBlockingSourceTests(StorageTestCase):
    def test_bytes_that_come_later_are_stored(self) -> None:
        source = Slow()
        self.addCleanup(source.close)
        stream = self.storage.reference("x").put_stream(source)
        for part in (b"one, ", b"two"):
            source.was_empty.clear()
            self.assertTrue(source.was_empty.wait(PATIENCE))
            source.write(part)
        source.end()
        self.assertEqual(stream.wait(PATIENCE).size, 8)
        self.assertEqual(self.storage.reference("x").get_data(MIB), b"one, two")

    def test_one_that_is_cancelled_is_read_no_more(self) -> None:
        source = Slow()
        self.addCleanup(source.close)
        self.addCleanup(source.end)
        stream = self.storage.reference("x").put_stream(source)
        feeding = self.storage._fed[stream]
        self.assertTrue(source.was_empty.wait(PATIENCE))
        stream.cancel()
        feeding.join(PATIENCE)
        self.assertFalse(feeding.is_alive())

    def test_a_source_of_anything_but_bytes_stores_nothing(self) -> None:
        reference = self.storage.reference("x")
        with self.assertRaisesRegex(BlockingIOError, "Empty has no bytes yet, and no descriptor"):
            reference.put_stream(Empty()).wait(PATIENCE)
        sources: list[Any] = [io.StringIO(""), io.StringIO("text"), ["text"], [b"x", None], [3]]
        for source in sources:
            with self.assertRaisesRegex(TypeError, "A source must yield bytes, but .* has yielded (str|NoneType|int)"):
                reference.put_stream(source).wait(PATIENCE)
        self.assertFalse(reference.exists())


class Truncated(http.server.BaseHTTPRequestHandler):
    """Announces more bytes than it sends."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "8")
        self.end_headers()
        self.wfile.write(b"half" if self.path == "/half" else b"complete")

    def log_message(self, format: str, *args: Any) -> None:
        pass


class ResponseTests(StorageTestCase):
    def test_a_response_that_ends_early_is_not_stored(self) -> None:
        server = http.server.HTTPServer(("127.0.0.1", 0), Truncated)
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        self.addCleanup(server.server_close)
        self.addCleanup(serving.join, PATIENCE)
        self.addCleanup(server.shutdown)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        reference = self.storage.reference("x")
        with opener.open(f"http://127.0.0.1:{server.server_port}/all") as response:
            self.assertEqual(reference.put_stream(response).wait(PATIENCE).size, 8)
        with opener.open(f"http://127.0.0.1:{server.server_port}/half") as response:
            with self.assertRaises(http.client.IncompleteRead):
                reference.put_stream(response).wait(PATIENCE)
        self.assertEqual(reference.get_data(MIB), b"complete")


class AsyncEndTests(AsyncTestCase):
    async def test_an_exception_does_not_change_the_object(self) -> None:
        storage = await self.open()
        reference = storage.reference("object")
        await reference.put_data(b"good")

        async def in_finally(stream: AsyncUploadStream) -> None:
            try:
                await stream.write(b"half")
                raise KeyError
            finally:
                await stream.close()

        stream = reference.put_stream()
        with self.assertLogs("storage_rpc", "WARNING"), self.assertRaises(KeyError):
            await in_finally(stream)
        with self.assertRaises(Cancelled):
            await within(stream)
        self.assertEqual(await reference.get_data(MIB), b"good")
        try:
            raise KeyError
        except KeyError:
            stream = reference.put_stream()
            await stream.write(b"in a handler")
            await stream.close()
        self.assertEqual(await reference.get_data(MIB), b"in a handler")

    async def test_a_writer_that_is_cancelled_again_cancels_the_upload(self) -> None:
        storage = await self.open()
        await storage.harness.arm("send", hold=True)

        async def write() -> None:
            async with storage.reference("object").put_stream() as stream:
                await stream.write(b"half")

        for turns in range(4):
            writing = asyncio.ensure_future(write())
            await storage.harness.settled()
            for _ in range(2):
                writing.cancel()
                for _ in range(turns):
                    await asyncio.sleep(0)
            with self.assertRaises(asyncio.CancelledError):
                await within(writing)
        self.assertEqual({one.state for one in await storage.upload_tasks()}, {"cancelled"})

    async def test_the_end_of_the_session_sends_what_was_written(self) -> None:
        content = os.urandom(6 * MIB + 7)
        for shared in (False, True):
            async with AsyncStorage(root=self.directory, shared=shared) as storage:
                paused, stream = storage.reference("paused").put_stream(), storage.reference("x").put_stream()
                await paused.task.pause()
                await paused.write(bytes(MIB + 1))
                await stream.write(content)
            with self.assertRaises(ServiceGone):
                await paused.flush()
            async with AsyncStorage(root=self.directory, shared=shared) as storage:
                task = storage.upload_task(await stream.task.started())
                self.assertEqual((await task.snapshot()).offset, len(content))
                await storage.call("service/stop")

    async def test_a_close_that_fails_closes(self) -> None:
        storage = await self.open()
        stream = storage.reference("object").put_stream(size=8)
        await stream.write(b"half")
        with self.assertRaisesRegex(Exception, "announced 8"):
            await stream.close()
        self.assertTrue(stream.closed)
        with self.assertRaises(Cancelled):
            await within(stream)

    async def test_sources_that_have_no_bytes_yet(self) -> None:
        storage = await self.open()
        reference = storage.reference("x")
        source = Slow()
        self.addCleanup(source.close)
        stream = reference.put_stream(source)
        for part in (b"one, ", b"two"):
            source.was_empty.clear()
            await within(self.until_empty(source))
            source.write(part)
        source.end()
        self.assertEqual((await within(stream)).size, 8)
        with self.assertRaisesRegex(BlockingIOError, "no descriptor"):
            await within(reference.put_stream(Empty()))
        with self.assertRaisesRegex(TypeError, "StringIO has yielded str"):
            await within(reference.put_stream(io.StringIO("")))
        self.assertEqual(await reference.get_data(MIB), b"one, two")

    async def until_empty(self, source: Slow) -> None:
        await asyncio.get_running_loop().run_in_executor(None, source.was_empty.wait, PATIENCE)
