"""The streams of uploads and downloads, for asyncio."""

from __future__ import annotations

import errno
import logging
import operator
import weakref
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .._streams import PIECE, WINDOW, Appended, Incoming, Outgoing, Piece, handled
from .._types import Metadata
from ..errors import StorageError
from ..wire import Bytes, given
from ._face import Sink, Source, Waiting, answered, begun, chunks, feed, forsake, quietly, starve

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

log = logging.getLogger("storage_rpc")
T = TypeVar("T", bound=Waiting[Any, Any])
W = TypeVar("W", bound="AsyncUploadStreamOf[Any]")
D = TypeVar("D", bound="AsyncDownloadStreamOf[Any]")


class AsyncUploadStreamOf(Sink, Generic[T]):
    """An upload whose bytes are written piece by piece, or come from a source.

    A write waits while the service has some pieces to store: the client keeps a few MiB at most. Only a deliberate end
    stores the object: `finish`, `close`, or leaving `async with`. An exception that leaves it cancels the upload, and
    nothing is stored. There is one writer at a time. A session that closes, but not early, first sends what was written,
    so that a later one can continue the upload.
    """

    def __init__(self, task: T, source: Any = None, offset: int = 0) -> None:
        self.task, self._task = task, cast("Any", task)
        self.offset = self.durable = offset
        """The bytes before `offset` are taken; those before `durable` survive an end of the service."""
        self._session = task._storage
        self._bytes = Outgoing(offset, self._session._connection.core.max_message_bytes)
        self._unanswered: deque[Any] = deque()
        self._trouble: BaseException | None = None
        self._context = handled()[1]
        self._is_fed, self._is_closed = source is not None, False
        if self._is_fed:
            feed(self, source)
        self._session._uploads.add(weakref.ref(self, self._session._uploads.discard))

    @property
    def closed(self) -> bool:
        return self._is_closed

    def tell(self) -> int:
        """The position of the next byte that is written."""
        return self._bytes.written

    async def write(self, data: ReadableBuffer, /) -> int:
        """Takes all bytes, and sends them when they fill a piece. Raises the error of the task, or of an earlier write."""
        if self._is_fed:
            raise ValueError("The bytes of this stream come from its source.")
        return await self._write(data)

    async def flush(self) -> None:
        """Returns when the service has taken all that was written."""
        offset, data = self._bytes.rest()
        if data:
            await self._append(offset, data)
        while self._unanswered:
            await self._settle()

    async def finish(self, md5_hash: str | None = None) -> Metadata:
        """Stores the object, and returns its metadata. With another MD5 than the given one, the task fails with -13031."""
        if not self._is_closed:
            await self.flush()
            params = {"task": await begun(self.task), **given(md5Hash=md5_hash)}
            await answered(self._session._submit("uploadTask/finish", params, lambda result: result))
            self._is_closed = True
        return await self.wait()

    async def close(self) -> None:
        """Stores the object, as `finish`; with a source, waits until it is stored. What prevents that cancels the upload.

        While an exception is handled that was raised after the stream began, this cancels, and stores nothing: so do a
        block `finally`, and a wrapper that an exception leaves. In a block `except`, `finish` stores.

        A bare `raise` that leaves a wrapper in the block `except` that the stream began in is not seen, and stores: Python
        shows the same exception and traceback then as at a good end. Call `cancel` before it.
        """
        error, trace = handled()
        if self._is_closed or error is None or trace is self._context:
            await self._end()
            return
        log.warning("%r is cancelled: its stream was closed while %s was handled.", self.task, type(error).__name__)
        await quietly(self.cancel)

    async def cancel(self) -> bool:
        """Ends the upload; nothing is stored."""
        self._is_closed, self._context = True, None
        self._unanswered.clear()
        starve(self)
        return bool(await self._task.cancel())

    async def wait(self) -> Metadata:
        """Waits for the end of the task. Raises its error, or that of the source."""
        try:
            metadata: Metadata = await self.task.wait()
        except StorageError:
            if self._trouble is None:
                raise
            raise self._trouble from None
        return metadata

    async def __aenter__(self: W) -> W:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            await quietly(self.cancel)
        elif not self._is_closed:
            await self._end()
        elif self._trouble is not None:
            raise self._trouble

    async def _end(self) -> None:
        """Stores the object. What prevents that cancels the upload."""
        if self._is_closed and not self._is_fed:
            return
        try:
            if self._is_fed:
                await self.wait()
            else:
                await self.finish()
            self._context = None
        except BaseException:
            await quietly(self.cancel)
            raise

    async def _write(self, data: ReadableBuffer) -> int:
        if self._is_closed:
            raise ValueError("The stream is closed.")
        with memoryview(data) as view, view.cast("B") as octets:
            for offset, piece in self._bytes.pieces(octets):
                await self._append(offset, piece)
            return len(octets)

    async def _append(self, offset: int, data: bytes) -> None:
        """Sends a piece, where few enough are unanswered; raises first what has failed."""
        while self._unanswered and (len(self._unanswered) >= WINDOW or self._unanswered[0].done()):
            await self._settle()
        await self._send(offset, data)

    async def _send(self, offset: int, data: bytes) -> None:
        params = {"task": await begun(self.task), "data": Bytes(data), "offset": offset}
        self._unanswered.append(self._session._submit("uploadTask/append", params, Appended.from_wire))

    async def _rest(self) -> list[Any]:
        """Sends what does not fill a piece yet, before the session closes. Returns the requests that have no answer."""
        if not self._is_fed and not self._is_closed:
            offset, data = self._bytes.rest(is_last=True)
            if data:
                await self._send(offset, data)
        return list(self._unanswered)

    async def _settle(self) -> None:
        """Waits for the oldest answer. An error stays: what follows would leave a gap."""
        taken: Appended = await answered(self._unanswered[0])
        self._unanswered.popleft()
        self.offset, self.durable = taken.offset, taken.durable

    async def _feed(self, source: Any) -> None:
        trouble = await self._copied(source)
        if trouble is not None and not self._is_closed:
            self._trouble = trouble
            await quietly(self._task.cancel)

    async def _copied(self, source: Any) -> BaseException | None:
        """Stores the bytes of the source; returns what has prevented that."""
        try:
            async for chunk in chunks(source, self._bytes.size):
                await self._write(chunk)
            await self.finish()
        except BaseException as error:
            return error
        return None


