"""Cloud Storage for Firebase, through `storage-rpc`.

>>> from storage_rpc import Storage
>>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

The names are the SDK's, in Python's case. An upload begins with `put_data` or `put_file`, which return
an `UploadTask`, a download with `write_to_file`, which returns a `DownloadTask`; the `wait` of both returns the
`Metadata` of the object, or raises a `StorageError`. With asyncio it is the same, awaited:

>>> async with AsyncStorage() as storage:
...     await storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print)
"""

from . import _errors
from ._errors import *
from .aio import AsyncDownloadTask, AsyncReference, AsyncStorage, AsyncTask, AsyncUploadTask
from .errors import RPCError, ServiceGone, StorageError
from .progress import ProgressBar, updating
from .reference import Reference
from .storage import Storage
from .task import DownloadTask, Task, UploadTask
from .values import (
    AsyncListing,
    AsyncSnapshot,
    Listing,
    Metadata,
    Progress,
    Retry,
    ServiceStatus,
    Settings,
    Snapshot,
)

__all__ = [
    "AsyncDownloadTask",
    "AsyncListing",
    "AsyncReference",
    "AsyncSnapshot",
    "AsyncStorage",
    "AsyncTask",
    "AsyncUploadTask",
    "DownloadTask",
    "Listing",
    "Metadata",
    "Progress",
    "ProgressBar",
    "RPCError",
    "Reference",
    "Retry",
    "ServiceGone",
    "ServiceStatus",
    "Settings",
    "Snapshot",
    "Storage",
    "StorageError",
    "Task",
    "UploadTask",
    "updating",
]
__all__ += _errors.__all__
