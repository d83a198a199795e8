"""A progress bar without dependencies, and an adapter for the bars of other packages."""

from __future__ import annotations

import datetime
import os
import sys
import time
from typing import Any, Callable, TextIO, Union

from ._texts import counted
from ._types import FolderSnapshotOf, Retry, SnapshotOf

AnySnapshot = Union["SnapshotOf[Any, Any]", "FolderSnapshotOf[Any, Any, Any]"]


class ProgressBar:
    """A callback that redraws a bar on a terminal, as `storage-rpc` does, and prints a line for each tenth elsewhere.

    >>> with ProgressBar() as bar:
    ...     storage.reference("films/long.mp4").put_file("long.mp4", on_progress=bar).wait()
    """

    WIDTH = 30

    def __init__(self, stream: TextIO | None = None) -> None:
        """Writes to stderr unless `stream` is given."""
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        has_colour = os.environ.get("TERM", "") not in ("", "dumb") and not os.environ.get("NO_COLOR")
        self._paint = "\x1b[32m{}\x1b[0m" if self._is_terminal and has_colour else "{}"
        self._start: tuple[float, int] | None = None
        self._tenth = 0
        self._is_within_line = False

    def __call__(self, snapshot: AnySnapshot) -> None:
        retry: Retry | None = getattr(snapshot, "retry", None)  # A folder has none.
        if retry is not None:
            self.close()
            self._write(waiting(retry) + "\n")
        progress = snapshot.progress
        done, total, fraction = progress.completed_unit_count, progress.total_unit_count, progress.fraction_completed
        counts: list[str] = []
        if isinstance(snapshot, FolderSnapshotOf):
            counts = [counted(snapshot.files)]
            if not snapshot.is_planned:  # The fraction would be that of the files that were found.
                counts, done, total, fraction = [f"{snapshot.files.total} files found"], total, 0, 0
        speed, time_left = self._speed(done, total)
        sizes = f"{size(done)} of {size(total)}" if total else size(done)  # A stream may have no total.
        percent = [f"{int(fraction * 100)}%"] if total else []
        if self._is_terminal:
            self._is_within_line = True
            parts = [counts + percent + [sizes] + speed, counts + percent + [sizes], counts + percent, percent or [sizes]]
            self._write("\r" + self._line([parts[0] + time_left, *parts], fraction if total else None) + "\x1b[K")
        elif int(fraction * 10) > self._tenth:
            self._tenth = int(fraction * 10)
            left = [f"{each} left" for each in time_left]
            text = ", ".join([*counts, sizes + "".join(f" ({each})" for each in percent), *speed, *left])
            self._write(text + "\n")

    def close(self) -> None:
        """Ends the line of the bar, if there is one."""
        if self._is_within_line:
            self._is_within_line = False
            self._write("\n")

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _speed(self, done: int, total: int) -> tuple[list[str], list[str]]:
        """The rate since the first snapshot, and the time that is left at this rate."""
        if self._start is None:
            self._start = (time.monotonic(), done)
        began, before = self._start
        rate = (done - before) / max(time.monotonic() - began, 0.001)
        if done <= before or rate < 1:
            return [], []
        return [f"{size(rate)}/s"], [clock(int((total - done) / rate))] if total else []

    def _line(self, texts: list[list[str]], fraction: float | None) -> str:
        """The first of the texts that fits the terminal, with a bar before it if the fraction is known."""
        for text in map("  ".join, texts):
            room = min(self.WIDTH, self._columns() - len(text) - 3)
            if fraction is None:
                if len(text) <= self._columns():
                    return text
            elif room >= 5:
                filled = int(fraction * room)
                return self._paint.format(f"[{'#' * filled}{'.' * (room - filled)}]") + " " + text
        return "  ".join(texts[-1])

    def _columns(self) -> int:
        """The columns for a line: ^C has room behind it."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # It is no file.
            columns = 0
        return (columns or 80) - 3

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def updating(update: Callable[[int], object]) -> Callable[[AnySnapshot], None]:
    """A callback that passes the number of new bytes to the `update(n)` of another package's bar.

    >>> with tqdm(total=os.path.getsize("long.mp4"), unit="B", unit_scale=True) as bar:
    ...     storage.reference("films/long.mp4").put_file("long.mp4", on_progress=updating(bar.update)).wait()
    """
    seen = 0

    def callback(snapshot: AnySnapshot) -> None:
        nonlocal seen
        count = snapshot.progress.completed_unit_count
        update(count - seen)
        seen = count

    return callback


def waiting(retry: Retry) -> str:
    """Why a task waits before its next attempt, and how long."""
    seconds = (retry.at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    return f"{retry.error.message} Attempt {retry.attempt} of {retry.of}, next in {max(0, seconds):.0f} s."


def size(count: float) -> str:
    """Formats a byte count with the largest unit that fits."""
    if count < 1000:
        return "1 byte" if int(count) == 1 else f"{count:.0f} bytes"
    for unit in ["KiB", "MiB", "GiB", "TiB"]:
        count /= 1024
        if count < 1000 or unit == "TiB":
            break
    return f"{count:.1f} {unit}"


def clock(seconds: int) -> str:
    """Seconds as `2:03`, or `1:02:03`."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
