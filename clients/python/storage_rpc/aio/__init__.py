"""The same client for asyncio."""

from .reference import AsyncDownloadTask, AsyncReference, AsyncTask, AsyncUploadTask
from .storage import AsyncStorage

__all__ = ["AsyncDownloadTask", "AsyncReference", "AsyncStorage", "AsyncTask", "AsyncUploadTask"]
