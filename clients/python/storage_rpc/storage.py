"""The entry point of the client for threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._methods import StorageMethods
from ._session import Session
from ._tasks import Tasks
from ._types import Settings
from .reference import DownloadTask, Reference, Snapshot, UploadTask
from .urls import is_url
from .wire import given


class Storage(Session[Snapshot], StorageMethods):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> with Storage() as storage:
    ...     storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

    All calls may come from any thread, and from callbacks; callbacks run one at a time, on a thread
    of the session. What the service writes to stderr goes to the logger "storage_rpc".
    """

    def reference(self, path: str = "", *, bucket: str | None = None, object: str | None = None) -> Reference:
        """A reference to a path of a bucket; without a path, to its root. A path that starts as a URL is
        parsed as the URL of an object. `object` instead of a path is the exact name of an object, slashes included."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        if is_url(path):
            return self._refer(given(url=path, bucket=bucket))
        place = {"path": path} if object is None else {"object": object}
        return self._refer({**place, "bucket": self.default_bucket if bucket is None else bucket})

    def reference_for_url(self, url: str) -> Reference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return self._refer({"url": url})

    @property
    def settings(self) -> Settings:
        return self.get_settings()

    def upload_task(self, id: str) -> UploadTask:
        """The upload with this id; does not check that it exists."""
        return self._tasks.get(UploadTask, id)

    def download_task(self, id: str) -> DownloadTask:
        """The download with this id; does not check that it exists."""
        return self._tasks.get(DownloadTask, id)

    def upload_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All active uploads of the service, and the newest of the ended ones."""
        return [task for page in self.upload_task_pages(timeout=timeout) for task in page]

    def download_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All active downloads of the service, and the newest of the ended ones."""
        return [task for page in self.download_task_pages(timeout=timeout) for task in page]

    def upload_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages("uploadTask/list", UploadTask, max_results, timeout)

    def download_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same in pages of at most `max_results`: each task that exists throughout is listed once."""
        return self._pages("downloadTask/list", DownloadTask, max_results, timeout)

    def _new_tasks(self) -> Tasks[Snapshot]:
        return Tasks(Snapshot, (UploadTask, DownloadTask), lambda kind, id: kind(self, id), self._to_reference)

    def _to_reference(self, message: Mapping[str, Any]) -> Reference:
        return Reference.from_wire(self, message)

    def _refer(self, params: Mapping[str, str]) -> Reference:
        return self._ask("storage/reference", params, self._to_reference)
