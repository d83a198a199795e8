"""A progress bar without dependencies, and an adapter for the bars of other packages."""

from __future__ import annotations

import datetime
import sys
import time
from typing import Any, Callable, TextIO, Union

from ._texts import counted
from ._types import FolderSnapshotOf, Retry, SnapshotOf

AnySnapshot = Union["SnapshotOf[Any, Any]", "FolderSnapshotOf[Any, Any, Any]"]


class ProgressBar:
    """A callback that redraws a bar on a terminal, and prints a line for each tenth elsewhere.

    >>> with ProgressBar() as bar:
    ...     storage.reference("films/long.mp4").put_file("long.mp4", on_progress=bar).wait()
    """

    WIDTH = 30

    def __init__(self, stream: TextIO | None = None) -> None:
        """Writes to stderr unless `stream` is given."""
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._tenth = 0
        self._is_within_line = False

    def __call__(self, snapshot: AnySnapshot) -> None:
        retry: Retry | None = getattr(snapshot, "retry", None)  # A folder has none.
        if retry is not None:
            self.close()
            self._write(waiting(retry) + "\n")
        progress = snapshot.progress
        fraction = progress.fraction_completed
        rate = progress.completed_unit_count / max(time.monotonic() - self._start, 0.001)
        text = size(progress.completed_unit_count)
        if progress.total_unit_count:  # Else it is a stream.
            text += f" of {size(progress.total_unit_count)}  {int(fraction * 100)} %"
        text += f"  {size(rate)}/s"
        if isinstance(snapshot, FolderSnapshotOf):
            text += f"  {counted(snapshot.files)}"
            if not snapshot.is_planned:
                fraction = 0  # It would be that of the files that were found.
                text = f"{size(progress.total_unit_count)} in {snapshot.files.total} files found"
        if self._is_terminal:
            self._is_within_line = True
            self._write(f"\r[{'#' * int(fraction * self.WIDTH):<{self.WIDTH}}] {text}\x1b[K")
        elif int(fraction * 10) > self._tenth:
            self._tenth = int(fraction * 10)
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
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.0f} {units[0]}" if units[0] == "B" else f"{count:.1f} {units[0]}"
