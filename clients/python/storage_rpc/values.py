"""The values of the contract, as immutable Python values with Python's names."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Literal, Union

if TYPE_CHECKING:
    from .errors import StorageError
    from .reference import Reference
    from .task import Task

Status = Literal["resume", "progress", "pause", "success", "failure"]
TokenKind = Literal["idToken", "accessToken", "appCheckToken"]
State = Literal["queued", "running", "paused", "success", "failed", "cancelled"]


@dataclass(frozen=True)
class Progress:
    """Acknowledged bytes out of all bytes."""

    completed_unit_count: int
    total_unit_count: int
    fraction_completed: float

    def __str__(self) -> str:
        percent = int(self.fraction_completed * 100)
        return f"{self.completed_unit_count} of {self.total_unit_count} bytes ({percent} %)"


@dataclass(frozen=True)
class Metadata:
    """What is known of an object; what is not set is None.

    To change it, send an edited copy, or just what is to change:

    >>> reference.update_metadata(dataclasses.replace(metadata, content_type="image/jpeg"))
    >>> reference.update_metadata({"content_type": "image/jpeg", "cache_control": None})
    """

    bucket: str = ""
    full_path: str = ""
    name: str = ""
    generation: str = ""
    metageneration: str = ""
    size: int = 0
    time_created: datetime.datetime | None = None
    updated: datetime.datetime | None = None
    md5_hash: str | None = None
    crc32c: str | None = None
    cache_control: str | None = None
    content_disposition: str | None = None
    content_encoding: str | None = None
    content_language: str | None = None
    content_type: str | None = None
    custom_metadata: Mapping[str, str] = field(default_factory=dict, hash=False)


MetadataChange = Union[Metadata, Mapping[str, Any]]
"""What a write says of metadata. In a mapping, what is absent stays, and None removes: a property, a key
of `custom_metadata`, or the whole of it. Of a `Metadata`, what is set is written."""


@dataclass(frozen=True)
class Snapshot:
    """A task as it was in one moment."""

    task: Task
    status: Status
    """The event it was taken for."""
    state: State
    progress: Progress
    reference: Reference
    metadata: Metadata
    """What is being uploaded; after success, what is stored. Empty for a download that has not succeeded."""
    error: StorageError | None = None

    def __str__(self) -> str:
        why = f": {self.error}" if self.error else ""
        return f"{self.reference.full_path}: {self.state}, {self.progress}{why}"


Callback = Callable[[Snapshot], object]
RefreshToken = Callable[["TokenKind", str], Union[str, tuple[str, Union[float, None]], None]]
"""Called with the snapshot of each event."""


@dataclass(frozen=True)
class Listing:
    """What is directly below a reference, in the order of the bytes of the names."""

    prefixes: tuple[Reference, ...]
    """The folders: what has names below it."""
    items: tuple[Reference, ...]
    """The objects."""
    page_token: str | None = None
    """What the next page is asked for with; None on the last one."""


@dataclass(frozen=True)
class Settings:
    """What holds for the tasks and calls that begin from now on; times in seconds."""

    max_upload_retry_time: float
    max_download_retry_time: float
    max_operation_retry_time: float
    upload_chunk_size_bytes: int | None = None
    """None where chunks grow with the upload."""
