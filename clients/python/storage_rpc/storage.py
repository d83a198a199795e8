# Rendered from aio/storage.py by protocol/render.py: edit that, not this.
"""The entry point of the client for threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._events import S
from ._tasks import TaskBase
from .wire import decode, given
from ._session import Session
from .harness import Harness
from .reference import (
    DownloadTask,
    FolderItem,
    FolderSnapshot,
    FolderTask,
    Reference,
    Snapshot,
    UploadTask,
)


class Storage(Session):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> with Storage() as storage:
    ...     storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

    All calls may come from any thread, and from callbacks; callbacks run one at a time, on a thread of the
    session. What the service writes to stderr goes to the logger "storage_rpc".
    """

    _kinds = {
        UploadTask: Snapshot,
        DownloadTask: Snapshot,
        FolderTask: FolderSnapshot,
    }

    def reference(self, path: str = "", *, bucket: str | None = None, object: str | None = None) -> Reference:
        """A reference to a path of a bucket; without a path, to its root. A path that starts as a URL is
        parsed as the URL of an object; one of S3 needs the engine `s3`. `object` instead of a path is the exact name of
        an object, slashes included."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        return self._to_reference(self._find(path, bucket, object))

    def reference_for_url(self, url: str) -> Reference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return self._to_reference(self._find_url(url))

    def upload_task(self, id: str) -> UploadTask:
        """The upload with this id; does not check that it exists."""
        return self._tasks.get(UploadTask, id)

    def download_task(self, id: str) -> DownloadTask:
        """The download with this id; does not check that it exists."""
        return self._tasks.get(DownloadTask, id)

    def folder_task(self, id: str) -> FolderTask:
        """The task over a folder with this id; does not check that it exists."""
        return self._tasks.get(FolderTask, id)

    def upload_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All active uploads of the service, and the newest of the ended ones."""
        return [task for page in self.upload_task_pages(timeout=timeout) for task in page]

    def download_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All active downloads of the service, and the newest of the ended ones."""
        return [task for page in self.download_task_pages(timeout=timeout) for task in page]

    def folder_tasks(self, *, timeout: float | None = None) -> list[FolderSnapshot]:
        """All active tasks of the service over folders, and the newest of the ended ones."""
        return [task for page in self.folder_task_pages(timeout=timeout) for task in page]

    def upload_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(UploadTask, max_results, timeout)

    def download_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(DownloadTask, max_results, timeout)

    def folder_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[FolderSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(FolderTask, max_results, timeout)

    def call(self, method: str, timeout: float | None = None, **params: Any) -> Any:
        """Calls any method of the service by its name on the wire.

        >>> storage.call("service/ping")
        'pong'
        """
        return self._ask(method, params, lambda result: result, timeout)

    @property
    def harness(self) -> Harness:
        """Faults, holds, the clock and the journal of a service that was started with `--harness`."""
        return Harness(self)

    def _pages(
        self, kind: type[TaskBase[S, Any]], max_results: int, timeout: float | None = None
    ) -> Iterator[list[S]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = self._ask(f"{kind.kind}Task/list", params, self._tasks.page(kind), timeout)
            yield snapshots
            if token is None:
                return

    def _to_reference(self, message: Any) -> Reference:
        return Reference.from_wire(self, message)

    def _to_item(self, message: Any) -> FolderItem:
        return decode(FolderItem, {"ReferenceT": self._to_reference})(message)
