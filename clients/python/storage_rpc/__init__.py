"""Cloud Storage for Firebase, through `storage-rpc`.

>>> from storage_rpc import Storage
>>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

The names are the SDK's, in Python's case. An upload begins with `put_data` or `put_file`, which return
an `UploadTask`, a download with `write_to_file`, which returns a `DownloadTask`; the `wait` of both returns the
`Metadata` of the object, or raises a `StorageError`. With asyncio it is the same, awaited:

>>> async with AsyncStorage() as storage:
...     await storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print)
"""

from . import errors
from .aio import AsyncDownloadTask, AsyncReference, AsyncStorage, AsyncTask, AsyncUploadTask
from .errors import *
from .progress import ProgressBar, updating
from .reference import DownloadTask, Reference, Task, UploadTask
from .storage import Storage
from .values import (
    AsyncChange,
    AsyncListing,
    AsyncSnapshot,
    Change,
    Listing,
    Metadata,
    Progress,
    Retry,
    ServiceStatus,
    Settings,
    Snapshot,
)

__all__ = [
    "AsyncChange",
    "AsyncDownloadTask",
    "AsyncListing",
    "AsyncReference",
    "AsyncSnapshot",
    "AsyncStorage",
    "AsyncTask",
    "AsyncUploadTask",
    "Change",
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
__all__ += [name for name in errors.__all__ if name[0].isupper() and name not in __all__]
