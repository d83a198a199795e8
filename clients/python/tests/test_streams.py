from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import os
import threading
import unittest
from collections.abc import AsyncIterator, Iterator

from storage_rpc import (
    AsyncDownloadStream,
    AsyncUploadStream,
    Cancelled,
    DownloadStream,
    InvalidArgument,
    NonMatchingChecksum,
    ObjectNotFound,
    ServiceGone,
    UploadStream,
)
from storage_rpc._streams import PIECE, WINDOW, Incoming, Outgoing, Piece

from .aio_support import AsyncTestCase, within
from .support import MIB, PATIENCE, Heard, StorageTestCase

FILM = os.urandom(6 * MIB + 321)  # more than a window, and no whole number of pieces


def md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def failing() -> Iterator[bytes]:
    yield b"abc"
    raise KeyError("the trouble of the source")


class UploadStreamTests(StorageTestCase):
    def test_leaving_with_stores_the_written_bytes(self) -> None:
        reference = self.storage.reference("film")
        heard = Heard()
        with reference.put_stream(metadata={"content_type": "video/mp4"}, on_progress=heard) as stream:
            for start in range(0, len(FILM), 100_000):
                self.assertEqual(stream.write(memoryview(FILM)[start : start + 100_000]), len(FILM[start : start + 100_000]))
            self.assertEqual(stream.tell(), len(FILM))
            self.assertGreaterEqual(stream.offset, len(FILM) - (WINDOW + 1) * PIECE)
            self.assertFalse(reference.exists())
        self.assertEqual((stream.closed, stream.offset), (True, len(FILM)))
        stored = stream.wait()
        self.assertEqual((stored.md5_hash, stored.content_type), (md5(FILM), "video/mp4"))
        self.assertEqual({one.origin for one in heard.snapshots[:-1]}, {"stream"})
        with self.assertRaises(ValueError):
            stream.write(b"more")

    def test_an_exception_that_leaves_with_cancels(self) -> None:
        reference = self.storage.reference("film")
        with self.assertRaises(KeyError), reference.put_stream() as stream:
            stream.write(FILM)
            raise KeyError("the caller's own trouble")
        self.assertEqual(stream.task.snapshot().state, "cancelled")
        self.assertFalse(reference.exists())
        with self.assertRaises(Cancelled):
            stream.wait(PATIENCE)

    def test_it_ends_with_the_sum_that_is_known_then(self) -> None:
        reference = self.storage.reference("film")
        stream = reference.put_stream()
        stream.write(b"Hello")
        self.assertEqual(stream.finish(md5_hash=md5(b"Hello")).size, 5)
        self.assertEqual(stream.finish().size, 5)
        with self.assertRaises(NonMatchingChecksum), reference.put_stream() as stream:
            stream.write(b"Hello")
            stream.finish(md5_hash=md5(b"Hallo"))

    def test_an_empty_object(self) -> None:
        with self.storage.reference("none").put_stream() as stream:
            pass
        self.assertEqual(stream.wait().size, 0)

    def test_flush_sends_the_bytes_to_the_service(self) -> None:
        stream = self.storage.reference("log").put_stream()
        stream.write(b"one\n")
        self.assertEqual((stream.tell(), stream.offset), (4, 0))
        stream.flush()
        self.assertEqual((stream.offset, stream.task.snapshot().offset), (4, 4))
        stream.cancel()

    def test_an_announced_size_must_be_reached_and_not_exceeded(self) -> None:
        stream = self.storage.reference("x").put_stream(size=4)
        stream.write(b"ab")
        with self.assertRaises(InvalidArgument):
            stream.finish()
        stream.write(b"cd")
        self.assertEqual(stream.finish().size, 4)
        with self.assertRaises(InvalidArgument), self.storage.reference("x").put_stream(size=4) as stream:
            stream.write(b"abcde")
            stream.flush()
        self.assertEqual(stream.task.snapshot().state, "cancelled")

    def test_a_writer_waits_while_the_task_is_paused(self) -> None:
        stream = self.storage.reference("film").put_stream()
        stream.write(b"begin")
        stream.flush()
        self.assertTrue(stream.task.pause())
        writer = threading.Thread(target=stream.write, args=(FILM,))
        writer.start()
        writer.join(0.3)
        self.assertTrue(writer.is_alive())
        self.assertLessEqual(stream.tell(), 5 + (WINDOW + 1) * PIECE)
        self.assertTrue(stream.task.resume())
        writer.join(PATIENCE)
        self.assertEqual(stream.finish().size, 5 + len(FILM))

    def test_a_cancellation_is_raised_by_the_next_calls(self) -> None:
        stream = self.storage.reference("film").put_stream()
        stream.task.cancel()
        for _ in range(2):
            with self.assertRaises(Cancelled):
                stream.write(FILM)
                stream.flush()

    def test_other_modules_write_to_it(self) -> None:
        reference = self.storage.reference("text.gz")
        with reference.put_stream() as stream, gzip.GzipFile(fileobj=stream, mode="wb") as packed:
            with io.TextIOWrapper(packed, "utf-8") as text:
                text.write("Grüße\n" * 1000)
        self.assertEqual(gzip.decompress(reference.get_data(MIB)).decode(), "Grüße\n" * 1000)

    def test_another_session_continues_it(self) -> None:
        path = self.serve()
        first = self.start(socket=path)
        stream = first.reference("film").put_stream()
        stream.write(FILM[: 3 * MIB])
        stream.flush()
        first.close(drain=False)
        with self.assertRaises(ServiceGone):
            stream.write(FILM)
        second = self.start(socket=path)
        (left,) = second.upload_tasks()
        again = second.upload_task(left.task.id).stream()
        self.assertEqual((left.origin, again.tell()), ("stream", 3 * MIB))
        again.write(FILM[again.tell() :])
        self.assertEqual(again.finish().md5_hash, md5(FILM))
        with self.assertRaises(ValueError):
            again.task.stream()

    def test_a_later_service_continues_it(self) -> None:
        first = self.start()
        stream = first.reference("film").put_stream()
        stream.write(FILM[: 3 * MIB])
        stream.flush()
        first.close(drain=False)
        second = self.start()
        again = second.upload_task(stream.task.id).stream(io.BytesIO(FILM[3 * MIB :]))
        self.assertEqual(again.wait(PATIENCE).md5_hash, md5(FILM))


