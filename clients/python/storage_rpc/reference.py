"""Where an object is, or may be."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import wire
from .values import Listing

if TYPE_CHECKING:
    from .storage import AnyTask, Storage
    from .task import DownloadTask, UploadTask
    from .values import Callback, Metadata, MetadataChange, Status

T = TypeVar("T")


@dataclass(frozen=True)
class Reference:
    """A place in a bucket: a value, equal to any other of the same place.

    >>> space = storage.reference("images/space.jpg")
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    """

    bucket: str
    full_path: str
    name: str = field(compare=False)
    """The last part of the path; empty at the root."""
    url: str = field(compare=False)
    """`gs://bucket/full_path`, never percent-encoded."""
    warnings: tuple[str, ...] = field(compare=False, repr=False)
    """What of the path other tools may stumble over."""
    _storage: Storage = field(compare=False, repr=False)

    @classmethod
    def from_wire(cls, storage: Storage, message: Mapping[str, Any]) -> Reference:
        warnings = tuple(message.get("warnings", ()))
        return cls(message["bucket"], message["fullPath"], message["name"], message["url"], warnings, storage)

    def __str__(self) -> str:
        return self.url

    def child(self, path: str) -> Reference:
        return self._call("child", lambda result: Reference.from_wire(self._storage, result), path=path)

    def parent(self) -> Reference | None:
        """None at the root."""
        return self._call("parent", lambda result: Reference.from_wire(self._storage, result) if result else None)

    def root(self) -> Reference:
        return self._call("root", lambda result: Reference.from_wire(self._storage, result))

    def get_metadata(self, *, timeout: float | None = None) -> Metadata:
        return self._call("getMetadata", wire.metadata_from_wire, timeout)

    def update_metadata(self, metadata: MetadataChange, *, timeout: float | None = None) -> Metadata:
        """The metadata as they are then.

        >>> space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
        """
        return self._call("updateMetadata", wire.metadata_from_wire, timeout, metadata=wire.metadata_to_wire(metadata))

    def delete(self, *, timeout: float | None = None) -> None:
        self._call("delete", lambda result: None, timeout)

    def download_url(self, *, timeout: float | None = None) -> str:
        """A URL that anybody may fetch the object from, until it is revoked."""
        return self._call("downloadURL", lambda result: str(result["url"]), timeout)

    def revoke_download_url(self, *, timeout: float | None = None) -> str:
        """A new URL; those that were given before are worthless from then on."""
        return self._call("revokeDownloadURL", lambda result: str(result["url"]), timeout)

    def list(
        self, max_results: int | None = None, page_token: str | None = None, *, timeout: float | None = None
    ) -> Listing:
        """One page of what is directly below, of 1 to 1000 results.

        >>> [item.name for item in storage.reference("images").list(max_results=10).items]
        ['moon.jpg', 'space.jpg']
        """
        params = {"maxResults": max_results, "pageToken": page_token}
        given = {name: value for name, value in params.items() if value is not None}
        return self._call("list", self._listing, timeout, **given)

    def list_all(self, *, timeout: float | None = None) -> Listing:
        """All that is directly below; where there may be very much, go from page to page."""
        return self._call("listAll", self._listing, timeout)

    def get_data(self, max_size: int, *, timeout: float | None = None) -> bytes:
        """All bytes; raises `DownloadSizeExceeded` where there are more. So much memory is set aside in the service.

        >>> storage.reference("notes/today.txt").get_data(max_size=1 << 20)
        b'It rained.'
        """
        return self._call("getData", lambda result: base64.b64decode(result["data"]), timeout, maxSize=max_size)

    def write_to_file(
        self,
        file: str | os.PathLike[str],
        *,
        on_progress: Callback | None = None,
        observe: Mapping[Status, Callback] | None = None,
        timeout: float | None = None,
    ) -> DownloadTask:
        """Starts to download to a local file, which appears or is replaced when all has arrived.

        >>> storage.reference("images/space.jpg").write_to_file("space.jpg", on_progress=print).wait()
        """
        params = {"file": os.path.abspath(file)}
        return self._start("writeToFile", params, self._storage._begin_download, on_progress, observe, timeout)

    def put_data(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        metadata: MetadataChange | None = None,
        on_progress: Callback | None = None,
        observe: Mapping[Status, Callback] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Starts to upload bytes, or a text as UTF-8. Returns the task, which is under way.

        >>> storage.reference("notes/today.txt").put_data("It rained.").wait().size
        10
        """
        source = {"text": data} if isinstance(data, str) else {"data": base64.b64encode(data).decode("ascii")}
        return self._put("putData", source, metadata, on_progress, observe, timeout)

    def put_file(
        self,
        file: str | os.PathLike[str],
        *,
        metadata: MetadataChange | None = None,
        on_progress: Callback | None = None,
        observe: Mapping[Status, Callback] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Starts to upload a local file. Returns the task, which is under way; `timeout` is for its start.

        >>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()
        """
        return self._put("putFile", {"file": os.path.abspath(file)}, metadata, on_progress, observe, timeout)

    def _put(
        self,
        method: str,
        source: Mapping[str, str],
        metadata: MetadataChange | None,
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
    ) -> UploadTask:
        params: dict[str, Any] = dict(source)
        if metadata is not None:
            params["metadata"] = wire.metadata_to_wire(metadata)
        return self._start(method, params, self._storage._begin_upload, on_progress, observe, timeout)

    def _start(
        self,
        method: str,
        params: Mapping[str, Any],
        begin: Callable[[Mapping[str, Any], Mapping[Status, Callback]], AnyTask],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
    ) -> AnyTask:
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        statuses = [*{**callbacks, "success": None, "failure": None}]
        return self._call(method, lambda result: begin(result, callbacks), timeout, **params, observe=statuses)

    def _listing(self, message: Mapping[str, Any]) -> Listing:
        prefixes, items = (
            tuple(Reference.from_wire(self._storage, one) for one in message[name]) for name in ("prefixes", "items")
        )
        return Listing(prefixes, items, message.get("pageToken"))

    def _call(self, method: str, then: Callable[[Any], T], timeout: float | None = None, **params: Any) -> T:
        place = {"bucket": self.bucket, "fullPath": self.full_path}
        return self._storage._call(f"reference/{method}", {"reference": place, **params}, then, timeout)
