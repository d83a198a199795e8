"""Cloud Storage for Firebase, through `storage-rpc`.

>>> from storage_rpc import Storage
>>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

The names are the SDK's, in Python's case. An upload begins with `put_data` or `put_file`, which return
an `UploadTask`; its `wait` returns the stored `Metadata`, or raises a `StorageError`.
"""

from .errors import (
    BucketMismatch,
    BucketNotFound,
    Cancelled,
    DownloadSizeExceeded,
    InternalError,
    InvalidArgument,
    NonMatchingChecksum,
    ObjectNotFound,
    PathError,
    ProjectNotFound,
    QuotaExceeded,
    RetryLimitExceeded,
    RPCError,
    ServiceGone,
    StorageError,
    Unauthenticated,
    Unauthorized,
    Unknown,
)
from .reference import Reference
from .storage import Storage
from .task import UploadTask
from .values import Metadata, Progress, Settings, Snapshot

__all__ = [
    "BucketMismatch",
    "BucketNotFound",
    "Cancelled",
    "DownloadSizeExceeded",
    "InternalError",
    "InvalidArgument",
    "Metadata",
    "NonMatchingChecksum",
    "ObjectNotFound",
    "PathError",
    "Progress",
    "ProjectNotFound",
    "QuotaExceeded",
    "RPCError",
    "Reference",
    "RetryLimitExceeded",
    "ServiceGone",
    "Settings",
    "Snapshot",
    "Storage",
    "StorageError",
    "Unauthenticated",
    "Unauthorized",
    "Unknown",
    "UploadTask",
]
