"""The same client for asyncio."""

from .reference import AsyncReference
from .storage import AsyncStorage
from .task import AsyncDownloadTask, AsyncTask, AsyncUploadTask

__all__ = ["AsyncDownloadTask", "AsyncReference", "AsyncStorage", "AsyncTask", "AsyncUploadTask"]
