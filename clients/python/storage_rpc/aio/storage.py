"""The entry point of the client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from .._methods import AsyncStorageMethods
from .._tasks import Tasks
from ..urls import is_url, not_in, parse_url
from ._session import Session
from .reference import AsyncDownloadTask, AsyncReference, AsyncSnapshot, AsyncUploadTask


class AsyncStorage(Session[AsyncSnapshot], AsyncStorageMethods):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> async with AsyncStorage() as storage:
    ...     async for snapshot in storage.reference("images/space.jpg").put_file("space.jpg"):
    ...         print(snapshot.progress)

    All calls must come from the event loop that it was opened in. Callbacks run one at a time; what they return is
    awaited, where that can be. A call that is cancelled is cancelled at the service, too. What the service writes to
    stderr goes to the logger "storage_rpc".
    """

    def reference(
        self, path: str = "", *, bucket: str | None = None, object: str | None = None
    ) -> AsyncReference:
        """A reference to a path of a bucket; without a path, to its root. A path that starts as a URL is
        parsed as the URL of an object. `object` instead of a path is the exact name of an object, slashes included."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        if is_url(path):
            found = self.reference_for_url(path)
            if bucket is not None and bucket != found.bucket:
                raise not_in(bucket, found.bucket, found.full_path)
            return found
        return AsyncReference(self.default_bucket if bucket is None else bucket, path, object, self)

    def reference_for_url(self, url: str) -> AsyncReference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return AsyncReference(*parse_url(url), None, self)

    def upload_task(self, id: str) -> AsyncUploadTask:
        """The upload with this id; does not check that it exists."""
        return self._tasks.get(AsyncUploadTask, id)

    def download_task(self, id: str) -> AsyncDownloadTask:
        """The download with this id; does not check that it exists."""
        return self._tasks.get(AsyncDownloadTask, id)

    async def upload_tasks(self) -> list[AsyncSnapshot]:
        """All active uploads of the service, and the newest of the ended ones."""
        return [task async for page in self.upload_task_pages() for task in page]

    async def download_tasks(self) -> list[AsyncSnapshot]:
        """All active downloads of the service, and the newest of the ended ones."""
        return [task async for page in self.download_task_pages() for task in page]

    def upload_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages("uploadTask/list", AsyncUploadTask, max_results)

    def download_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages("downloadTask/list", AsyncDownloadTask, max_results)

    def _new_tasks(self) -> Tasks[AsyncSnapshot]:
        kinds = (AsyncUploadTask, AsyncDownloadTask)
        return Tasks(AsyncSnapshot, kinds, lambda kind, id: kind(self, id), self._to_reference)

    def _to_reference(self, message: Mapping[str, Any]) -> AsyncReference:
        return AsyncReference(message["bucket"], message["fullPath"], message.get("object"), self)
