# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"""The values of the contract, with Python's names."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypedDict, TypeVar

from ._texts import FolderText, ProgressText, SnapshotText
from .errors import StorageError

TaskT = TypeVar("TaskT")
ReferenceT = TypeVar("ReferenceT")
ItemT = TypeVar("ItemT")

TokenKind = Literal["idToken", "accessToken", "appCheckToken", "accessKey"]
"""idToken: identifies a user of Firebase Authentication; accessToken: an OAuth 2.0 token of Google Cloud;
appCheckToken: identifies an app, from Firebase App Check; accessKey: a key of Amazon S3, ID:SECRET or
ID:SECRET:SESSION-TOKEN.
"""

Status = Literal["resume", "progress", "pause", "success", "failure"]
"""The event of the snapshot; in an answer, the event that matches its state."""

State = Literal["queued", "running", "paused", "success", "failed", "cancelled"]
"""The state of a task."""

FolderItemState = Literal["pending", "done", "unchanged", "refused", "failed"]
"""The state of one file of a task over a folder; `pending` is still to do."""


@dataclass(frozen=True)
class Progress(ProgressText):
    """The progress of a task, in bytes."""

    completed_unit_count: int
    """The bytes that the engine has acknowledged, or that have arrived. Never decreases, except that it is at most
    total_unit_count.
    """
    total_unit_count: int
    """The size in bytes. For a download it is 0 until the size is known, and it changes if the object changes."""
    fraction_completed: float
    """0 to 1; 1 for an empty object, and 0 while the size is unknown."""


@dataclass(frozen=True)
class Metadata:
    """The metadata of an object. Properties that are not set are absent."""

    bucket: str = ""
    """The bucket of the object."""
    full_path: str = ""
    """The object's path in its bucket."""
    name: str = ""
    """The last segment of the path."""
    object: str | None = None
    """The object's exact name if it differs from full_path."""
    generation: str = ""
    """Grows with every upload to the same reference."""
    metageneration: str = ""
    """1 after the upload; each change of metadata adds one."""
    size: int = 0
    """In bytes."""
    time_created: datetime.datetime | None = None
    """The time when this generation was stored: RFC 3339, UTC, milliseconds."""
    updated: datetime.datetime | None = None
    """The time of the last change of metadata."""
    md5_hash: str | None = None
    """The MD5 of the bytes in base64."""
    crc32c: str | None = None
    """The CRC32C of the bytes, big-endian, in base64."""
    cache_control: str | None = None
    """How caches may store the bytes, as in HTTP."""
    content_disposition: str | None = None
    """How a browser presents the bytes."""
    content_encoding: str | None = None
    """How the bytes are encoded, such as gzip. get_data and write_to_file return the bytes as they were uploaded; for
    download URLs see "Encoded contents" in the README.
    """
    content_language: str | None = None
    """The language of the content."""
    content_type: str | None = None
    """The media type of the content."""
    custom_metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Strings under keys that the client chooses; at most 8192 bytes in all."""


@dataclass(frozen=True)
class Settings:
    """The settings of the connection's later tasks and calls."""

    max_upload_retry_time: float
    """How long a failing upload is retried without progress, in seconds."""
    max_download_retry_time: float
    """How long a failing download is retried, in seconds."""
    max_operation_retry_time: float
    """How long any other failing call is retried, in seconds."""
    upload_chunk_size_bytes: int | None = None
    """A multiple of 256 KiB; absent while it is not set: chunks then grow with the upload."""
    user_project: str | None = None
    """The Google Cloud project that is billed; absent while the credentials decide."""
    uploads_at_once: int | None = None
    """How many uploads of all clients run at the same time; absent while the engine chooses: 4 on the embedded
    engine, 8 elsewhere.
    """
    downloads_at_once: int | None = None
    """The number of concurrent downloads to files: 16 on the embedded engine, 4 elsewhere."""


@dataclass(frozen=True)
class Retry:
    """The wait of a running task after a failure. A `progress` event with it starts the wait, and another one without
    it ends the wait. Pausing and resuming the task retries immediately.
    """

    attempt: int
    """1 for the first retry since the last progress."""
    of: Literal["start", "query", "upload", "finalize", "download"]
    """The step that failed; `finalize` is the step with the last bytes, `download` the only step of a download."""
    at: datetime.datetime
    """The time of the next attempt: RFC 3339, UTC, milliseconds."""
    error: StorageError


@dataclass(frozen=True)
class ServiceStatus:
    """Returns the state of the process."""

    version: str
    """The program's version."""
    pid: int
    """The process ID."""
    uptime: float
    """Seconds since the process started."""
    engine: str
    """The storage engine."""
    connections: int
    """The number of open connections, this one included."""
    requests: Mapping[str, int]
    tasks: Mapping[State, int]


@dataclass(frozen=True)
class FolderCounts:
    """The number of files of a task over a folder."""

    total: int
    """Files to transfer, in any state, without refused ones."""
    completed: int
    """Files that were transferred."""
    unchanged: int
    """Files that needed no transfer."""
    to_delete: int
    """Objects or files to delete, in any state."""
    deleted: int
    """Objects or files that were deleted."""
    refused: int
    """Items that cannot be an object or a file, such as links."""
    failed: int
    """Files that could not be transferred or deleted."""
    unchanged_bytes: int | None = None
    """The bytes of `unchanged` files; absent if there are none."""


