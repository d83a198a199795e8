"""The values of the contract, and the types of callbacks and changes."""

from ._base import AsyncRefreshToken, FreshToken, RefreshToken
from ._types import Metadata, MetadataWrite, Progress, Retry, ServiceStatus, Settings, State, Status, TokenKind
from .aio.reference import AsyncCallback, AsyncChange, AsyncListing, AsyncSnapshot
from .reference import Callback, Change, Listing, Snapshot
from .wire import MetadataChange

__all__ = [
    "AsyncCallback",
    "AsyncChange",
    "AsyncListing",
    "AsyncRefreshToken",
    "AsyncSnapshot",
    "Callback",
    "Change",
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
