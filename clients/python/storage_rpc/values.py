"""The values of the contract, and the types of callbacks and changes."""

from ._base import AsyncRefreshToken, FreshToken, RefreshToken
from ._types import Metadata, MetadataWrite, Progress, Retry, ServiceStatus, Settings, State, Status, TokenKind
from .aio.reference import AsyncCallback, AsyncListing, AsyncSnapshot
from .reference import Callback, Listing, Snapshot
from .wire import MetadataChange

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
