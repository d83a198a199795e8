from __future__ import annotations

import datetime
import io
import os
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from storage_rpc import FolderCounts, FolderSnapshot, Progress, ProgressBar, Retry, StorageError, updating


os.environ.setdefault("NO_COLOR", "1")


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
        self.assertRegex(shown.getvalue(), r"^\r\[#{15}\.{15}\] 50%  500 bytes of 1.0 KiB.*\r\[#+\] 100%.*\n$")

    def test_a_bar_is_that_of_the_program_in_colour(self) -> None:
        for variables, is_coloured in [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({}, False)]:
            with mock.patch.dict("os.environ", variables, clear=True):
                shown = Terminal()
                with ProgressBar(shown) as bar:
                    bar(at(500))
            self.assertEqual("\x1b[32m[" in shown.getvalue(), is_coloured)

    def test_a_line_for_each_tenth(self) -> None:
        shown = io.StringIO()
        with ProgressBar(shown) as bar:
            for count in range(0, 1001, 5):
                bar(at(count))
        lines = shown.getvalue().splitlines()
        self.assertEqual(len(lines), 10)
        self.assertRegex(lines[0], r"^100 bytes of 1.0 KiB \(10%\), [\d.]+ \w+/s, \d+:\d\d left$")

    def test_no_line_where_nothing_was_drawn(self) -> None:
        shown = Terminal()
        ProgressBar(shown).close()
        self.assertEqual(shown.getvalue(), "")

    def test_a_wait_before_a_retry_is_shown(self) -> None:
        shown = io.StringIO()
        with ProgressBar(shown) as bar:
            bar(at(200))
            bar(at(200, retry(-1)))
            bar(at(200))
        self.assertRegex(
            shown.getvalue(), r"^200 bytes .*\nNobody answers\. Attempt 2 of upload, next in 0 s\.\n$"
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
        self.assertRegex(shown.getvalue(), r"^\r2 files found  200 bytes\x1b\[K\r\[")
        self.assertIn("2 of 4 files, 1 of 2 deleted, 1 failed  50%  200 bytes of 400 bytes", shown.getvalue())
        lines = io.StringIO()
        ProgressBar(lines)(folder(0, 0, is_planned=False))
        self.assertEqual(lines.getvalue(), "")

    def test_a_stream_has_no_total(self) -> None:
        shown = Terminal()
        with ProgressBar(shown) as bar:
            bar(SimpleNamespace(progress=Progress(2048, 0, 0), retry=None))  # type: ignore[arg-type]
        self.assertRegex(shown.getvalue(), r"^\r2.0 KiB\x1b\[K\n$")
