"""Streams of downloads that are read in any order, as files are."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
import unittest
import zipfile
from collections.abc import Iterator
from unittest import mock

from storage_rpc import Cancelled, DownloadStream, PreconditionFailed, Reference, Storage, Unauthorized
from storage_rpc._streams import FIRST, NEAR, PIECE, WINDOW, Incoming, Piece

from .aio_support import AsyncTestCase
from .support import MIB, PATIENCE, StorageTestCase

FILM = os.urandom(9 * MIB + 4321)  # no whole number of pieces
FAR = 6 * MIB + 77


def downloaded(storage: Storage) -> int:
    """How many bytes the service has read of objects."""
    (metric,) = (metric for metric in storage.metrics() if metric["name"] == "storage_rpc_object_bytes_total")
    return sum(sample["value"] for sample in metric["samples"] if sample["labels"]["kind"] == "download")


def stored(storage: Storage, name: str, data: bytes) -> Reference:
    reference = storage.reference(name)
    reference.put_stream(io.BytesIO(data)).wait(PATIENCE)
    return reference


def walk(seed: int, size: int) -> Iterator[tuple[str, int, int]]:
    """What a reader does with a file of this size: near its position, far away, and beyond the end."""
    chance = random.Random(seed)
    for _ in range(120):
        step = chance.choice(("set", "near", "end", "read", "read", "readinto", "rest"))
        if step == "set":
            yield "seek", chance.randrange(size + 1000), io.SEEK_SET
        elif step == "near":
            yield "seek", chance.randrange(-NEAR // 2, 2 * NEAR), io.SEEK_CUR
        elif step == "end":
            yield "seek", -chance.randrange(size), io.SEEK_END
        elif step == "rest" and chance.random() < 0.9:
            yield "tell", 0, 0
        else:
            yield step, chance.choice((0, 1, 30, 5000, 100_000, 3 * MIB)), 0


def tried(file: io.BytesIO | DownloadStream, step: str, number: int, whence: int) -> object:
    if step == "seek":
        if whence == io.SEEK_CUR:
            number = max(number, -file.tell())
        return file.seek(number, whence)
    if step == "readinto":
        buffer = bytearray(number)
        return file.readinto(buffer), bytes(buffer)
    return file.tell() if step == "tell" else file.read() if step == "rest" else file.read(number)


class SeekTests(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.film = stored(self.storage, "film", FILM)

    def test_a_walk_reads_what_a_file_reads(self) -> None:
        for seed in range(6):
            with self.subTest(seed=seed), self.film.get_stream() as stream:
                copy = io.BytesIO(FILM)
                for step, number, whence in walk(seed, len(FILM)):
                    expected = tried(copy, step, number, whence)
                    self.assertTrue(tried(stream, step, number, whence) == expected, (step, number, whence))
                    self.assertEqual(stream.tell(), copy.tell())

    def test_a_seek_reads_only_existing_bytes(self) -> None:
        before = downloaded(self.storage)
        with self.film.get_stream() as stream:
            self.assertTrue(stream.seekable())
            self.assertEqual((stream.seek(0, io.SEEK_END), stream.tell(), stream.seek(0)), (len(FILM), len(FILM), 0))
            self.assertEqual(downloaded(self.storage), before)
            self.assertEqual((stream.seek(FAR), stream.read(100)), (FAR, FILM[FAR : FAR + 100]))
            self.assertEqual((stream.seek(-100, io.SEEK_END), stream.read()), (len(FILM) - 100, FILM[-100:]))
        self.assertLessEqual(downloaded(self.storage) - before, 2 * FIRST)

    def test_seeks_near_the_position_ask_for_nothing(self) -> None:
        with self.film.get_stream() as stream:
            data = stream.read(PIECE + 10)
            with mock.patch.object(self.storage, "_submit") as submit:
                self.assertEqual((stream.seek(-NEAR, io.SEEK_CUR), stream.read(NEAR)), (len(data) - NEAR, data[-NEAR:]))
            submit.assert_not_called()
            stream.seek(NEAR, io.SEEK_CUR)
            self.assertEqual(stream.read(), FILM[len(data) + NEAR :])
            self.assertTrue(stream.verified)

    def test_asking_for_the_size_does_not_break_the_sequence(self) -> None:
        with self.film.get_stream() as stream:
            size = stream.seek(0, io.SEEK_END)
            self.assertEqual((stream.read(), stream.verified), (b"", None))
            stream.seek(0)
            self.assertEqual((len(stream.read()), stream.verified), (size, True))
        self.assertEqual(stream.task.wait(PATIENCE).size, size)

    def test_an_object_without_bytes(self) -> None:
        with stored(self.storage, "none", b"").get_stream() as stream:
            self.assertEqual((stream.seek(0, io.SEEK_END), stream.read(), stream.verified), (0, b"", True))
            self.assertEqual((stream.seek(5), stream.read()), (5, b""))

    def test_what_was_read_to_its_end_is_read_again(self) -> None:
        with self.film.get_stream() as stream:
            stream.read()
            self.assertEqual((stream.seek(5), stream.read(10)), (5, FILM[5:15]))
            self.assertTrue(stream.verified)
        self.assertEqual(stream.task.snapshot().state, "success")

    def test_no_task_is_left_behind(self) -> None:
        with self.film.get_stream() as stream:
            stream.read(10)
            stream.seek(FAR)
            stream.read(10)
        self.assertEqual(stream.task.snapshot().state, "cancelled")
        self.assertEqual({task.state for task in self.storage.download_tasks()}, {"cancelled"})

    def test_bytes_of_two_generations_are_never_mixed(self) -> None:
        for reads_all in (False, True):
            film = stored(self.storage, "film", FILM)
            with film.get_stream() as stream:
                stream.read(None if reads_all else 10)
                film.put_data(b"other").wait(PATIENCE)
                for _ in range(2):
                    stream.seek(2 * MIB)
                    with self.assertRaisesRegex(PreconditionFailed, "was replaced while it was read"):
                        stream.read(10)

    def test_positions_that_are_none(self) -> None:
        with self.film.get_stream() as stream:
            self.assertEqual((stream.seek(1 << 62), stream.read(5), stream.readinto(bytearray(5))), (1 << 62, b"", 0))
            for offset, whence in ((-1, io.SEEK_SET), (-len(FILM) - 1, io.SEEK_END), (1 << 63, io.SEEK_SET)):
                with self.assertRaises(OSError):
                    stream.seek(offset, whence)
            with self.assertRaises(ValueError):
                stream.seek(0, 3)
            with self.assertRaises(TypeError):
                stream.seek(1.5)  # type: ignore[arg-type]
            self.assertEqual(stream.tell(), 1 << 62)
        for call in (lambda: stream.seek(0), lambda: stream.read(1)):
            with self.assertRaises(ValueError):
                call()

    def test_a_cancelled_task_reads_nothing_more(self) -> None:
        with self.film.get_stream() as stream:
            stream.read(1)
            stream.task.cancel()
            stream.seek(FAR)
            with self.assertRaises(Cancelled):
                stream.read(1)

    def test_an_archive_is_read_where_it_is_needed(self) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for number in range(8):
                archive.writestr(f"{number}.bin", FILM[number * MIB : (number + 1) * MIB])
        reference = stored(self.storage, "all.zip", packed.getvalue())
        before = downloaded(self.storage)
        with zipfile.ZipFile(reference.get_stream()) as archive:
            self.assertEqual(len(archive.namelist()), 8)
            with archive.open("5.bin") as member:
                self.assertEqual(member.read(1000), FILM[5 * MIB : 5 * MIB + 1000])
            self.assertLessEqual(downloaded(self.storage) - before, 4 * FIRST)
            self.assertEqual(archive.read("3.bin"), FILM[3 * MIB : 4 * MIB])
            self.assertLessEqual(downloaded(self.storage) - before, 3 * MIB)
        reference = stored(self.storage, "no.zip", b"too short")
        with self.assertRaises(zipfile.BadZipFile):
            zipfile.ZipFile(reference.get_stream())

    def test_members_of_a_tape_are_read_after_its_list(self) -> None:
        for compress in (bytes, gzip.compress):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                for number in range(30):
                    member = tarfile.TarInfo(f"{number}.bin")
                    member.size = 100_000
                    archive.addfile(member, io.BytesIO(FILM[number * 100_000 :]))
            reference = stored(self.storage, "all.tar", compress(packed.getvalue()))
            with reference.get_stream() as stream, tarfile.open(fileobj=stream) as archive:
                self.assertEqual(len(archive.getmembers()), 30)
                for number in (29, 0, 12):
                    member_file = archive.extractfile(f"{number}.bin")
                    assert member_file
                    self.assertEqual(member_file.read(), FILM[number * 100_000 : (number + 1) * 100_000])

    def test_buffers_and_text_seek_too(self) -> None:
        with io.BufferedReader(self.film.get_stream()) as file:
            self.assertEqual((file.seek(FAR), file.read(5), file.tell()), (FAR, FILM[FAR : FAR + 5], FAR + 5))
        lines = stored(self.storage, "lines", b"".join(b"%07d\n" % number for number in range(300_000)))
        with lines.get_stream().text() as text:
            self.assertEqual((text.readline(), text.seek(8 * 250_000), text.readline()), ("0000000\n", 2_000_000, "0250000\n"))

    def test_a_read_that_fails_elsewhere_may_be_repeated(self) -> None:
        with self.film.get_stream() as stream:
            self.storage.harness.arm("fetch", fail={"error": "unauthorized"})
            stream.seek(FAR)
            with self.assertRaises(Unauthorized):
                stream.read(10)
            self.assertEqual((stream.tell(), stream.read(10)), (FAR, FILM[FAR : FAR + 10]))


class AsyncSeekTests(AsyncTestCase):
    async def test_a_walk_reads_what_a_file_reads(self) -> None:
        storage = await self.open()
        film = storage.reference("film")
        await film.put_stream(io.BytesIO(FILM))
        async with film.get_stream() as stream:
            copy = io.BytesIO(FILM)
            for step, number, whence in walk(7, len(FILM)):
                if step == "seek" and whence == io.SEEK_CUR:
                    number = max(number, -copy.tell())
                expected = tried(copy, step, number, whence)
                if step == "seek":
                    self.assertEqual(await stream.seek(number, whence), expected)
                elif step == "readinto":
                    buffer = bytearray(number)
                    self.assertTrue((await stream.readinto(buffer), bytes(buffer)) == expected)
                elif step != "tell":
                    self.assertTrue(await (stream.read() if step == "rest" else stream.read(number)) == expected)
                self.assertEqual(stream.tell(), copy.tell())
        self.assertEqual((await stream.task.snapshot()).state, "cancelled")


class IncomingTests(unittest.TestCase):
    def test_reads_in_order_say_nothing_of_their_place(self) -> None:
        arrived = Incoming(0)
        self.assertEqual([arrived.ask() for _ in range(WINDOW)], [{}] * WINDOW)

    def test_reads_elsewhere_grow_and_end_with_the_object(self) -> None:
        arrived = Incoming(0)
        arrived.position = 4 * MIB
        self.assertTrue(arrived.aim())
        self.assertEqual(arrived.ask(1), {"offset": 4 * MIB, "length": FIRST})
        self.assertIsNone(arrived.ask(1))
        self.assertTrue(arrived.put(Piece(memoryview(bytes(FIRST)), False, None, 4 * MIB + 2 * FIRST)))
        arrived.take()
        self.assertEqual(arrived.ask(1), {"offset": 4 * MIB + FIRST, "length": 2 * FIRST})
        self.assertIsNone(arrived.ask(5 * MIB))

    def test_a_piece_that_is_too_short_leaves_a_gap(self) -> None:
        arrived = Incoming(0)
        arrived.position = 4 * MIB
        arrived.aim()
        for place in range(3):
            self.assertEqual(arrived.ask(3 * MIB), {"offset": (4 + place) * MIB, "length": MIB})
        self.assertFalse(arrived.put(Piece(memoryview(bytes(1000)), False, None, 9 * MIB)))
        arrived.forget()
        self.assertEqual(arrived.ask(3 * MIB), {"offset": 4 * MIB + 1000, "length": 1000})

    def test_it_keeps_few_pieces(self) -> None:
        arrived = Incoming(0)
        for _ in range(9):
            arrived.ask()
            arrived.put(Piece(memoryview(bytes(MIB)), False, None))
            arrived.take()
            self.assertLessEqual(len(arrived._pieces), 2)
