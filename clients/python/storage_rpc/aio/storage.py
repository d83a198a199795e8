"""The entry point of the client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from .._events import S
from .._tasks import TaskBase
from ..wire import decode, given
from ._session import Session
from .harness import AsyncHarness
from .reference import (
    AsyncDownloadTask,
    AsyncFolderItem,
    AsyncFolderSnapshot,
    AsyncFolderTask,
    AsyncReference,
    AsyncSnapshot,
    AsyncUploadTask,
)


class AsyncStorage(Session):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> async with AsyncStorage() as storage:
    ...     async for snapshot in storage.reference("images/space.jpg").put_file("space.jpg"):
    ...         print(snapshot.progress)

    All calls must come from the event loop that it was opened in. Callbacks run one at a time; what they return is
    awaited, where that can be. A call that is cancelled is cancelled at the service, too. What the service writes to
    stderr goes to the logger "storage_rpc".
    """

    _kinds = {
        AsyncUploadTask: AsyncSnapshot,
        AsyncDownloadTask: AsyncSnapshot,
        AsyncFolderTask: AsyncFolderSnapshot,
    }

    def reference(self, path: str = "", *, bucket: str | None = None, object: str | None = None) -> AsyncReference:
        """A reference to a path of a bucket; without a path, to its root. A path that starts as a URL is
        parsed as the URL of an object; one of S3 needs the engine `s3`. `object` instead of a path is the exact name of
        an object, slashes included."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        return self._to_reference(self._find(path, bucket, object))

    def reference_for_url(self, url: str) -> AsyncReference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return self._to_reference(self._find_url(url))

    def upload_task(self, id: str) -> AsyncUploadTask:
        """The upload with this id; does not check that it exists."""
        return self._tasks.get(AsyncUploadTask, id)

    def download_task(self, id: str) -> AsyncDownloadTask:
        """The download with this id; does not check that it exists."""
        return self._tasks.get(AsyncDownloadTask, id)

    def folder_task(self, id: str) -> AsyncFolderTask:
        """The task over a folder with this id; does not check that it exists."""
        return self._tasks.get(AsyncFolderTask, id)

    async def upload_tasks(self) -> list[AsyncSnapshot]:
        """All active uploads of the service, and the newest of the ended ones."""
        return [task async for page in self.upload_task_pages() for task in page]

    async def download_tasks(self) -> list[AsyncSnapshot]:
        """All active downloads of the service, and the newest of the ended ones."""
        return [task async for page in self.download_task_pages() for task in page]

    async def folder_tasks(self) -> list[AsyncFolderSnapshot]:
        """All active tasks of the service over folders, and the newest of the ended ones."""
        return [task async for page in self.folder_task_pages() for task in page]

    def upload_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(AsyncUploadTask, max_results)

    def download_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(AsyncDownloadTask, max_results)

    def folder_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncFolderSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages(AsyncFolderTask, max_results)

    async def call(self, method: str, **params: Any) -> Any:
        """Calls any method of the service by its name on the wire.

        >>> await storage.call("service/ping")
        'pong'
        """
        return await self._ask(method, params, lambda result: result)

    @property
    def harness(self) -> AsyncHarness:
        """Faults, holds, the clock and the journal of a service that was started with `--harness`."""
        return AsyncHarness(self)

    async def _pages(
        self, kind: type[TaskBase[S, Any]], max_results: int
    ) -> AsyncIterator[list[S]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = await self._ask(f"{kind.kind}Task/list", params, self._tasks.page(kind))
            yield snapshots
            if token is None:
                return

    def _to_reference(self, message: Any) -> AsyncReference:
        return AsyncReference._from_wire(self, message)

    def _to_item(self, message: Any) -> AsyncFolderItem:
        return decode(AsyncFolderItem, {"ReferenceT": self._to_reference})(message)
