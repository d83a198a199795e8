"""Where an object is, or may be: made without asking anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._methods import AsyncReferenceMethods
from .._types import AsyncListing
from ..wire import decode, reference_to_wire, segments
from .task import AsyncDownloadTask, AsyncTask, AsyncUploadTask

if TYPE_CHECKING:
    from .._methods import Method
    from .._types import Status
    from ..values import AsyncCallback
    from .storage import AsyncStorage

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=AsyncTask)


@dataclass(frozen=True)
class AsyncReference(AsyncReferenceMethods):
    """A place in a bucket: a value, equal to any other of the same place. What cannot be is refused when it is used.

    >>> space = storage.reference("images/space.jpg")
    >>> (await space.put_file("space.jpg", on_progress=print)).size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    """

    bucket: str
    full_path: str
    object: str | None
    """The exact name of the object where `full_path` does not tell it, as in `folder/` or `a//b`."""
    _storage: AsyncStorage = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        path = "/".join(segments(self.full_path if self.object is None else self.object))
        object.__setattr__(self, "full_path", path)
        if self.object == path != "":
            object.__setattr__(self, "object", None)

    @property
    def name(self) -> str:
        """The last part of the path; empty at the root."""
        return self.full_path.rpartition("/")[2]

    @property
    def url(self) -> str:
        """`gs://bucket/full_path`, never percent-encoded."""
        return f"gs://{self.bucket}/{self.full_path}"

    def __str__(self) -> str:
        return self.url

    def child(self, path: str) -> AsyncReference:
        return AsyncReference(self.bucket, f"{self.full_path}/{path}", None, self._storage)

    def parent(self) -> AsyncReference | None:
        """None at the root."""
        if not self.full_path:
            return None
        return AsyncReference(self.bucket, self.full_path.rpartition("/")[0], None, self._storage)

    def root(self) -> AsyncReference:
        return AsyncReference(self.bucket, "", None, self._storage)

    # What the rendered methods are built on

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(method, {"reference": self._place, **params}, then)

    def _start_upload_task(self, *start: Any) -> AsyncUploadTask:
        return self._start(AsyncUploadTask, *start)

    def _start_download_task(self, *start: Any) -> AsyncDownloadTask:
        return self._start(AsyncDownloadTask, *start)

    def _start(
        self,
        kind: type[AnyTask],
        method: Method,
        params: Mapping[str, Any],
        on_progress: AsyncCallback | None,
        observe: Mapping[Status, AsyncCallback] | None,
    ) -> AnyTask:
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        task = kind(self._storage)
        task._begin(method, {"reference": self._place, **params, "observe": True}, callbacks)
        return task

    @property
    def _place(self) -> Mapping[str, str]:
        return reference_to_wire(self.bucket, self.full_path, self.object)

    def _to_listing(self, message: Any) -> AsyncListing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._storage._to_reference, all))}
        return decode(AsyncListing, many)(message)
