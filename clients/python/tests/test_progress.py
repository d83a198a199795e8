from __future__ import annotations

import datetime
import io
import unittest
from types import SimpleNamespace
from typing import Any

from storage_rpc import FolderCounts, FolderSnapshot, Progress, ProgressBar, Retry, StorageError, updating


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(count: int, retry: Any = None) -> Any:
    return SimpleNamespace(progress=Progress(count, 1000, count / 1000), retry=retry)


def folder(done: int, total: int, is_planned: bool) -> Any:
    nothing: Any = None
    counts = FolderCounts(total=total, completed=done, unchanged=0, to_delete=2, deleted=1, refused=0, failed=1)
    progress = Progress(done * 100, total * 100, done / total if total else 1)
    return FolderSnapshot(nothing, "put", "progress", "running", progress, counts, is_planned, nothing)


def retry(seconds: float) -> Any:
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return Retry(2, "upload", due, StorageError("Nobody answers.", -13000))


class ProgressTests(unittest.TestCase):
    def test_a_bar_is_drawn_over_itself(self) -> None:
        shown = Terminal()
        with ProgressBar(shown) as bar:
            bar(at(500))
            bar(at(1000))
        self.assertRegex(shown.getvalue(), r"^\r\[#{15} {15}\] 500 B of 1000 B  50 %.*\r\[#{30}\] .*\n$")

    def test_a_line_for_each_tenth(self) -> None:
        shown = io.StringIO()
        with ProgressBar(shown) as bar:
            for count in range(0, 1001, 5):
                bar(at(count))
        lines = shown.getvalue().splitlines()
        self.assertEqual(len(lines), 10)
        self.assertRegex(lines[0], r"^100 B of 1000 B  10 %  [\d.]+ \w+/s$")

    def test_no_line_where_nothing_was_drawn(self) -> None:
        shown = Terminal()
        ProgressBar(shown).close()
        self.assertEqual(shown.getvalue(), "")

    def test_a_rest_is_told(self) -> None:
        shown = io.StringIO()
        with ProgressBar(shown) as bar:
            bar(at(200))
            bar(at(200, retry(-1)))
            bar(at(200))
        self.assertRegex(
            shown.getvalue(), r"^200 B .*\nNobody answers\. Attempt 2 of upload, next in 0 s\.\n$"
        )
        drawn = Terminal()
        with ProgressBar(drawn) as bar:
            bar(at(200))
            bar(at(200, retry(3600)))
        self.assertRegex(drawn.getvalue(), r"^\r\[#.*\nNobody answers\. Attempt 2 of upload, next in \d+ s\.\n\r\[#.*\n$")

    def test_what_is_new_is_counted(self) -> None:
        counts: list[int] = []
        update = updating(counts.append)
        for count in (0, 300, 1000):
            update(at(count))
        self.assertEqual(counts, [0, 300, 700])

    def test_a_folder_counts_its_files(self) -> None:
        shown = Terminal()
        with ProgressBar(shown) as bar:
            bar(folder(0, 2, is_planned=False))
            bar(folder(2, 4, is_planned=True))
        self.assertRegex(shown.getvalue(), r"^\r\[ {30}\] 200 B in 2 files found.*\r\[#{15} {15}\] 200 B of 400 B  50 %")
        self.assertIn("2 of 4 files, 1 of 2 deleted, 1 failed", shown.getvalue())
        lines = io.StringIO()
        ProgressBar(lines)(folder(0, 0, is_planned=False))
        self.assertEqual(lines.getvalue(), "")

    def test_a_stream_has_no_total(self) -> None:
        shown = Terminal()
        with ProgressBar(shown) as bar:
            bar(SimpleNamespace(progress=Progress(2048, 0, 0), retry=None))  # type: ignore[arg-type]
        self.assertRegex(shown.getvalue(), r"^\r\[ {30}\] 2.0 KiB  [\d.]+ \w+/s\x1b\[K\n$")
