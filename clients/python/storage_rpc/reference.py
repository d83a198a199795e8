"""Where an object is, or may be."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import wire

if TYPE_CHECKING:
    from .storage import Storage
    from .task import UploadTask
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
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        params: dict[str, Any] = {**source, "observe": [*{**callbacks, "success": None, "failure": None}]}
        if metadata is not None:
            params["metadata"] = wire.metadata_to_wire(metadata)
        return self._call(method, lambda result: self._storage._begin(result, callbacks), timeout, **params)

    def _call(self, method: str, then: Callable[[Any], T], timeout: float | None = None, **params: Any) -> T:
        place = {"bucket": self.bucket, "fullPath": self.full_path}
        return self._storage._call(f"reference/{method}", {"reference": place, **params}, then, timeout)
