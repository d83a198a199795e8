"""References, and the tasks that they start, for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from .._changes import ChangeBacklog, ChangeOf
from .._methods import AsyncFolderTaskMethods, AsyncReferenceMethods, AsyncTaskMethods
from .._streams import AsyncSource, checked
from .._types import FolderItemOf, FolderItemState, FolderSnapshotOf, ListingOf, Metadata, SnapshotOf
from ..errors import ServiceGone
from ..wire import decode, given, several
from ._face import READS, CallbackOf, Place, happened
from .streams import AsyncDownloadStreamOf, AsyncUploadStreamOf
from .tasks import AsyncTaskOf


class AsyncReference(Place, AsyncReferenceMethods):
    """A path in a bucket: a value, equal to any other with the same bucket and path.

    >>> space = storage.reference("images/space.jpg")
    >>> (await space.put_file("space.jpg", on_progress=print)).size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> await space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    def __str__(self) -> str:
        return self.url

    def changes(self) -> AsyncChanges:
        """The changes at and below this reference from now on, by any client; of a bucket those of all objects.

        >>> async with storage.reference("uploads").changes() as changes:
        ...     async for change in changes:
        ...         print(change.change, change.reference)
        """
        return AsyncChanges(self)

    async def list_all(
        self, exact: bool | None = None, recursive: bool | None = None, metadata: bool | None = None
    ) -> AsyncListing:
        """Lists all direct children, or with `recursive` all objects at any depth; with `metadata` that of the objects.

        `exact` includes names with empty segments, as in `list`. Where there may be very many, `walk` needs less memory.
        """
        if not metadata:
            return await super().list_all(exact, recursive)
        prefixes: list[AsyncReference] = []
        items: list[AsyncReference] = []
        about: list[Metadata] = []
        async for page in self._pages(exact, recursive, metadata):
            prefixes += page.prefixes
            items += page.items
            about += page.metadata
        return AsyncListing(tuple(prefixes), tuple(items), None, tuple(about), page.bucket_exists)

    async def walk(self, exact: bool | None = None) -> AsyncIterator[AsyncReference]:
        """The objects at any depth below this reference, in the order of their names. Asks for them page by page.

        >>> async for reference in storage.reference("images").walk():
        ...     print(reference.full_path)
        """
        async for page in self._pages(exact, True, None):
            for item in page.items:
                yield item

    async def _pages(
        self, exact: bool | None, recursive: bool | None, metadata: bool | None
    ) -> AsyncIterator[AsyncListing]:
        token: str | None = None
        while True:
            page = await self.list(page_token=token, exact=exact, metadata=metadata, recursive=recursive)
            yield page
            token = page.page_token
            if token is None:
                return

    def _start_upload_task(self, *start: Any) -> AsyncUploadTask:
        return self._start(AsyncUploadTask, *start)

    def _start_download_task(self, *start: Any) -> AsyncDownloadTask:
        return self._start(AsyncDownloadTask, *start)

    def _start_folder_task(self, *start: Any) -> AsyncFolderTask:
        return self._start(AsyncFolderTask, *start)

    def _start_upload_stream(self, source: Any, *start: Any) -> AsyncUploadStream:
        checked(source, READS)
        return AsyncUploadStream(self._start(AsyncUploadTask, *start), source)

    def _start_download_stream(self, method: Any, params: Mapping[str, Any], *start: Any) -> AsyncDownloadStream:
        task = self._start(AsyncDownloadTask, method, params, *start)
        return AsyncDownloadStream(task, params.get("offset", 0))

    def _to_reference(self, message: Any) -> AsyncReference:
        return AsyncReference._from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> AsyncListing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(AsyncListing, many)(message)


class AsyncTask(AsyncTaskOf["AsyncSnapshot", Metadata], AsyncTaskMethods):
    """The common part of uploads and downloads. The result is the metadata of the object."""

    def _result_of(self, snapshot: AsyncSnapshot) -> Metadata:
        return snapshot.metadata


class AsyncChange(ChangeOf[AsyncReference]):
    """What happened to an object."""


