"""Where an object is, or may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._methods import ReferenceMethods
from ._types import Listing
from .task import DownloadTask, Task, UploadTask
from .wire import decode, reference_to_wire

if TYPE_CHECKING:
    from ._methods import Method
    from ._types import Status
    from .storage import Storage
    from .values import Callback

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True)
class Reference(ReferenceMethods):
    """A place in a bucket: a value, equal to any other of the same place.

    >>> space = storage.reference("images/space.jpg")
    >>> space.put_file("space.jpg", on_progress=print).wait().size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    bucket: str
    full_path: str
    name: str = field(compare=False)
    """The last part of the path; empty at the root."""
    url: str = field(compare=False)
    """`gs://bucket/full_path`, never percent-encoded."""
    warnings: tuple[str, ...] = field(compare=False, repr=False)
    """What of the path other tools may stumble over."""
    object: str | None
    """The exact name of the object where `full_path` does not tell it, as in `folder/` or `a//b`."""
    _storage: Storage = field(compare=False, repr=False)

    @classmethod
    def from_wire(cls, storage: Storage, message: Mapping[str, Any]) -> Reference:
        warnings = tuple(message.get("warnings", ()))
        place = (message["bucket"], message["fullPath"], message["name"], message["url"])
        return cls(*place, warnings, message.get("object"), storage)

    def __str__(self) -> str:
        return self.url

    # What the rendered methods are built on

    def _ask(
        self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        place = reference_to_wire(self.bucket, self.full_path, self.object)
        return self._storage._ask(method, {"reference": place, **params}, then, timeout)

    def _start_upload_task(self, *start: Any) -> UploadTask:
        return self._start(UploadTask, *start)

    def _start_download_task(self, *start: Any) -> DownloadTask:
        return self._start(DownloadTask, *start)

    def _start(
        self,
        kind: type[AnyTask],
        method: Method,
        params: Mapping[str, Any],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
    ) -> AnyTask:
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        statuses = [*{**callbacks, "success": None, "failure": None}]

        def begin(answer: Any) -> AnyTask:
            return self._storage._begin(kind, answer, callbacks)

        return self._ask(method, {**params, "observe": statuses}, begin, timeout)

    def _to_reference(self, message: Any) -> Reference:
        return Reference.from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> Listing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(Listing, many)(message)