class AsyncDownloadStreamOf(Source, Generic[T]):
    """A download whose bytes are read piece by piece, in any order, from one generation of the object.

    Some pieces are fetched ahead, and some of those that were read are kept: the client has a few MiB at most. Iterating
    yields the bytes as they arrive. Leaving `async with`, or closing, before the end cancels the download. There is one
    reader at a time. An object that is replaced or deleted meanwhile fails the next read.
    """

    def __init__(self, task: T, offset: int = 0) -> None:
        self.task, self._task = task, cast("Any", task)
        self._session = task._storage
        self._bytes = Incoming(offset)
        self._unanswered: deque[Any] = deque()
        self._is_closed = False

    @property
    def closed(self) -> bool:
        return self._is_closed

    @property
    def verified(self) -> bool | None:
        """After the end: whether all bytes match the checksum of the object. False if they were not read in order from the
        first one, or where the server has no checksum. Bytes that do not match raise `NonMatchingChecksum` at the end."""
        return self._bytes.verified

    def tell(self) -> int:
        """The position of the next byte that is read."""
        return self._bytes.position

    def seekable(self) -> bool:
        return True

    async def seek(self, offset: int, whence: int = 0, /) -> int:
        """Sets the position, as that of a file, and returns it. Only the next read fetches bytes.

        The last 256 KiB that were read are kept. A short way ahead the stream reads on; a longer one leaves out what is
        between, and so does a long way back. Beyond the end there are no bytes.
        """
        if self._is_closed:
            raise ValueError("The stream is closed.")
        if whence not in (0, 1, 2):
            raise ValueError(f"whence must be 0, 1 or 2, not {whence!r}.")
        base = 0 if whence == 0 else self.tell() if whence == 1 else await self._size()
        position = base + operator.index(offset)
        if not 0 <= position < 1 << 63:
            raise OSError(errno.EINVAL, f"There is no position {position}")
        self._bytes.position = position
        return position

    async def read(self, size: int | None = -1, /) -> bytes:
        """The next `size` bytes, or fewer if the object ends before; without a size all that follow."""
        return b"".join([part async for part in self._parts(None if size is None or size < 0 else size)])

    async def readall(self) -> bytes:
        return await self.read()

    async def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fills the buffer, unless the object ends before. Returns the number of bytes."""
        count = 0
        with memoryview(buffer) as view, view.cast("B") as octets:
            async for part in self._parts(len(octets)):
                octets[count : count + len(part)] = part
                count += len(part)
        return count

    def __aiter__(self: D) -> D:
        return self

    async def __anext__(self) -> bytes:
        await self._fetch()
        if not self._bytes:
            raise StopAsyncIteration
        return bytes(self._bytes.take())

    async def close(self) -> None:
        """Ends the stream. Cancels the task, unless all bytes were read in their order."""
        is_late, self._is_closed = self._is_closed or self._bytes.is_over, True
        self._unanswered.clear()
        if not is_late:
            await quietly(self._task.cancel)

    async def __aenter__(self: D) -> D:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _parts(self, size: int | None) -> AsyncIterator[memoryview]:
        """The next `size` bytes, or all that follow. An error leaves the position where it was."""
        start, rest = self._bytes.position, size
        try:
            while rest is None or rest > 0:
                await self._fetch(rest)
                part = self._bytes.take(rest)
                if not part:
                    return
                rest = None if rest is None else rest - len(part)
                yield part
        except BaseException:
            self._bytes.position = start
            raise

    async def _fetch(self, wanted: int | None = None) -> None:
        """Returns when bytes have arrived at the position, or the object ends before it."""
        if self._is_closed:
            raise ValueError("The stream is closed.")
        while not self._bytes and not self._bytes.is_end:
            if self._bytes.aim():
                self._forget()
            task: dict[str, Any] = {"task": await begun(self.task)}
            while len(self._unanswered) < self._bytes.window:
                place = self._bytes.ask(PIECE if wanted is None else wanted)
                if place is None:
                    break
                self._unanswered.append(self._session._submit("downloadTask/read", {**task, **place}, Piece.from_wire))
            if not self._bytes.put(await self._piece()):
                self._forget()
        if self._bytes.is_end and self._bytes.is_sequence:
            self._unanswered.clear()  # what was asked beyond the end

    async def _piece(self) -> Piece:
        """The answer to the oldest read. One that fails fails the sequence; elsewhere the caller may read again."""
        try:
            piece: Piece = await answered(self._unanswered[0])
        except StorageError:
            if not self._bytes.is_sequence:
                self._forget()
            raise
        self._unanswered.popleft()
        return piece

    async def _size(self) -> int:
        if self._bytes.size is None:
            params = {"task": await begun(self.task), "offset": 0, "length": 0}
            piece: Piece = await answered(self._session._submit("downloadTask/read", params, Piece.from_wire))
            self._bytes.size = piece.size
        return cast("int", self._bytes.size)

    def _forget(self) -> None:
        """Takes back the reads that have no answer."""
        self._bytes.forget()
        forsake(self._session, self._unanswered)
        self._unanswered.clear()