class SourceTests(StorageTestCase):
    def test_a_file_and_an_iterable(self) -> None:
        reference = self.storage.reference("film")
        with open(self.file("film.mov", FILM), "rb") as file:
            self.assertEqual(reference.put_stream(file).wait(PATIENCE).md5_hash, md5(FILM))
        self.assertEqual(reference.put_stream([b"ab", bytearray(b"cd")]).wait(PATIENCE).size, 4)
        with reference.put_stream(iter([FILM])) as stream:
            with self.assertRaises(ValueError):
                stream.write(b"more")
        self.assertEqual(reference.get_metadata().md5_hash, md5(FILM))

    def test_the_trouble_of_the_source_is_raised(self) -> None:
        reference = self.storage.reference("film")
        stream = reference.put_stream(failing())
        with self.assertRaisesRegex(KeyError, "of the source"):
            stream.wait(PATIENCE)
        self.assertEqual(stream.task.snapshot().state, "cancelled")
        with self.assertRaises(TypeError):
            reference.put_stream(io.StringIO("text")).wait(PATIENCE)
        with self.assertRaises(KeyError), reference.put_stream(failing()):
            pass
        self.assertFalse(reference.exists())

    def test_an_invalid_source_begins_nothing(self) -> None:
        for wrong in (b"bytes", "text", 3):
            with self.assertRaises(TypeError):
                self.storage.reference("x").put_stream(wrong)  # type: ignore[arg-type]
        self.assertEqual(self.storage.upload_tasks(), [])

    def test_one_that_is_cancelled_raises_that(self) -> None:
        block = threading.Event()

        def slow() -> Iterator[bytes]:
            yield b"abc"
            block.wait(PATIENCE)
            yield b"def"

        stream = self.storage.reference("x").put_stream(slow())
        self.assertTrue(stream.cancel())
        block.set()
        with self.assertRaises(Cancelled):
            stream.wait(PATIENCE)

    def test_closing_the_session_waits_for_it(self) -> None:
        path = self.serve()
        with self.start(socket=path) as session:
            session.reference("film").put_stream(FILM[at : at + MIB] for at in range(0, len(FILM), MIB))
        self.assertEqual(self.start(socket=path).reference("film").get_metadata().md5_hash, md5(FILM))

    def test_closing_the_session_does_not_wait_for_one_whose_task_is_over(self) -> None:
        session, go = self.start(), threading.Event()

        def stuck() -> Iterator[bytes]:
            go.wait(PATIENCE * 2)
            yield b"late"

        stream = session.reference("x").put_stream(stuck())
        self.assertTrue(stream.task.cancel())
        closing = threading.Thread(target=session.close)
        closing.start()
        closing.join(PATIENCE)
        self.assertFalse(closing.is_alive())
        go.set()

    def test_closing_the_session_does_not_wait_for_one_that_is_paused(self) -> None:
        path = self.serve()
        go = threading.Event()

        def later() -> Iterator[bytes]:
            go.wait(PATIENCE)
            yield FILM

        with self.start(socket=path) as session:
            stream = session.reference("film").put_stream(later())
            self.assertTrue(stream.task.pause())
            go.set()
        other = self.start(socket=path)
        self.assertEqual(other.upload_task(stream.task.id).snapshot().state, "paused")


