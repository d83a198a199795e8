"""What the rendered methods are built on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

if TYPE_CHECKING:
    from ._types import AsyncListing, Listing, Status
    from .aio import AsyncDownloadTask, AsyncUploadTask
    from .reference import Reference
    from .task import DownloadTask, UploadTask
    from .values import AsyncCallback, Callback

M = TypeVar("M", contravariant=True)
T = TypeVar("T")


class Asking(Generic[M]):
    """Who can ask the service for what `M` names, and wait for the answer."""

    def _ask(
        self, method: M, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None, /
    ) -> T:
        raise NotImplementedError


class Referring(Asking[M]):
    """Who can begin tasks, too, and make references of answers."""

    def _start_upload_task(
        self,
        method: M,
        params: Mapping[str, Any],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
        /,
    ) -> UploadTask:
        raise NotImplementedError

    def _start_download_task(
        self,
        method: M,
        params: Mapping[str, Any],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
        /,
    ) -> DownloadTask:
        raise NotImplementedError

    def _to_reference(self, message: Any) -> Reference:
        raise NotImplementedError

    def _to_reference_or_none(self, message: Any) -> Reference | None:
        return self._to_reference(message) if message else None

    def _to_listing(self, message: Any) -> Listing:
        raise NotImplementedError


class AsyncAsking(Generic[M]):
    """Who can ask the service for what `M` names, and await the answer."""

    async def _ask(self, method: M, params: Mapping[str, Any], then: Callable[[Any], T], /) -> T:
        raise NotImplementedError


class AsyncReferring(AsyncAsking[M]):
    """Who can begin tasks, too, and make references of answers."""

    def _start_upload_task(
        self,
        method: M,
        params: Mapping[str, Any],
        on_progress: AsyncCallback | None,
        observe: Mapping[Status, AsyncCallback] | None,
        /,
    ) -> AsyncUploadTask:
        raise NotImplementedError

    def _start_download_task(
        self,
        method: M,
        params: Mapping[str, Any],
        on_progress: AsyncCallback | None,
        observe: Mapping[Status, AsyncCallback] | None,
        /,
    ) -> AsyncDownloadTask:
        raise NotImplementedError

    def _to_listing(self, message: Any) -> AsyncListing:
        raise NotImplementedError
