# Rendered from aio/reference.py by protocol/render.py: edit that, not this.
"""References, and the tasks that they start, for threads."""

from __future__ import annotations

import threading
import contextlib
from collections.abc import Iterator, Iterable, Mapping
from typing import Any

from ._changes import ChangeBacklog, ChangeOf
from ._methods import FolderTaskMethods, ReferenceMethods, TaskMethods
from ._streams import Source, checked
from ._types import FolderItemOf, FolderItemState, FolderSnapshotOf, ListingOf, Metadata, SnapshotOf
from .errors import ServiceGone
from .wire import decode, given, several
from ._face import READS, CallbackOf, Place, happened
from .streams import DownloadStreamOf, UploadStreamOf
from .tasks import TaskOf


class Reference(Place, ReferenceMethods):
    """A path in a bucket: a value, equal to any other with the same bucket and path.

    >>> space = storage.reference("images/space.jpg")
    >>> space.put_file("space.jpg", on_progress=print).wait().size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    def __str__(self) -> str:
        return self.url

    def changes(self) -> Changes:
        """The changes at and below this reference from now on, by any client; of a bucket those of all objects.

        >>> with storage.reference("uploads").changes() as changes:
        ...     for change in changes:
        ...         print(change.change, change.reference)
        """
        return Changes(self)

    def list_all(
        self, exact: bool | None = None, recursive: bool | None = None, metadata: bool | None = None, *, timeout: float | None = None
    ) -> Listing:
        """Lists all direct children, or with `recursive` all objects at any depth; with `metadata` that of the objects.

        `exact` includes names with empty segments, as in `list`. Where there may be very many, `walk` needs less memory.
        """
        if not metadata:
            return super().list_all(exact, recursive, timeout=timeout)
        prefixes: list[Reference] = []
        items: list[Reference] = []
        about: list[Metadata] = []
        for page in self._pages(exact, recursive, metadata, timeout):
            prefixes += page.prefixes
            items += page.items
            about += page.metadata
        return Listing(tuple(prefixes), tuple(items), None, tuple(about), page.bucket_exists)

    def walk(self, exact: bool | None = None, *, timeout: float | None = None) -> Iterator[Reference]:
        """The objects at any depth below this reference, in the order of their names. Asks for them page by page.

        >>> for reference in storage.reference("images").walk():
        ...     print(reference.full_path)
        """
        for page in self._pages(exact, True, None, timeout):
            for item in page.items:
                yield item

    def _pages(
        self, exact: bool | None, recursive: bool | None, metadata: bool | None, timeout: float | None
    ) -> Iterator[Listing]:
        token: str | None = None
        while True:
            page = self.list(page_token=token, exact=exact, metadata=metadata, recursive=recursive, timeout=timeout)
            yield page
            token = page.page_token
            if token is None:
                return

    def _start_upload_task(self, *start: Any) -> UploadTask:
        return self._start(UploadTask, *start)

    def _start_download_task(self, *start: Any) -> DownloadTask:
        return self._start(DownloadTask, *start)

    def _start_folder_task(self, *start: Any) -> FolderTask:
        return self._start(FolderTask, *start)

    def _start_upload_stream(self, source: Any, *start: Any) -> UploadStream:
        checked(source, READS)
        return UploadStream(self._start(UploadTask, *start), source)

    def _start_download_stream(self, method: Any, params: Mapping[str, Any], *start: Any) -> DownloadStream:
        task = self._start(DownloadTask, method, params, *start)
        return DownloadStream(task, params.get("offset", 0))

    def _to_reference(self, message: Any) -> Reference:
        return Reference.from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> Listing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(Listing, many)(message)


class Task(TaskOf["Snapshot", Metadata], TaskMethods):
    """The common part of uploads and downloads. The result is the metadata of the object."""

    def _result_of(self, snapshot: Snapshot) -> Metadata:
        return snapshot.metadata


class Change(ChangeOf[Reference]):
    """What happened to an object."""


class Changes(Iterator["Change"]):
    """The changes of objects, from the moment when this is entered or first asked for one, until it is closed."""

    def __init__(self, reference: Reference) -> None:
        self._reference, self._session = reference, reference._storage
        self._news = threading.Event()
        self._backlog: ChangeBacklog[Change] = ChangeBacklog(self._news.set, Change("missed", reference))
        self._handle: str | None = None
        self._closed = False

    def __enter__(self) -> Changes:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __next__(self) -> Change:
        change = self.next()
        if change is None:
            raise StopIteration
        return change

    def next(self, within: float | None = None) -> Change | None:
        """The next change; None once this is closed. Raises `TimeoutError` after so many seconds."""
        self._begin()
        while (change := self._backlog.pop()) is None:
            if self._closed:
                return None
            if not happened(self._news, within):
                raise TimeoutError(f"Nothing has changed at {self._reference.url} within {within} seconds.")
            self._news.clear()
        return change

    def close(self) -> None:
        """Ends the iteration."""
        handle, self._handle, self._closed = self._handle, None, True
        self._news.set()
        if handle is not None:
            self._session._tasks.feeds.drop(handle)
            with contextlib.suppress(ServiceGone):
                self._session._ask("storage/removeObserver", {"handle": handle}, bool)

    def _begin(self) -> None:
        if self._handle is None and not self._closed:
            convert = decode(Change, {"ReferenceT": self._reference._to_reference})
            then = self._session._tasks.feeds.keep(self._backlog, convert)
            self._handle = self._session._ask("storage/observe", {"reference": self._reference._place}, then)


class UploadTask(Task):
    """An upload of the service. With a `key`, a program that was interrupted or killed resumes it when it is run again.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", key="long film", on_progress=print)
    >>> task.pause(), task.resume()
    (True, True)
    >>> task.wait().md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"

    def stream(self, source: Source | None = None) -> UploadStream:
        """Resumes an upload that `put_stream` began, perhaps in an earlier session: writes from `tell` on.

        A task that is paused is resumed. `source` begins with that byte, too. Raises `ValueError` for any other task.

        >>> stream = storage.upload_task(id).stream()
        >>> file.seek(stream.tell())
        """
        checked(source, READS)
        now = self.snapshot()
        if now.offset is not None and now.state == "paused":
            self.resume()
            now = self.snapshot()
        if now.offset is None:
            raise ValueError(f"The upload {self.id} has ended, or it is no stream.")
        return UploadStream(self, source, now.offset)


