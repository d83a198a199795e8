"""The bytes of streams between a caller and the service, without IO: for threads and for asyncio."""

from __future__ import annotations

import base64
import errno
import select
import sys
import time
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Union

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PIECE = 1 << 20  # bytes of one append; a read has as many by default
WINDOW = 4  # requests of a stream that are on their way at the same time
STEP = 0.5  # seconds between two looks at a stream whose source has no bytes yet, or whose session is being closed
BREATH = 0.01  # seconds between two reads of a source that has no bytes although its descriptor is readable
MOVING = ("queued", "running")
"""The states of a task that takes what its source has."""
OVERHEAD = 4096  # bytes of a message beside its data


class Readable(Protocol):
    """A file that is open for reading bytes. With asyncio the result of `read` may have to be awaited."""

    def read(self, size: int, /) -> Any: ...


Source = Union[Iterable["ReadableBuffer"], Readable]
"""Where the bytes of an upload come from."""

AsyncSource = Union[Iterable["ReadableBuffer"], AsyncIterable["ReadableBuffer"], Readable]
"""The same with asyncio."""


def checked(source: Any, methods: Iterable[str]) -> Any:
    """The source, if there is one. Raises `TypeError` for what has none of these methods, and for bytes and text."""
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        raise TypeError("A stream takes an iterable of bytes or a file; put_data takes bytes and text.")
    if source is not None and not any(hasattr(source, method) for method in methods):
        raise TypeError(f"A stream takes an iterable of bytes or a file, not {type(source).__name__}.")
    return source


def size_of(chunk: Any, source: Any) -> int:
    """The number of bytes that a source has yielded. Raises `TypeError` for text, and for anything else that is not bytes."""
    try:
        with memoryview(chunk) as view:
            return view.nbytes
    except TypeError:
        kind, what = type(source).__name__, type(chunk).__name__
        raise TypeError(f"A source must yield bytes, but {kind} has yielded {what}; a file must be open in binary mode.") from None


def await_bytes(source: Any) -> None:
    """Returns when a file whose `read` has returned None, for no bytes yet, is readable, or after a while.

    Raises `BlockingIOError` where there is no descriptor to wait for.
    """
    poll = select.poll()
    try:
        poll.register(source.fileno(), select.POLLIN)
    except (AttributeError, OSError, TypeError, ValueError):
        why = f"{type(source).__name__} has no bytes yet, and no descriptor to wait for: its read has returned None"
        raise BlockingIOError(errno.EAGAIN, why) from None
    for _, event in poll.poll(STEP * 1000):
        if event & select.POLLNVAL:
            raise OSError(errno.EBADF, f"The descriptor of {type(source).__name__} is closed")
        time.sleep(BREATH)


def check_end(source: Any) -> None:
    """Raises `IncompleteRead` where a response of `http.client` or `urllib` ended early, which its `read` does not tell."""
    http = sys.modules.get("http.client")
    if http is not None and isinstance(source, http.HTTPResponse) and source.length:
        raise http.IncompleteRead(b"", source.length)


def handled() -> tuple[BaseException | None, TracebackType | None]:
    """The exception that is being handled, in a block `except` or `finally` or while it leaves `with`, and its traceback.

    The traceback is another one when the exception is raised again.
    """
    return sys.exc_info()[1:]


class Outgoing:
    """Makes pieces of what the caller writes."""

    def __init__(self, offset: int, max_message_bytes: int | None) -> None:
        self.written = offset
        """The position of the caller's next byte."""
        most = PIECE if max_message_bytes is None else (max_message_bytes - OVERHEAD) // 4 * 3
        self.size = max(1, min(PIECE, most))
        self._sent = offset
        self._buffer = bytearray()

    def pieces(self, data: memoryview) -> Iterator[tuple[int, bytes]]:
        """Takes bytes, and yields each full piece with its position."""
        while data:
            part = data[: self.size - len(self._buffer)]
            self._buffer += part
            self.written += len(part)
            data = data[len(part) :]
            if len(self._buffer) == self.size:
                yield self.rest()

    def rest(self) -> tuple[int, bytes]:
        """What does not fill a piece yet, and its position."""
        offset, data = self._sent, bytes(self._buffer)
        self._sent += len(data)
        self._buffer.clear()
        return offset, data


@dataclass(frozen=True)
class Appended:
    """How far an upload is."""

    offset: int
    durable: int

    @classmethod
    def from_wire(cls, result: Mapping[str, Any]) -> Appended:
        return cls(int(result["offset"]), int(result["durable"]))


@dataclass(frozen=True)
class Piece:
    """The answer to a read."""

    data: memoryview
    is_end: bool
    verified: bool | None

    @classmethod
    def from_wire(cls, result: Mapping[str, Any]) -> Piece:
        data = memoryview(base64.b64decode(result["data"]))
        return cls(data, bool(result["isEnd"]), result.get("verified"))


class Incoming:
    """The bytes that have arrived and were not read yet, and how many reads may be on their way."""

    def __init__(self, offset: int) -> None:
        self.position = offset
        """Of the next byte that the caller reads."""
        self.is_end = False
        self.verified: bool | None = None
        self.window = 1
        """Grows with the stream: what fits one piece needs one read."""
        self._piece = memoryview(b"")

    def __bool__(self) -> bool:
        return len(self._piece) > 0

    def put(self, piece: Piece) -> None:
        self._piece, self.is_end, self.verified = piece.data, piece.is_end, piece.verified
        self.window = min(WINDOW, self.window + 1)

    def take(self, size: int | None = None) -> memoryview:
        """At most so many bytes of the piece."""
        taken = self._piece if size is None else self._piece[:size]
        self._piece = self._piece[len(taken) :]
        self.position += len(taken)
        return taken
