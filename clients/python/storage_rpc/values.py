"""The values of the contract, and the types of callbacks and changes."""

from ._base import AsyncRefreshToken, FreshToken, RefreshToken
from ._program import Engine
from ._streams import AsyncSource, Source
from ._types import (
    FolderCounts,
    FolderItemState,
    Metadata,
    MetadataWrite,
    Progress,
    Retry,
    ServiceStatus,
    Settings,
    State,
    Status,
    TokenKind,
)
from .aio.reference import (
    AsyncCallback,
    AsyncChange,
    AsyncFolderCallback,
    AsyncFolderItem,
    AsyncFolderSnapshot,
    AsyncListing,
    AsyncSnapshot,
)
from .reference import Callback, Change, FolderCallback, FolderItem, FolderSnapshot, Listing, Snapshot
from .wire import MetadataChange

__all__ = [
    "AsyncCallback",
    "AsyncChange",
    "AsyncFolderCallback",
    "AsyncFolderItem",
    "AsyncFolderSnapshot",
    "AsyncListing",
    "AsyncRefreshToken",
    "AsyncSnapshot",
    "AsyncSource",
    "Callback",
    "Change",
    "Engine",
    "FolderCallback",
    "FolderCounts",
    "FolderItem",
    "FolderItemState",
    "FolderSnapshot",
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
    "Source",
    "State",
    "Status",
    "TokenKind",
]
