"""The same client for asyncio."""

from .reference import (
    AsyncDownloadStream,
    AsyncDownloadTask,
    AsyncFolderTask,
    AsyncReference,
    AsyncTask,
    AsyncUploadStream,
    AsyncUploadTask,
)
from .storage import AsyncStorage

__all__ = [
    "AsyncDownloadStream",
    "AsyncDownloadTask",
    "AsyncFolderTask",
    "AsyncReference",
    "AsyncStorage",
    "AsyncTask",
    "AsyncUploadStream",
    "AsyncUploadTask",
]