class DownloadStreamTests(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.film = self.storage.reference("film")
        self.film.put_stream(iter([FILM])).wait(PATIENCE)

    def test_the_chunks_are_the_object(self) -> None:
        with self.film.get_stream() as stream:
            self.assertIsNone(stream.verified)
            self.assertEqual(b"".join(stream), FILM)
        self.assertEqual((stream.verified, stream.tell(), stream.closed), (True, len(FILM), True))
        self.assertEqual(stream.task.wait(PATIENCE).size, len(FILM))

    def test_parts_of_any_size(self) -> None:
        with self.film.get_stream(offset=5) as stream:
            self.assertEqual((stream.tell(), stream.read(10)), (5, FILM[5:15]))
            buffer = bytearray(7)
            self.assertEqual((stream.readinto(buffer), bytes(buffer)), (7, FILM[15:22]))
            self.assertEqual((stream.read(0), stream.tell()), (b"", 22))
            self.assertEqual(stream.read(), FILM[22:])
            self.assertEqual((stream.read(), stream.read(1), stream.readinto(buffer)), (b"", b"", 0))
        self.assertIs(stream.verified, False)

    def test_a_buffered_reader_reads_it(self) -> None:
        self.storage.reference("lines").put_data(b"one\ntwo\n").wait()
        with io.BufferedReader(self.storage.reference("lines").get_stream()) as file:
            self.assertEqual((file.readline(), list(file)), (b"one\n", [b"two\n"]))
        with io.BufferedReader(self.film.get_stream()) as file:
            self.assertEqual((file.peek(1)[:1], file.read(3 * MIB)), (FILM[:1], FILM[: 3 * MIB]))
            self.assertEqual(file.read(), FILM[3 * MIB :])

    def test_leaving_early_cancels(self) -> None:
        with self.film.get_stream() as stream:
            stream.read(1)
        self.assertEqual(stream.task.snapshot().state, "cancelled")
        with self.assertRaises(ValueError):
            stream.read(1)

    def test_errors_are_raised_by_reads(self) -> None:
        with self.assertRaises(ObjectNotFound), self.storage.reference("nothing").get_stream() as stream:
            stream.read(1)
        with self.assertRaises(InvalidArgument), self.film.get_stream(offset=len(FILM) + 1) as stream:
            stream.read()
        with self.film.get_stream() as stream:
            stream.task.cancel()
            for _ in range(2):
                with self.assertRaises(Cancelled):
                    stream.readall()

    def test_an_empty_object(self) -> None:
        self.storage.reference("none").put_data(b"").wait()
        with self.storage.reference("none").get_stream() as stream:
            self.assertEqual((stream.read(), stream.verified), (b"", True))

    def test_one_stream_feeds_another(self) -> None:
        with self.film.get_stream() as stream:
            copy = self.storage.reference("copy").put_stream(stream).wait(PATIENCE)
        self.assertEqual(copy.md5_hash, md5(FILM))


class AsyncStreamTests(AsyncTestCase):
    async def test_written_and_read(self) -> None:
        storage = await self.open()
        film = storage.reference("film")
        async with film.put_stream() as stream:
            for start in range(0, len(FILM), 100_000):
                await stream.write(FILM[start : start + 100_000])
        self.assertEqual((await stream).md5_hash, md5(FILM))
        async with film.get_stream() as reader:
            self.assertEqual(b"".join([chunk async for chunk in reader]), FILM)
        self.assertTrue(reader.verified)
        async with film.get_stream(offset=3) as reader:
            self.assertEqual((await reader.read(4), reader.tell()), (FILM[3:7], 7))
        self.assertEqual((await reader.task.snapshot()).state, "cancelled")

    async def test_all_kinds_of_sources(self) -> None:
        storage = await self.open()
        reference = storage.reference("x")

        async def later() -> AsyncIterator[bytes]:
            yield b"abc"
            await asyncio.sleep(0)
            yield b"def"

        reader = asyncio.StreamReader()
        reader.feed_data(b"ghi")
        reader.feed_eof()
        for source, size in ((later(), 6), (reader, 3), (io.BytesIO(FILM), len(FILM)), ([b"j"], 1)):
            self.assertEqual((await within(reference.put_stream(source))).size, size)
        with self.assertRaises(KeyError):
            await within(reference.put_stream(failing()))

    async def test_cancelling_the_await_cancels_the_upload(self) -> None:
        storage = await self.open()

        async def stuck() -> AsyncIterator[bytes]:
            yield b"abc"
            await asyncio.sleep(PATIENCE)

        stream = storage.reference("x").put_stream(stuck())
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.wait(), 0.05)
        self.assertEqual((await stream.task.snapshot()).state, "running")
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(stream, 0.05)
        self.assertEqual((await stream.task.snapshot()).state, "cancelled")

    async def test_an_exception_that_leaves_with_cancels(self) -> None:
        storage = await self.open()
        with self.assertRaises(KeyError):
            async with storage.reference("x").put_stream() as stream:
                await stream.write(b"abc")
                raise KeyError
        with self.assertRaises(Cancelled):
            await stream
        self.assertFalse(await storage.reference("x").exists())

    async def test_a_writer_waits_while_the_task_is_paused(self) -> None:
        storage = await self.open()
        stream = storage.reference("film").put_stream()
        await stream.write(b"begin")
        await stream.flush()
        await stream.task.pause()
        writing = asyncio.ensure_future(stream.write(FILM))
        done, _ = await asyncio.wait({writing}, timeout=0.3)
        self.assertEqual(done, set())
        self.assertLessEqual(stream.tell(), 5 + (WINDOW + 1) * PIECE)
        await stream.task.resume()
        self.assertEqual(await within(writing), len(FILM))
        self.assertEqual((await stream.finish()).size, 5 + len(FILM))

    async def test_closing_the_session_waits_for_a_source(self) -> None:
        path = self.serve()
        async with await self.open(socket=path) as session:
            session.reference("film").put_stream(iter([FILM]))
        other = await self.open(socket=path)
        self.assertEqual((await other.reference("film").get_metadata()).md5_hash, md5(FILM))


