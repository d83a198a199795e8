"""The bytes of streams between a caller and the service, without IO: for threads and for asyncio."""

from __future__ import annotations

import base64
import errno
import select
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Union

from .errors import ServiceGone

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PIECE = 1 << 20  # bytes of one append; a read has as many by default
WINDOW = 4  # requests of a stream that are on their way at the same time
NEAR = 256 << 10  # bytes: so far back those that were read are kept, and so far ahead a seek reads on
FIRST = 64 << 10  # bytes of the first read elsewhere
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
    """Raises `IncompleteRead` if a response of `http.client` or `urllib` ended early, which its `read` does not report."""
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
        self._lock = threading.Lock()  # The session may close on another thread than the writer's.
        self._is_over = False

    def pieces(self, data: memoryview) -> Iterator[tuple[int, bytes]]:
        """Takes bytes, and yields each full piece with its position."""
        while data:
            with self._lock:
                if self._is_over:
                    raise ServiceGone("The session is closed.")
                part = data[: self.size - len(self._buffer)]
                self._buffer += part
                self.written += len(part)
                data = data[len(part) :]
                is_full = len(self._buffer) == self.size
            if is_full:
                yield self.rest()

    def rest(self, *, is_last: bool = False) -> tuple[int, bytes]:
        """What does not fill a piece yet, and its position. No bytes are taken after the last one."""
        with self._lock:
            self._is_over = self._is_over or is_last
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
    size: int | None = None
    """Of the object, in the answer to a read that says where it begins."""

    @classmethod
    def from_wire(cls, result: Mapping[str, Any]) -> Piece:
        data = memoryview(base64.b64decode(result["data"]))
        return cls(data, bool(result["isEnd"]), result.get("verified"), result.get("size"))


class Incoming:
    """The bytes around the position of the caller, and which reads come next.

    Reads that do not say where they begin are the sequence: the service verifies their bytes. A stream leaves it when it
    is asked for bytes elsewhere; from then on each read says where it begins.
    """

    def __init__(self, offset: int) -> None:
        self.position = offset
        """Of the next byte that the caller reads."""
        self.size: int | None = None
        """Of the object, once that is known."""
        self.is_over = False
        """The sequence was read to its end: the task has succeeded."""
        self.verified: bool | None = None
        self.window = 1
        """How many reads may be on their way. Grows with the stream: what fits one piece needs one read."""
        self.is_sequence = True
        self._pieces: deque[memoryview] = deque()
        self._start = self._end = offset  # of the pieces
        self._asked: deque[int] = deque()  # the lengths of the reads that are on their way, which follow the pieces
        self._length = self._most = PIECE  # of the next read, and of any
        self._from = offset  # where the caller has been since without a jump

    def __bool__(self) -> bool:
        """Whether the byte at the position has arrived."""
        return self._start <= self.position < self._end

    @property
    def is_end(self) -> bool:
        """Whether the object ends before the position. The end of the sequence has to be read."""
        is_next = self.is_sequence and not self.is_over and self.position == self._end
        return not is_next and self.size is not None and self.position >= self.size

    def aim(self) -> bool:
        """Makes the next read one for the position, whose bytes are not here. True if those that were asked for lead
        elsewhere."""
        if self._end <= self.position <= self._end + sum(self._asked) + NEAR:
            return False
        self.is_sequence, self.window = False, WINDOW
        self._from, self._length, self._most = self.position, FIRST, PIECE
        # What is near the end is often read backwards.
        near_end = self.position if self.size is None else max(0, self.size - FIRST)
        self._start = self._end = min(self.position, near_end)
        self._pieces.clear()
        return True

    def ask(self, wanted: int = 0) -> dict[str, int] | None:
        """The params of one more read, of a caller who wants so many bytes. None if enough is on its way.

        After a jump no more is read ahead than what was read since.
        """
        if self.is_sequence:
            self._asked.append(PIECE)
            return {}
        ahead = sum(self._asked)
        offset, length = self._end + ahead, min(max(self._length, wanted - ahead), PIECE, self._most)
        if self.size is not None and offset >= self.size:
            return None
        if self._asked and ahead >= max(wanted, self.position - self._from):
            return None
        self._asked.append(length)
        self._length = min(PIECE, 2 * length)
        return {"offset": offset, "length": length}

    def forget(self) -> None:
        """No read is on its way."""
        self._asked.clear()

    def put(self, piece: Piece) -> bool:
        """Takes the answer to the oldest read. False if it leaves a gap before the next one."""
        asked = self._asked.popleft()
        self._pieces.append(piece.data)
        self._end += len(piece.data)
        self.window = min(WINDOW, self.window + 1)
        if piece.is_end:
            self.is_over = self.is_over or self.is_sequence
            self.verified = self.verified or bool(piece.verified)
        self.size = self._end if piece.is_end and self.is_sequence else self.size if piece.size is None else piece.size
        self._drop()
        if self.is_sequence or piece.is_end or len(piece.data) == asked:
            return True
        self._most = max(1, len(piece.data))
        return False

    def take(self, size: int | None = None) -> memoryview:
        """The bytes at the position, at most so many, as far as the piece has them."""
        start = self._start
        for piece in self._pieces if self else ():
            if self.position < start + len(piece):
                at = self.position - start
                taken = piece[at:] if size is None else piece[at : at + size]
                self.position += len(taken)
                self._drop()
                return taken
            start += len(piece)
        return memoryview(b"")

    def _drop(self) -> None:
        """Drops the pieces that are far behind the position."""
        while self._pieces and self._start + len(self._pieces[0]) + NEAR <= self.position:
            self._start += len(self._pieces.popleft())