class DownloadTask(Task):
    """A download of the service to a file; its snapshots have metadata once the file exists. With a `key`, a program that
    was interrupted or killed resumes it when it is run again.

    >>> storage.reference("films/long.mp4").write_to_file("long.mp4", key="long film", on_progress=print).wait().size
    1073741824
    """

    kind = "download"


class FolderTask(TaskOf["FolderSnapshot", "FolderSnapshot"], FolderTaskMethods):
    """Uploads, downloads or deletes many files. Its result is its last snapshot.

    >>> task = storage.reference("photos").put_directory("photos", changed=True, on_progress=print)
    >>> task.wait().files.unchanged
    12
    >>> [item.path for item in task.items(states=["failed", "refused"])]
    []
    """

    kind = "folder"

    def items(self, states: Iterable[FolderItemState] | None = None, *, timeout: float | None = None) -> Iterator[FolderItem]:
        """All files of the task, or those in these states, and why something was not done with them."""
        token: str | None = None
        wanted = several("states", states)
        while True:
            page, token = self._ask("items", given(states=wanted, pageToken=token), self._to_items, timeout)
            for item in page:
                yield item
            if token is None:
                return

    def _to_items(self, result: Any) -> tuple[list[FolderItem], str | None]:
        return list(map(self._storage._to_item, result["items"])), result.get("pageToken")

    def _result_of(self, snapshot: FolderSnapshot) -> FolderSnapshot:
        return snapshot


class UploadStream(UploadStreamOf[UploadTask]):
    """
    >>> with storage.reference("log.txt").put_stream() as stream:
    ...     stream.write(b"a line")
    >>> storage.reference("copy.jpg").put_stream(open("space.jpg", "rb"))
    """


class DownloadStream(DownloadStreamOf[DownloadTask]):
    """
    >>> with storage.reference("films/long.mp4").get_stream() as stream:
    ...     for chunk in stream:
    ...         print(len(chunk))
    >>> with storage.reference("films/long.mp4").get_stream() as stream:
    ...     stream.seek(-8, 2)
    ...     last = stream.read()
    """


class FolderItem(FolderItemOf[Reference]):
    """One file of a task over a folder."""


class FolderSnapshot(FolderSnapshotOf[FolderTask, Reference, FolderItem]):
    """A task over a folder in one moment. `files` counts; `failures` has the first files that something went wrong with."""


class Snapshot(SnapshotOf[Task, Reference]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
    itself; `retry` is set while it waits before another attempt."""


class Listing(ListingOf[Reference]):
    """One page of the direct children of a reference."""


Callback = CallbackOf[Snapshot]
"""Called with the snapshot of each event."""

FolderCallback = CallbackOf[FolderSnapshot]
"""The same of a task over a folder."""
