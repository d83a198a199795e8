# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"""The values of the contract, with Python's names."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypedDict, TypeVar

from ._texts import ProgressText, SnapshotText
from .errors import StorageError

TaskT = TypeVar("TaskT")
ReferenceT = TypeVar("ReferenceT")

TokenKind = Literal["idToken", "accessToken", "appCheckToken"]
"""idToken: of a user of Firebase Authentication; accessToken: OAuth 2.0, of Google Cloud; appCheckToken: of an app,
from Firebase App Check.
"""

Status = Literal["resume", "progress", "pause", "success", "failure"]
"""The event of the snapshot; in an answer, the event that matches its state."""

State = Literal["queued", "running", "paused", "success", "failed", "cancelled"]
"""The state of a task."""


@dataclass(frozen=True)
class Progress(ProgressText):
    """How far a task is, in bytes."""

    completed_unit_count: int
    """Bytes that the engine has acknowledged, or that have arrived. Never goes back, except that it is at most
    totalUnitCount.
    """
    total_unit_count: int
    """Bytes in all; of a download 0 until it is known, and another number where the object has changed."""
    fraction_completed: float
    """0 to 1; of nothing, everything is done, but nothing while it is not known how much there is."""


@dataclass(frozen=True)
class Metadata:
    """What the engine knows about an object. What is not set is absent."""

    bucket: str = ""
    """The bucket that the object is in."""
    full_path: str = ""
    """The object's path in its bucket."""
    name: str = ""
    """The last segment of the path."""
    object: str | None = None
    """The object's exact name where fullPath does not tell it."""
    generation: str = ""
    """Changes with every upload to the same reference, and only grows."""
    metageneration: str = ""
    """1 at upload, one more with each change of metadata."""
    size: int = 0
    """In bytes."""
    time_created: datetime.datetime | None = None
    """When this generation was stored: RFC 3339, UTC, milliseconds."""
    updated: datetime.datetime | None = None
    """When its metadata last changed."""
    md5_hash: str | None = None
    """MD5 of the bytes, base64."""
    crc32c: str | None = None
    """CRC32C of the bytes, big-endian, base64."""
    cache_control: str | None = None
    """How long others may cache the bytes, as in HTTP."""
    content_disposition: str | None = None
    """How a browser presents the bytes."""
    content_encoding: str | None = None
    """How the bytes are encoded, such as gzip. They are stored, and given by getData and writeToFile, as they were
    uploaded; see "Encoded contents" in the README for download URLs.
    """
    content_language: str | None = None
    """The language of the content."""
    content_type: str | None = None
    """The media type of the content."""
    custom_metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Strings by names of the owner's own; at most 8192 bytes in all."""


@dataclass(frozen=True)
class Settings:
    """The settings of later tasks and calls."""

    max_upload_retry_time: float
    """Seconds that a failing upload may be retried without progress."""
    max_download_retry_time: float
    """Seconds that a failing download may be retried."""
    max_operation_retry_time: float
    """Seconds that any other failing call may be retried."""
    upload_chunk_size_bytes: int | None = None
    """A multiple of 256 KiB; absent while chunks grow with the upload."""
    user_project: str | None = None
    """The project of Google Cloud that pays; absent while that is left to the credentials."""


@dataclass(frozen=True)
class Retry:
    """The wait of a running task after a failure. A `progress` event with it starts the wait, and another one without
    it ends the wait. Pausing and resuming the task retries at once.
    """

    attempt: int
    """1 for the first retry since the last progress."""
    of: Literal["start", "query", "upload", "finalize", "download"]
    """The step that failed; `finalize` is the one with the last bytes, `download` the only one of a download."""
    at: datetime.datetime
    """When it is due: RFC 3339, UTC, milliseconds."""
    error: StorageError


@dataclass(frozen=True)
class ServiceStatus:
    """Returns the state of the process."""

    version: str
    """The program's version."""
    pid: int
    """The process."""
    uptime: float
    """Seconds since it started."""
    engine: str
    """Where objects are kept."""
    connections: int
    """How many there are, this one included."""
    requests: Mapping[str, int]
    tasks: Mapping[State, int]


@dataclass(frozen=True)
class SnapshotOf(SnapshotText, Generic[TaskT, ReferenceT]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue
    by itself; `retry` while it waits before another attempt; `observers` in the answer to a request that has
    `observe`.
    """

    task: TaskT
    status: Status
    state: State
    progress: Progress
    reference: ReferenceT
    metadata: Metadata = field(default_factory=Metadata, hash=False)
    """During an upload what is being uploaded; after success what the engine has stored. Absent for a download that
    has not succeeded.
    """
    error: StorageError | None = None
    retry: Retry | None = None
    endpoint: str | None = None
    """The server that the task belongs to, where it is not this service's own (`--endpoint`): there it goes on.
    Resuming it here is -13050; cancelling it ends it without a word to that server.
    """


@dataclass(frozen=True)
class ListingOf(Generic[ReferenceT]):
    """Lists one page of the direct children of a reference."""

    prefixes: tuple[ReferenceT, ...]
    """The folders: what has names below it."""
    items: tuple[ReferenceT, ...]
    """The objects."""
    page_token: str | None = None
    """What the next page is asked for with; absent on the last one."""


class MetadataWrite(TypedDict, total=False):
    """A change of metadata: absent properties stay, null removes, any other value sets. Each of the first five
    members has at most 8192 bytes of UTF-8.
    """

    cache_control: str | None
    """How long others may cache the bytes, as in HTTP."""
    content_disposition: str | None
    """How a browser presents the bytes."""
    content_encoding: str | None
    """How the bytes are encoded, such as gzip. They are stored, and given by getData and writeToFile, as they were
    uploaded; see "Encoded contents" in the README for download URLs.
    """
    content_language: str | None
    """The language of the content."""
    content_type: str | None
    """The media type of the content."""
    custom_metadata: Mapping[str, str | None] | None
    """Keys that are absent stay, a key that is null goes; null removes them all. What is left has at most 8192 bytes
    of UTF-8, keys and values together.
    """
    md5_hash: str | None
    """On upload: the base64 MD5 that the bytes must have. On update: ignored."""
