"""Cloud Storage for Firebase, through `storage-rpc`.

>>> from storage_rpc import Storage
>>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

The names are the SDK's, in Python's case. An upload begins with `put_data` or `put_file`, which return
an `UploadTask`, a download with `write_to_file`, which returns a `DownloadTask`; the `wait` of both returns the
`Metadata` of the object, or raises a `StorageError`.
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
from .task import DownloadTask, Task, UploadTask
from .values import Listing, Metadata, Progress, Settings, Snapshot

__all__ = [
    "BucketMismatch",
    "BucketNotFound",
    "Cancelled",
    "DownloadSizeExceeded",
    "DownloadTask",
    "InternalError",
    "InvalidArgument",
    "Listing",
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
    "Task",
    "Unauthenticated",
    "Unauthorized",
    "Unknown",
    "UploadTask",
]