class PieceTests(unittest.TestCase):
    """The part without IO."""

    def test_bytes_become_pieces_with_their_positions(self) -> None:
        out = Outgoing(10, None)
        self.assertEqual(list(out.pieces(memoryview(bytes(PIECE - 1)))), [])
        pieces = list(out.pieces(memoryview(bytes(PIECE + 2))))
        self.assertEqual([(at, len(data)) for at, data in pieces], [(10, PIECE), (10 + PIECE, PIECE)])
        self.assertEqual((out.written, out.rest()), (11 + 2 * PIECE, (10 + 2 * PIECE, bytes(1))))
        self.assertEqual(out.rest(), (11 + 2 * PIECE, b""))

    def test_a_piece_fits_a_message(self) -> None:
        size = Outgoing(0, 65536).size
        self.assertLess(len(base64.b64encode(bytes(size))), 65536 - 1024)
        self.assertEqual((Outgoing(0, 100 * MIB).size, Outgoing(0, 100).size), (PIECE, 1))

    def test_more_is_read_ahead_where_there_is_more(self) -> None:
        arrived = Incoming(0)
        for wanted in range(1, WINDOW + 3):
            self.assertEqual(arrived.window, min(wanted, WINDOW))
            self.assertEqual(arrived.ask(), {})
            arrived.put(Piece(memoryview(b"abc"), False, None))
            self.assertEqual((bytes(arrived.take(2)), bytes(arrived.take()), bool(arrived)), (b"ab", b"c", False))

    def test_both_faces_have_the_same_methods(self) -> None:
        for threads, asyncio in ((UploadStream, AsyncUploadStream), (DownloadStream, AsyncDownloadStream)):
            names = {name for name in dir(asyncio) if not name.startswith("_")}
            self.assertEqual(names - set(dir(threads)), set())