@dataclass(frozen=True)
class SnapshotOf(SnapshotText, Generic[TaskT, ReferenceT]):
    """The state of a task at one time. `error` is set after a failure, and while the task is paused because it cannot
    continue by itself; `retry` is set while the task waits before another attempt; `observers` is set in the answer
    to a request with `observe`.
    """

    task: TaskT
    status: Status
    state: State
    progress: Progress
    reference: ReferenceT
    metadata: Metadata = field(default_factory=Metadata, hash=False)
    """During an upload the metadata that the client gave; after success the metadata that the engine has stored.
    Absent for a download, a copy or a move that has not succeeded.
    """
    error: StorageError | None = None
    retry: Retry | None = None
    endpoint: str | None = None
    """The server of the task, if it is not the server of this service (`--endpoint`). The task can continue only on a
    service of that server: resuming it here is InvalidArgument, and cancelling it sends no request to that server.
    """
    origin: Literal["gateway", "stream"] | None = None
    """Where the bytes of the task come from, or go to, if that is neither a file nor memory: a client of the gateway
    sends them, or a client of JSON-RPC appends or reads them piece by piece.
    """
    offset: int | None = None
    """The position of a stream that has not ended: for a download the next byte that `read` answers, for an upload
    the end of the accepted bytes. Bytes of appends without an answer count once they were passed to the engine, since
    they cannot be taken back then. For a paused upload of an earlier process it is at most that position.
    """
    source: ReferenceT | None = None
    """The source object of a copy or a move. Absent for any other task."""
    is_move: bool | None = None
    """True for a move: the source is deleted. Absent for a task without a source."""
    key: str | None = None
    """The name that the client gave to the task; absent without one."""
    continued: bool | None = None
    """True in the answer to a request that has joined this task by its `key`; otherwise absent."""


@dataclass(frozen=True)
class ListingOf(Generic[ReferenceT]):
    """Lists one page of the objects and folders below a reference: its direct children, or all."""

    prefixes: tuple[ReferenceT, ...]
    """The folders: prefixes of the names of objects."""
    items: tuple[ReferenceT, ...]
    """The objects."""
    page_token: str | None = None
    """The page_token for the next page; absent on the last page."""
    metadata: tuple[Metadata, ...] = field(default_factory=tuple[Metadata, ...], hash=False)
    """The metadata of the items, in their order; only with the param `metadata`."""
    bucket_exists: bool | None = None
    """False if the embedded engine has never had an object in the bucket, the bucket was never created and is not the
    default bucket; absent otherwise.
    """


@dataclass(frozen=True)
class FolderItemOf(Generic[ReferenceT]):
    """One file of a task over a folder."""

    path: str
    """The path below the folder and the directory; for a copy the name of the new object. Bytes that are not UTF-8
    are replaced.
    """
    action: Literal["put", "write", "delete", "copy", "move", "read"]
    """The action for this item. `read` is the action of a directory that could not be read: `retry` reads it again."""
    state: FolderItemState
    size: int
    """In bytes."""
    reference: ReferenceT | None = None
    """The object; for a copy the new object. Absent if the item cannot be an object."""
    source: ReferenceT | None = None
    """The object that is copied or moved; otherwise absent."""
    error: StorageError | None = None
    """The error of a refused or failed item. An unchanged item whose target may differ, or differs, has
    PreconditionFailed.
    """


@dataclass(frozen=True)
class FolderSnapshotOf(FolderText, Generic[TaskT, ReferenceT, ItemT]):
    """The state of a task over a folder at one time."""

    task: TaskT
    kind: Literal["put", "write", "delete", "copy", "move"]
    """The method that began the task: `put_directory`, `write_to_directory`, `delete_all` or `copy_all`."""
    status: Status
    state: State
    progress: Progress
    """The progress of all files together. Bytes of files that need no transfer count as transferred. The total grows
    while the files are being found.
    """
    files: FolderCounts
    is_planned: bool
    """All files are known: the totals are final. Stays false for a deletion whose plan does not fit on the disk."""
    reference: ReferenceT
    kept: int | None = None
    """The unchanged files whose targets exist and were kept, because of `if_generation_match`, without a comparison
    or although they differ. Absent if there are none.
    """
    directory: str | None = None
    """The local directory. Absent if the task has none."""
    to: ReferenceT | None = None
    """The folder that objects are copied or moved to; otherwise absent."""
    dry_run: bool | None = None
    """True for a task that changes nothing; otherwise absent."""
    key: str | None = None
    """The name that the client gave to the task; absent without one."""
    continued: bool | None = None
    """True in the answer to a request that has joined this task by its `key`; otherwise absent."""
    failures: tuple[ItemT, ...] = ()
    """The first 20 items that have failed or are refused, and why; absent if there are none. `items` lists all."""
    error: StorageError | None = None
    endpoint: str | None = None
    """The server of the task, if it is not the server of this service, as in Snapshot."""


class MetadataWrite(TypedDict, total=False):
    """A change of metadata: absent properties are kept, None removes, any other value sets. Each of the first five
    members has at most 8192 bytes of UTF-8.
    """

    cache_control: str | None
    """How caches may store the bytes, as in HTTP."""
    content_disposition: str | None
    """How a browser presents the bytes."""
    content_encoding: str | None
    """How the bytes are encoded, such as gzip. get_data and write_to_file return the bytes as they were uploaded; for
    download URLs see "Encoded contents" in the README.
    """
    content_language: str | None
    """The language of the content."""
    content_type: str | None
    """The media type of the content."""
    custom_metadata: Mapping[str, str | None] | None
    """Absent keys are kept, None removes a key; None instead of the object removes all keys. The result has at most
    8192 bytes of UTF-8, keys and values together.
    """
    md5_hash: str | None
    """On upload: the MD5 that the bytes must have, as the base64 of 16 bytes, else InvalidArgument. On update:
    ignored.
    """
