"""Cloud Storage for Firebase, through `storage-rpc`.

>>> from storage_rpc import Storage
>>> Storage().reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

The names are the SDK's, in Python's case. An upload begins with `put_data` or `put_file`, which return
an `UploadTask`, a download with `write_to_file`, which returns a `DownloadTask`; the `wait` of both returns the
`Metadata` of the object, or raises a `StorageError`. `put_stream` and `get_stream` return files to write and to read;
`put_directory`, `write_to_directory` and `delete_all` return a `FolderTask`. With asyncio it is the same, awaited:

>>> async with AsyncStorage() as storage:
...     await storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print)
"""

from . import errors
from .aio import (
    AsyncDownloadStream,
    AsyncDownloadTask,
    AsyncFolderTask,
    AsyncReference,
    AsyncStorage,
    AsyncTask,
    AsyncUploadStream,
    AsyncUploadTask,
)
from .errors import *
from .progress import ProgressBar, updating
from .reference import DownloadStream, DownloadTask, FolderTask, Reference, Task, UploadStream, UploadTask
from .storage import Storage
from .text import TextDownloadStream, TextUploadStream
from .values import (
    AsyncChange,
    AsyncFolderItem,
    AsyncFolderSnapshot,
    AsyncListing,
    AsyncSnapshot,
    Change,
    FolderCounts,
    FolderItem,
    FolderSnapshot,
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
    "AsyncDownloadStream",
    "AsyncDownloadTask",
    "AsyncFolderItem",
    "AsyncFolderSnapshot",
    "AsyncFolderTask",
    "AsyncListing",
    "AsyncReference",
    "AsyncSnapshot",
    "AsyncStorage",
    "AsyncTask",
    "AsyncUploadStream",
    "AsyncUploadTask",
    "Change",
    "DownloadStream",
    "DownloadTask",
    "FolderCounts",
    "FolderItem",
    "FolderSnapshot",
    "FolderTask",
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
    "TextDownloadStream",
    "TextUploadStream",
    "UploadStream",
    "UploadTask",
    "updating",
]
__all__ += [name for name in errors.__all__ if name[0].isupper() and name not in __all__]