class AsyncChanges(AsyncIterator["AsyncChange"]):
    """The changes of objects, from the moment when this is entered or first asked for one, until it is closed."""

    def __init__(self, reference: AsyncReference) -> None:
        self._reference, self._session = reference, reference._storage
        self._news = asyncio.Event()
        self._backlog: ChangeBacklog[AsyncChange] = ChangeBacklog(self._news.set, AsyncChange("missed", reference))
        self._handle: str | None = None
        self._closed = False

    async def __aenter__(self) -> AsyncChanges:
        await self._begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def __anext__(self) -> AsyncChange:
        change = await self.next()
        if change is None:
            raise StopAsyncIteration
        return change

    async def next(self, within: float | None = None) -> AsyncChange | None:
        """The next change; None once this is closed. Raises `TimeoutError` after so many seconds."""
        await self._begin()
        while (change := self._backlog.pop()) is None:
            if self._closed:
                return None
            if not await happened(self._news, within):
                raise TimeoutError(f"Nothing has changed at {self._reference.url} within {within} seconds.")
            self._news.clear()
        return change

    async def close(self) -> None:
        """Ends the iteration."""
        handle, self._handle, self._closed = self._handle, None, True
        self._news.set()
        if handle is not None:
            self._session._tasks.feeds.drop(handle)
            with contextlib.suppress(ServiceGone):
                await self._session._ask("storage/removeObserver", {"handle": handle}, bool)

    async def _begin(self) -> None:
        if self._handle is None and not self._closed:
            convert = decode(AsyncChange, {"ReferenceT": self._reference._to_reference})
            then = self._session._tasks.feeds.keep(self._backlog, convert)
            self._handle = await self._session._ask("storage/observe", {"reference": self._reference._place}, then)


class AsyncUploadTask(AsyncTask):
    """An upload of the service. With a `key`, a program that was interrupted or killed resumes it when it is run again.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", key="long film", on_progress=print)
    >>> await task.pause(), await task.resume()
    (True, True)
    >>> (await task).md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"

    async def stream(self, source: AsyncSource | None = None) -> AsyncUploadStream:
        """Resumes an upload that `put_stream` began, perhaps in an earlier session: writes from `tell` on.

        A task that is paused is resumed. `source` begins with that byte, too. Raises `ValueError` for any other task.

        >>> stream = await storage.upload_task(id).stream()
        >>> file.seek(stream.tell())
        """
        checked(source, READS)
        now = await self.snapshot()
        if now.offset is not None and now.state == "paused":
            await self.resume()
            now = await self.snapshot()
        if now.offset is None:
            raise ValueError(f"The upload {self.id} has ended, or it is no stream.")
        return AsyncUploadStream(self, source, now.offset)


class AsyncDownloadTask(AsyncTask):
    """A download of the service to a file; its snapshots have metadata once the file exists. With a `key`, a program that
    was interrupted or killed resumes it when it is run again.

    >>> (await storage.reference("films/long.mp4").write_to_file("long.mp4", key="long film", on_progress=print)).size
    1073741824
    """

    kind = "download"


class AsyncFolderTask(AsyncTaskOf["AsyncFolderSnapshot", "AsyncFolderSnapshot"], AsyncFolderTaskMethods):
    """Uploads, downloads or deletes many files. Its result is its last snapshot.

    >>> task = storage.reference("photos").put_directory("photos", changed=True, on_progress=print)
    >>> (await task).files.unchanged
    12
    >>> [item.path async for item in task.items(states=["failed", "refused"])]
    []
    """

    kind = "folder"

    async def items(self, states: Iterable[FolderItemState] | None = None) -> AsyncIterator[AsyncFolderItem]:
        """All files of the task, or those in these states, and why something was not done with them."""
        token: str | None = None
        wanted = several("states", states)
        while True:
            page, token = await self._ask("items", given(states=wanted, pageToken=token), self._to_items)
            for item in page:
                yield item
            if token is None:
                return

    def _to_items(self, result: Any) -> tuple[list[AsyncFolderItem], str | None]:
        return list(map(self._storage._to_item, result["items"])), result.get("pageToken")

    def _result_of(self, snapshot: AsyncFolderSnapshot) -> AsyncFolderSnapshot:
        return snapshot


class AsyncUploadStream(AsyncUploadStreamOf[AsyncUploadTask]):
    """
    >>> async with storage.reference("log.txt").put_stream() as stream:
    ...     await stream.write(b"a line")
    >>> await storage.reference("copy.jpg").put_stream(open("space.jpg", "rb"))
    """


class AsyncDownloadStream(AsyncDownloadStreamOf[AsyncDownloadTask]):
    """
    >>> async with storage.reference("films/long.mp4").get_stream() as stream:
    ...     async for chunk in stream:
    ...         print(len(chunk))
    >>> async with storage.reference("films/long.mp4").get_stream() as stream:
    ...     await stream.seek(-8, 2)
    ...     last = await stream.read()
    """


class AsyncFolderItem(FolderItemOf[AsyncReference]):
    """One file of a task over a folder."""


class AsyncFolderSnapshot(FolderSnapshotOf[AsyncFolderTask, AsyncReference, AsyncFolderItem]):
    """A task over a folder in one moment. `files` counts; `failures` has the first files that something went wrong with."""


class AsyncSnapshot(SnapshotOf[AsyncTask, AsyncReference]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
    itself; `retry` is set while it waits before another attempt."""


class AsyncListing(ListingOf[AsyncReference]):
    """One page of the direct children of a reference."""


AsyncCallback = CallbackOf[AsyncSnapshot]
"""Called with the snapshot of each event."""

AsyncFolderCallback = CallbackOf[AsyncFolderSnapshot]
"""The same of a task over a folder."""
