"""The values of the contract, and what callbacks and changes may look like."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Callable, Union

from ._types import (
    AsyncListing,
    AsyncSnapshot,
    Listing,
    Metadata,
    MetadataWrite,
    Progress,
    Retry,
    ServiceStatus,
    Settings,
    Snapshot,
    State,
    Status,
    TokenKind,
)

MetadataChange = Union[Metadata, MetadataWrite, Mapping[str, Any]]
"""What a write says of metadata. In a mapping, what is absent stays, and None removes: a property, a key
of `custom_metadata`, or the whole of it. Of a `Metadata`, what is set is written."""

Callback = Callable[[Snapshot], object]
"""Called with the snapshot of each event."""

AsyncCallback = Callable[[AsyncSnapshot], Union[Awaitable[object], object]]
"""Called with the snapshot of each event; where it returns an awaitable, the next waits for that."""

FreshToken = Union[str, "tuple[str, float | None]", None]
"""A token, with the seconds for which it is good; None for "no more"."""

RefreshToken = Callable[[TokenKind, str], FreshToken]
AsyncRefreshToken = Callable[[TokenKind, str], Union[Awaitable[FreshToken], FreshToken]]

__all__ = [
    "AsyncCallback",
    "AsyncListing",
    "AsyncRefreshToken",
    "AsyncSnapshot",
    "Callback",
    "FreshToken",
    "Listing",
    "Metadata",
    "MetadataChange",
    "MetadataWrite",
    "Progress",
    "RefreshToken",
    "Retry",
    "ServiceStatus",
    "Settings",
    "Snapshot",
    "State",
    "Status",
    "TokenKind",
]
