"""Streams of text, as `open` makes them of a file."""

from __future__ import annotations

import io
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ._types import Metadata

if TYPE_CHECKING:
    from .reference import DownloadStream, DownloadTask, UploadStream, UploadTask


class TextUploadStream(io.TextIOWrapper):
    """An upload whose text is written piece by piece.

    Leaving `with` stores the object; an exception that leaves it cancels the upload, and nothing is stored.
    """

    def __init__(self, stream: Any, encoding: str, errors: str | None, newline: str | None) -> None:
        super().__init__(stream, encoding, errors, newline)
        self.stream = cast("UploadStream", stream)
        """The stream of the bytes."""

    @property
    def task(self) -> UploadTask:
        return self.stream.task

    def finish(self, md5_hash: str | None = None) -> Metadata:
        """Stores the object, and returns its metadata. With another MD5 than the given one, the task fails with -13031."""
        if not self.closed:
            self.flush()
        return self.stream.finish(md5_hash)

    def cancel(self) -> bool:
        """Ends the upload; nothing is stored."""
        return self.stream.cancel()

    def wait(self, timeout: float | None = None) -> Metadata:
        """Waits for the end of the task. Raises its error."""
        return self.stream.wait(timeout)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stream.__exit__(kind, error, trace)
            return
        with self.stream:
            if not self.closed:
                self.flush()


class TextDownloadStream(io.TextIOWrapper):
    """A download whose text is read piece by piece. Leaving `with`, or closing, before the end cancels it."""

    def __init__(self, stream: Any, encoding: str, errors: str | None, newline: str | None) -> None:
        super().__init__(stream, encoding, errors, newline)
        self.stream = cast("DownloadStream", stream)
        """The stream of the bytes."""

    @property
    def task(self) -> DownloadTask:
        return self.stream.task
