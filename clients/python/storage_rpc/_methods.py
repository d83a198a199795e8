# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"""The methods of the contract, by the SDK's names in Python's case."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar

from . import _types
from ._files import local_path
from ._streams import AsyncSource, Source
from ._types import Metadata, ServiceStatus, Settings, Status, TokenKind
from .wire import MetadataChange, decode, given, metadata_from_wire, metadata_to_wire, several, source

if TYPE_CHECKING:
    from .aio.reference import (
        AsyncDownloadStream,
        AsyncDownloadTask,
        AsyncFolderSnapshot,
        AsyncFolderTask,
        AsyncListing,
        AsyncReference,
        AsyncSnapshot,
        AsyncUploadStream,
        AsyncUploadTask,
    )
    from .reference import (
        DownloadStream,
        DownloadTask,
        FolderSnapshot,
        FolderTask,
        Listing,
        Reference,
        Snapshot,
        UploadStream,
        UploadTask,
    )

T = TypeVar("T")

Method = Literal[
    "initialize",
    "shutdown",
    "exit",
    "rpc.discover",
    "service/ping",
    "service/status",
    "service/metrics",
    "service/stop",
    "auth/setToken",
    "storage/reference",
    "storage/getSettings",
    "storage/updateSettings",
    "storage/buckets",
    "storage/observe",
    "storage/removeObserver",
    "reference/child",
    "reference/parent",
    "reference/root",
    "reference/putData",
    "reference/putFile",
    "reference/putStream",
    "reference/copy",
    "reference/move",
    "reference/exists",
    "reference/getMetadata",
    "reference/updateMetadata",
    "reference/downloadURL",
    "reference/revokeDownloadURL",
    "reference/delete",
    "reference/list",
    "reference/listAll",
    "reference/getData",
    "reference/writeToFile",
    "reference/putDirectory",
    "reference/writeToDirectory",
    "reference/deleteAll",
    "reference/copyAll",
    "reference/getStream",
    "uploadTask/pause",
    "uploadTask/resume",
    "uploadTask/retry",
    "uploadTask/cancel",
    "uploadTask/snapshot",
    "uploadTask/wait",
    "uploadTask/list",
    "uploadTask/forget",
    "uploadTask/observe",
    "uploadTask/removeObserver",
    "uploadTask/removeAllObservers",
    "uploadTask/append",
    "uploadTask/finish",
    "downloadTask/pause",
    "downloadTask/resume",
    "downloadTask/retry",
    "downloadTask/cancel",
    "downloadTask/snapshot",
    "downloadTask/wait",
    "downloadTask/list",
    "downloadTask/forget",
    "downloadTask/observe",
    "downloadTask/removeObserver",
    "downloadTask/removeAllObservers",
    "downloadTask/read",
    "folderTask/pause",
    "folderTask/resume",
    "folderTask/cancel",
    "folderTask/retry",
    "folderTask/snapshot",
    "folderTask/wait",
    "folderTask/list",
    "folderTask/items",
    "folderTask/forget",
    "folderTask/observe",
    "folderTask/removeObserver",
    "folderTask/removeAllObservers",
]
TaskVerb = Literal[
    "pause",
    "resume",
    "retry",
    "cancel",
    "snapshot",
    "wait",
    "list",
    "forget",
    "observe",
    "removeObserver",
    "removeAllObservers",
    "append",
    "finish",
    "read",
    "items",
]


class Asking:
    """Sends a request, and waits for its result."""

    def _ask(
        self, method: Any, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None, /
    ) -> T:
        raise NotImplementedError


class AsyncAsking:
    """Sends a request, and awaits its result."""

    async def _ask(self, method: Any, params: Mapping[str, Any], then: Callable[[Any], T], /) -> T:
        raise NotImplementedError


class StorageMethods(Asking):
    def discover(self, *, timeout: float | None = None) -> Mapping[str, Any]:
        """Returns the contract: this OpenRPC document.

        Equal to `protocol/openrpc.json` of the running version.
        """
        return self._ask("rpc.discover", {}, lambda result: result, timeout)

    def ping(self, *, timeout: float | None = None) -> str:
        """Checks that the service responds.

        Answers immediately, independent of other work in progress.
        """
        return self._ask("service/ping", {}, str, timeout)

    def status(self, *, timeout: float | None = None) -> ServiceStatus:
        """Returns the state of the process.

        Uptime in seconds; the number of connections, this one included; the pending requests of all connections,
        without this one; the number of tasks in each state. The service is idle if no request is active or waiting,
        and no task is queued or running.
        """
        return self._ask("service/status", {}, decode(_types.ServiceStatus), timeout)

    def metrics(self, *, timeout: float | None = None) -> tuple[Mapping[str, Any], ...]:
        """Returns the counters and measurements of the process.

        The metrics since the start of the process, as `GET /metrics` of the HTTP servers shows them in the text
        format of Prometheus. Names and labels are those of operations.md. The samples of a histogram have `buckets`,
        in seconds, each with the number of values up to its bound `le`; others have a `value`. New metrics and labels
        may be added. Labels never have names of objects, files or clients.
        """
        return self._ask(
            "service/metrics",
            {},
            lambda result: tuple[Mapping[str, Any], ...](result["metrics"]),
            timeout,
        )

    def stop(self, *, timeout: float | None = None) -> None:
        """Ends the process for all clients, as SIGTERM does.

        The service answers, pauses the running tasks, sends the answers that are ready, and exits with status 0. The
        log names the connection that sent the request.
        """
        self._ask("service/stop", {}, lambda result: None, timeout)

    def set_token(
        self,
        token: str | None,
        kind: TokenKind | None = None,
        expires_in: float | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Sets the token with which this connection authenticates to the engine.

        Applies to the later requests and to the unfinished tasks of this connection; other connections have their own
        tokens. A connection may set one token of each kind. When a token expires, or the server of the engine refuses
        it, the service requests another with `on_refresh_token`; setting one in the meantime works too. The embedded
        engine accepts tokens, but never needs one. The token appears in no log and no error.

        `token`: Printable ASCII without white space, at most 64 KiB; None removes the connection's token of this
        kind.

        `kind`: The default is accessToken on the engine gcs, accessKey on s3, else idToken.

        `expires_in`: The lifetime of the token in seconds, more than 0. By default the token is used until a server
        refuses it.
        """
        self._ask(
            "auth/setToken",
            {"token": token, **given(kind=kind, expiresIn=expires_in)},
            lambda result: None,
            timeout,
        )

    def get_settings(self, *, timeout: float | None = None) -> Settings:
        """Returns the current settings.

        Retry times are in seconds. upload_chunk_size_bytes is absent while it is not set: chunks then grow with the
        upload.

        In the SDK: `Storage.maxUploadRetryTime, .maxDownloadRetryTime, .maxOperationRetryTime,
        .uploadChunkSizeBytes`.
        """
        return self._ask("storage/getSettings", {}, decode(_types.Settings), timeout)

    def update_settings(
        self,
        max_upload_retry_time: float | None = None,
        max_download_retry_time: float | None = None,
        max_operation_retry_time: float | None = None,
        upload_chunk_size_bytes: int | None = None,
        user_project: str | None = None,
        uploads_at_once: int | None = None,
        downloads_at_once: int | None = None,
        *,
        timeout: float | None = None,
    ) -> Settings:
        """Changes the given settings, for the later tasks and calls of the connection.

        Other connections have their own settings. If one value is out of range, no setting is changed.

        `max_upload_retry_time`: How long a failing upload is retried without progress, in seconds.

        `max_download_retry_time`: How long a failing download is retried without progress, in seconds.

        `max_operation_retry_time`: How long any other failing call is retried, in seconds.

        `upload_chunk_size_bytes`: The value is rounded up to a multiple of 256 KiB.

        `user_project`: The Google Cloud project that is billed for the requests to a remote engine, and whose quota
        they use; with an empty string the credentials decide.

        `uploads_at_once`: How many uploads run at the same time, not counting uploads in one request, such as all
        copies of the embedded engine. The value applies to all clients of the service.

        `downloads_at_once`: How many downloads to files run at the same time. The value applies to all clients of the
        service.

        In the SDK: `Storage.maxUploadRetryTime = …, and its siblings`.
        """
        return self._ask(
            "storage/updateSettings",
            given(
                maxUploadRetryTime=max_upload_retry_time,
                maxDownloadRetryTime=max_download_retry_time,
                maxOperationRetryTime=max_operation_retry_time,
                uploadChunkSizeBytes=upload_chunk_size_bytes,
                userProject=user_project,
                uploadsAtOnce=uploads_at_once,
                downloadsAtOnce=downloads_at_once,
            ),
            decode(_types.Settings),
            timeout,
        )

    def buckets(self, project: str | None = None, *, timeout: float | None = None) -> tuple[str, ...]:
        """Lists the buckets.

        The names of all buckets, sorted by their bytes: on the embedded engine the buckets that have had an object,
        on Google Cloud Storage the buckets of a project. Firebase Storage cannot list buckets (InvalidArgument).

        `project`: The project of Google Cloud whose buckets are listed; by default that of the setting user_project.
        On the embedded engine InvalidArgument.
        """
        return self._ask(
            "storage/buckets",
            given(project=project),
            lambda result: tuple[str, ...](result["buckets"]),
            timeout,
        )


class Referring:
    """Starts tasks, and makes references of results and params of references."""

    def _target(self, reference: Any) -> Any:
        raise NotImplementedError

    def _start_upload_task(self, *start: Any) -> UploadTask:
        raise NotImplementedError

    def _start_download_task(self, *start: Any) -> DownloadTask:
        raise NotImplementedError

    def _start_folder_task(self, *start: Any) -> FolderTask:
        raise NotImplementedError

    def _start_upload_stream(self, source: Any, *start: Any) -> UploadStream:
        raise NotImplementedError

    def _start_download_stream(self, *start: Any) -> DownloadStream:
        raise NotImplementedError

    def _to_reference(self, message: Any) -> Reference:
        raise NotImplementedError

    def _to_reference_or_none(self, message: Any) -> Reference | None:
        return self._to_reference(message) if message else None

    def _to_listing(self, message: Any) -> Listing:
        raise NotImplementedError


class ReferenceMethods(Asking, Referring):
    def child(self, path: str, *, timeout: float | None = None) -> Reference:
        """Returns the reference at a path below this one.

        The path may have several segments. `..` is a name like any other.

        `path`: A path relative to the reference.

        In the SDK: `StorageReference.child(_:)`.
        """
        return self._ask("reference/child", {"path": path}, self._to_reference, timeout)

    def parent(self, *, timeout: float | None = None) -> Reference | None:
        """Returns the reference one level up; None at the root.

        The parent of a child of the root is the root.

        In the SDK: `StorageReference.parent()`.
        """
        return self._ask("reference/parent", {}, self._to_reference_or_none, timeout)

    def root(self, *, timeout: float | None = None) -> Reference:
        """Returns the root of the bucket.

        The root has an empty full_path.

        In the SDK: `StorageReference.root()`.
        """
        return self._ask("reference/root", {}, self._to_reference, timeout)

    def put_data(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Uploads bytes from memory.

        The events of the task follow the answer. Exactly one of `data` and `text` must be given. With `wait: true`
        the request fails with the error of the task.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred: from the file's
        extension, else from the reference's extension, else application/octet-stream.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.putData(_:metadata:completion:), .putDataAsync(_:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putData",
            {
                **source(data),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def put_file(
        self,
        file: str | os.PathLike[str],
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        key: str | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Uploads a local file.

        Streams a file of any size in constant memory. The file must not change until the task ends: if it changes, or
        is missing, unreadable or not regular, the task fails with Unknown and nothing is stored. The object appears
        as a whole or not at all.

        `file`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred: from the file's
        extension, else from the reference's extension, else application/octet-stream.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While an
        upload with this key is unfinished, the same request joins it instead of starting another one, also after a
        kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        Params that differ from the first request, except observers and `wait`, are InvalidArgument. An upload whose
        file has changed since is cancelled and replaced by a new one.

        In the SDK: `StorageReference.putFile(from:metadata:completion:), .putFileAsync(from:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putFile",
            {
                "file": local_path(file),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    key=key,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def put_stream(
        self,
        source: Source | None = None,
        *,
        metadata: MetadataChange | None = None,
        size: int | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadStream:
        """Begins an upload whose bytes the client sends piece by piece.

        The size need not be known. `append` sends the next bytes, and `finish` stores the object; before that nothing
        is stored. The task is one like any other: it can be paused and observed, it outlives the connection and the
        process (`--tasks`), and it waits for its client without a limit of time. Its snapshots have `origin:
        "stream"` and `offset`. It does not count as a running upload. A stream that cannot be recorded, as on a full
        disk, is refused.

        `source`: Where the bytes come from: an iterable of bytes-like objects, or a file that is open for reading
        bytes; with asyncio also an asynchronous iterable, or a reader whose `read` is awaited. It is read as fast as
        the service stores. Without it the caller writes to the stream that is returned.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred from the reference's
        extension, else application/octet-stream.

        `size`: The size of the object in bytes, if it is known: bytes beyond it, and an end before it, are then
        InvalidArgument.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.
        """
        return self._start_upload_stream(
            source,
            "reference/putStream",
            given(
                metadata=metadata_to_wire(metadata),
                size=size,
                ifGenerationMatch=if_generation_match,
                ifMetagenerationMatch=if_metageneration_match,
            ),
            on_progress,
            observe,
            timeout,
        )

    def copy(
        self,
        to: Reference | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        if_source_generation_match: str | int | None = None,
        if_source_metageneration_match: str | int | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Copies an object to another name or bucket.

        An upload task whose source is an object. Its size is unknown until the task has looked at the object; a
        missing one fails the task with ObjectNotFound. The new object has the metadata of the source, or the given
        metadata. On the embedded engine the copy gets its own download URL: the URL of one object does not open the
        other. Google Cloud Storage copies download tokens, which are custom metadata there. On the embedded engine no
        byte is copied: the objects share a file until the last of them is deleted. Google Cloud Storage copies by
        itself. Firebase Storage has no copies: the bytes pass through the service, in constant memory. If the source
        is replaced meanwhile, the copy restarts once; the second time, or with if_source_generation_match, it fails
        with PreconditionFailed. A copy onto itself is a new generation.

        `to`: The new object. An existing object with this name is replaced.

        `metadata`: The metadata of the new object, instead of the source's. content_type defaults to the source's.
        `md5_hash` must equal the source's, else NonMatchingChecksum.

        `if_generation_match`: Stores only if the object at `to` has this generation, given as in metadata or as an
        integer; 0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `if_source_generation_match`: The generation that the object that is copied must have. Otherwise
        PreconditionFailed.

        `if_source_metageneration_match`: The metageneration that the source must have, by the rules of
        `if_source_generation_match`.
        """
        return self._start_upload_task(
            "reference/copy",
            {
                "to": self._target(to),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    ifSourceGenerationMatch=if_source_generation_match,
                    ifSourceMetagenerationMatch=if_source_metageneration_match,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def move(
        self,
        to: Reference | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        if_source_generation_match: str | int | None = None,
        if_source_metageneration_match: str | int | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTask:
        """Gives an object another name, or moves it to another bucket.

        Like `copy`; then the source is deleted. Its download URLs lead to the new object, if the engine keeps them
        with the object; URLs with `expires_in` end. On the embedded engine both are one change. On the others the
        source is deleted afterwards: if it, or its metadata, has changed meanwhile, it is kept, and the task fails
        with PreconditionFailed. Firebase Storage deletes only by name: there the service compares just before. An
        object cannot be moved onto itself (InvalidArgument).

        `to`: The reference with the new name. An existing object with this name is replaced.

        `metadata`: The metadata of the new object, instead of the source's. content_type defaults to the source's.
        `md5_hash` must equal the source's, else NonMatchingChecksum.

        `if_generation_match`: Stores only if the object at `to` has this generation, given as in metadata or as an
        integer; 0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `if_source_generation_match`: The generation that the object that is moved must have. Otherwise
        PreconditionFailed.

        `if_source_metageneration_match`: The metageneration that the source must have, by the rules of
        `if_source_generation_match`.
        """
        return self._start_upload_task(
            "reference/move",
            {
                "to": self._target(to),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    ifSourceGenerationMatch=if_source_generation_match,
                    ifSourceMetagenerationMatch=if_source_metageneration_match,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def exists(self, *, timeout: float | None = None) -> bool:
        """Returns whether an object exists.

        False if the object does not exist, also if objects below that name exist, and, on the embedded engine, in any
        bucket. An error if the engine cannot determine it.
        """
        return self._ask("reference/exists", {}, lambda result: bool(result["exists"]), timeout)

    def get_metadata(self, *, timeout: float | None = None) -> Metadata:
        """Returns the metadata of an object.

        Properties that are not set are absent.

        In the SDK: `StorageReference.getMetadata()`.
        """
        return self._ask("reference/getMetadata", {}, metadata_from_wire, timeout)

    def update_metadata(
        self,
        metadata: MetadataChange,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        *,
        timeout: float | None = None,
    ) -> Metadata:
        """Changes metadata: absent properties are kept, None removes, any other value sets.

        Read-only properties are ignored, so a client can edit metadata that it has read and send it back. Absent keys
        of custom_metadata are kept, too; None removes a key. metageneration increases by one.

        `if_generation_match`: Changes only if the object has this generation, given as in metadata or as an integer;
        0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.updateMetadata(_:)`.
        """
        return self._ask(
            "reference/updateMetadata",
            {
                "metadata": metadata_to_wire(metadata),
                **given(ifGenerationMatch=if_generation_match, ifMetagenerationMatch=if_metageneration_match),
            },
            metadata_from_wire,
            timeout,
        )

    def download_url(self, expires_in: int | None = None, *, timeout: float | None = None) -> str:
        """Returns a URL for downloads of the object without credentials.

        The URL contains a secret, so a download needs no token and no client. It is valid until it is revoked or the
        object is deleted. A remote engine serves it on its own server, the embedded engine on this machine.

        `expires_in`: The lifetime of the URL in seconds: 1 to 604800. URLs of Google Cloud Storage expire in any
        case, by default after seven days. On the embedded engine `revoke_download_url` also ends URLs with an expiry.
        URLs of a server of Google Cloud Storage on plain http do not expire. With Firebase Storage this param is
        InvalidArgument.

        In the SDK: `StorageReference.downloadURL()`.
        """
        return self._ask(
            "reference/downloadURL",
            given(expiresIn=expires_in),
            lambda result: str(result["url"]),
            timeout,
        )

    def revoke_download_url(self, *, timeout: float | None = None) -> str:
        """Invalidates the earlier download URLs, and returns a new one.

        Counts as a change of metadata. The SDK offers this only in the console.
        """
        return self._ask("reference/revokeDownloadURL", {}, lambda result: str(result["url"]), timeout)

    def delete(
        self,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Deletes an object.

        Later requests do not find it; running downloads of it may fail. Objects below it are kept.

        `if_generation_match`: Deletes only if the object has this generation, given as in metadata or as an integer;
        0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.delete()`.
        """
        self._ask(
            "reference/delete",
            given(ifGenerationMatch=if_generation_match, ifMetagenerationMatch=if_metageneration_match),
            lambda result: None,
            timeout,
        )

    def list(
        self,
        max_results: int | None = None,
        page_token: str | None = None,
        exact: bool | None = None,
        metadata: bool | None = None,
        recursive: bool | None = None,
        *,
        timeout: float | None = None,
    ) -> Listing:
        """Lists one page of the objects and folders below a reference: its direct children, or all.

        Sorted by the bytes of the names. The root is allowed; a reference without children has an empty page. A
        reference that is both an object and a folder lists the folder. A page may have fewer results than requested
        without being the last. Names that references cannot express, which other tools may have created, are omitted.

        `max_results`: The maximum number of prefixes and items together: 1 to 1000, else InvalidArgument. The default
        is 1000.

        `page_token`: The page_token of the previous page of the same reference, with the same `recursive`; one of
        another reference, or an unknown one, is InvalidArgument.

        `exact`: Includes names with empty segments, such as `folder/` and `a//b`, as references with `object`.
        Firebase Storage itself may omit them.

        `metadata`: The page has the metadata of its items. The lists of Firebase Storage have no metadata: with that
        engine the service requests the metadata of each item, and omits items that were deleted meanwhile.

        `recursive`: Lists the items at any depth below the reference, and no prefixes.

        In the SDK: `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
        """
        return self._ask(
            "reference/list",
            given(maxResults=max_results, pageToken=page_token, exact=exact, metadata=metadata, recursive=recursive),
            self._to_listing,
            timeout,
        )

    def list_all(
        self,
        exact: bool | None = None,
        recursive: bool | None = None,
        *,
        timeout: float | None = None,
    ) -> Listing:
        """Lists all direct children of a reference, or all objects below it.

        All pages of `list` in one answer: if there may be very many children, list them page by page. Children that
        are created or deleted in the meantime may be missing.

        `exact`: Includes names with empty segments, as in `list`.

        `recursive`: Lists the items at any depth below the reference, and no prefixes.

        In the SDK: `StorageReference.listAll()`.
        """
        return self._ask("reference/listAll", given(exact=exact, recursive=recursive), self._to_listing, timeout)

    def get_data(
        self,
        max_size: int,
        offset: int | None = None,
        length: int | None = None,
        *,
        timeout: float | None = None,
    ) -> bytes:
        """Downloads an object to memory, up to a maximum size.

        Verifies the checksum. An object larger than max_size, or too large for an answer of maxMessageBytes (about 48
        MiB by default), is DownloadSizeExceeded and is not downloaded: `write_to_file` accepts any size. Retries for
        max_download_retry_time.

        `max_size`: In bytes, not negative (else InvalidArgument). The service reserves this much memory, so calls
        with large values wait for each other.

        `offset`: The first byte of the part: at most the size of the object, else InvalidArgument. A part is not
        verified, unless it is the whole object.

        `length`: The length of the part, which ends at the end of the object at the latest. By default the part is
        the rest of the object. max_size applies to the part.

        In the SDK: `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
        """
        return self._ask(
            "reference/getData",
            {"maxSize": max_size, **given(offset=offset, length=length)},
            lambda result: base64.b64decode(result["data"]),
            timeout,
        )

    def write_to_file(
        self,
        file: str | os.PathLike[str],
        *,
        key: str | None = None,
        keep_existing: bool | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> DownloadTask:
        """Downloads to a local file.

        Streams an object of any size in constant memory to a file beside the destination, and moves that file to the
        destination atomically once all bytes have arrived and the checksum matches. The directory must exist. If the
        object changes in the meantime, the download restarts from the first byte.

        `file`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a
        download with this key is unfinished, the same request joins it instead of starting another one, also after a
        kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `keep_existing`: A file that exists is not replaced: the task fails with PreconditionFailed. Default: `false`.

        In the SDK: `StorageReference.write(toFile:completion:), .writeAsync(toFile:)`.
        """
        return self._start_download_task(
            "reference/writeToFile",
            {"file": local_path(file), **given(key=key, keepExisting=keep_existing)},
            on_progress,
            observe,
            timeout,
        )

    def put_directory(
        self,
        directory: str | os.PathLike[str],
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        changed: bool | None = None,
        trust_times: bool | None = None,
        delete: bool | None = None,
        dry_run: bool | None = None,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        on_progress: Callable[[FolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[FolderSnapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> FolderTask:
        """Uploads a local directory below a reference, as one task.

        The file `a/b.jpg` of the directory becomes the object `a/b.jpg` below the reference, independent of existing
        objects. The task finds all files first, then transfers as many at a time as the engine's limits allow. It
        survives a restart, and continues with the remaining files. Links are not followed: links, sockets, and names
        that cannot be objects are reported as `refused`, and the task continues. The failure of a file does not stop
        the others, unless the error concerns all of them (Unauthenticated, BucketNotFound, QuotaExceeded,
        RetryLimitExceeded); then, or at the end, the task fails. Empty directories are skipped.

        `directory`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `changed`: Skips a file whose target has the same size and checksum. Only files on this machine are read for
        that.

        `trust_times`: With `changed`: a local file is not read if its device, inode, size and times of change are
        those that it had when a task with `trust_times` read it last. Without `changed` -32602.

        `delete`: Deletes the objects below the reference that the directory does not have, after everything else has
        succeeded, except objects that have changed since they were listed. Everything below a refused item is kept,
        since the contents of the directory are unknown there; so are objects whose names cannot be files, such as
        `a//b`.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `metadata`: The metadata of each new object. Without content_type each object has the type that the name of
        its file implies.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. A file whose target exists
        counts as unchanged.

        `at_once`: The number of files that are transferred or deleted at a time, at most; the limits for all tasks
        also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.
        """
        return self._start_folder_task(
            "reference/putDirectory",
            {
                "directory": local_path(directory),
                **given(
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    changed=changed,
                    trustTimes=trust_times,
                    delete=delete,
                    dryRun=dry_run,
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def write_to_directory(
        self,
        directory: str | os.PathLike[str],
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        changed: bool | None = None,
        trust_times: bool | None = None,
        delete: bool | None = None,
        dry_run: bool | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        on_progress: Callable[[FolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[FolderSnapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> FolderTask:
        """Downloads all objects below a reference to a local directory, as one task.

        The object `a/b.jpg` below the reference becomes the file `a/b.jpg` in the directory; missing directories are
        created. Each file appears atomically, as with `write_to_file`. The task continues after a restart, and
        reports like `put_directory`. Objects whose names cannot be files, such as `a//b`, `../a`, or `a` beside
        `a/b`, are `refused`; no link in the directory is followed.

        `directory`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `changed`: Skips a file whose target has the same size and checksum. Only files on this machine are read for
        that.

        `trust_times`: With `changed`: a local file is not read if its device, inode, size and times of change are
        those that it had when a task with `trust_times` read it last. Without `changed` -32602.

        `delete`: Deletes the files in the directory that are not below the reference. Links and directories are kept.
        Files are deleted after everything else has succeeded, except files that have changed since they were listed.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. A file whose target exists
        counts as unchanged.

        `at_once`: The number of files that are transferred or deleted at a time, at most; the limits for all tasks
        also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.
        """
        return self._start_folder_task(
            "reference/writeToDirectory",
            {
                "directory": local_path(directory),
                **given(
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    changed=changed,
                    trustTimes=trust_times,
                    delete=delete,
                    dryRun=dry_run,
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def delete_all(
        self,
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        everything: bool | None = None,
        dry_run: bool | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        refresh: bool | None = None,
        on_progress: Callable[[FolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[FolderSnapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> FolderTask:
        """Deletes all objects below a reference, as one task.

        First lists the objects below the reference, then deletes them: an object that is replaced meanwhile is kept,
        and is reported as failed. `files.deleted` is the number of deleted objects. An object with the name of the
        folder itself is kept.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `everything`: Must be true for the root of a bucket, else InvalidArgument: an empty path never means all
        objects.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `at_once`: The number of files that are deleted at a time, at most; the limits for all tasks also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `refresh`: With `key`: if the request joins a task, the task lists the folder again, and also deletes objects
        that were stored there before this request, and objects whose deletion failed. Objects that are stored later
        are kept. With `dry_run`, or without `key`, -32602.
        """
        return self._start_folder_task(
            "reference/deleteAll",
            given(
                include=several("include", include),
                exclude=several("exclude", exclude),
                everything=everything,
                dryRun=dry_run,
                atOnce=at_once,
                keepItems=keep_items,
                key=key,
                refresh=refresh,
            ),
            on_progress,
            observe,
            timeout,
        )

    def copy_all(
        self,
        to: Reference | str,
        *,
        move: bool | None = None,
        others: Iterable[str] | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        everything: bool | None = None,
        changed: bool | None = None,
        dry_run: bool | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        refresh: bool | None = None,
        on_progress: Callable[[FolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[FolderSnapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> FolderTask:
        """Copies or moves all objects below a reference, as one task.

        The object `a/b.jpg` below `reference` becomes `a/b.jpg` below `to`, with its metadata, like `copy` and
        `move`. All names are known before the first write: if a target would be in its source folder, if two objects
        would get one target, or if a copy would replace another source, it is InvalidArgument, and nothing is
        written. A copy replaces only the generation that its target had when the plan was made: a later object is
        kept, and the item fails; `retry` replaces it. A move deletes an object only if it is the generation that was
        copied.

        `to`: The folder that the objects are copied to, or the root of a bucket.

        `move`: Moves the objects instead of copying them.

        `others`: More sources of the same task: up to 9,999 folders, or objects with `is_object`. Each `to` is in the
        bucket of `to`.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns, as in `include`, of objects and folders to skip. Neither `include` nor `exclude` applies
        to `others` with `is_object`.

        `everything`: Must be true if the root of a bucket is copied or moved, else InvalidArgument: an empty path
        never means all objects.

        `changed`: Skips an object whose target has the same size and checksum. Metadata is not compared. With `move`
        -32602.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. An object whose target exists
        counts as unchanged, and is not moved.

        `at_once`: The number of objects that are copied at a time, at most; the limits for all tasks also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `refresh`: With `key`: if the request joins a task, `reference`, `to` and `others` may differ from the task's,
        in the same target bucket. The task adds them to its own, and lists its sources again when it has finished its
        plan: it copies additions, changes and failed items. An object that was stored at a target after the task
        began is kept, and the item fails, unless it is an earlier copy of the same object by this task. With
        `dry_run`, or without `key`, -32602.
        """
        return self._start_folder_task(
            "reference/copyAll",
            {
                "to": self._target(to),
                **given(
                    move=move,
                    others=several("others", others),
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    everything=everything,
                    changed=changed,
                    dryRun=dry_run,
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                    refresh=refresh,
                ),
            },
            on_progress,
            observe,
            timeout,
        )

    def get_stream(
        self,
        *,
        offset: int | None = None,
        on_progress: Callable[[Snapshot], object] | None = None,
        observe: Mapping[Status, Callable[[Snapshot], object]] | None = None,
        timeout: float | None = None,
    ) -> DownloadStream:
        """Begins a download whose bytes the client fetches piece by piece.

        `read` answers the next piece. All pieces are of one generation of the object: if it is replaced or deleted
        meanwhile, the next read and the task fail. The task buffers at most one piece, can be paused and observed,
        waits for its client without a time limit, and ends with the connection that began it, with Cancelled. Its
        snapshots have `origin: "stream"` and `offset`. It does not count as a running download, and is not recorded.

        `offset`: The first byte that is read: at most the size of the object, else the task fails with
        InvalidArgument. 0 by default.
        """
        return self._start_download_stream("reference/getStream", given(offset=offset), on_progress, observe, timeout)


class TaskMethods(Asking):
    def pause(self, *, timeout: float | None = None) -> bool:
        """Stops an upload until it is resumed.

        Answers once the upload has stopped, within a second. The `pause` event comes before the answer, and no
        `progress` after it. If the upload is committed at that moment, the answer is `accepted: false` with state
        success.

        In the SDK: `StorageUploadTask.pause()`.
        """
        return self._ask("pause", {}, lambda result: bool(result["accepted"]), timeout)

    def resume(self, *, timeout: float | None = None) -> bool:
        """Continues an upload from the last acknowledged byte.

        Never restarts from zero. If too many uploads are running, the task is queued, and the `resume` event follows
        when it runs.

        In the SDK: `StorageUploadTask.resume()`.
        """
        return self._ask("resume", {}, lambda result: bool(result["accepted"]), timeout)

    def retry(self, *, timeout: float | None = None) -> bool:
        """Tries an upload again immediately, for example when the network is back.

        An upload that waits after a failure (`retry` in its snapshot) tries again now; the attempt counts like the
        one that was due. An upload that has failed with a `retryable` error, or with RetryLimitExceeded, restarts
        under the same id, with the same request and a new retry time: it is queued, listed as unfinished, and
        survives restarts, like a new one. Its observers have received `failure` and were removed: observe it again.
        It continues with the tokens of this connection. A copy or a move first checks whether its object is stored.
        `accepted` is false for an upload that runs without a wait, is paused, succeeded, was cancelled or failed
        permanently; for one of `put_data` whose bytes were not kept; for one of the gateway or of another endpoint;
        and for one that a release before this method recorded. With --max-tasks unfinished tasks, and if the disk is
        full, it is QuotaExceeded, and the task is unchanged.
        """
        return self._ask("retry", {}, lambda result: bool(result["accepted"]), timeout)

    def cancel(self, *, timeout: float | None = None) -> bool:
        """Ends an upload; nothing is stored.

        Answers once the upload has ended, within a second, after its observers have received `failure` with
        Cancelled. If a remote engine's server has all bytes and has not answered yet, the service waits for the
        answer, ends the session and looks at the object: if it is stored, the answer is `accepted: false` with state
        success. If that cannot be found out, the error has `may_be_stored`.

        In the SDK: `StorageUploadTask.cancel()`.
        """
        return self._ask("cancel", {}, lambda result: bool(result["accepted"]), timeout)

    def forget(self, *, timeout: float | None = None) -> bool:
        """Removes an ended upload from the list.

        Its id is unknown from then on, after a restart too. `accepted` is false for an active task: cancel it first.
        """
        return self._ask("forget", {}, lambda result: bool(result["accepted"]), timeout)


class FolderTaskMethods(Asking):
    def pause(self, *, timeout: float | None = None) -> bool:
        """Stops a task over a folder until it is resumed.

        Answers once all transfers have stopped. Large files later resume at their last acknowledged byte, small ones
        restart.
        """
        return self._ask("pause", {}, lambda result: bool(result["accepted"]), timeout)

    def resume(self, *, timeout: float | None = None) -> bool:
        """Continues with the remaining items.

        An unfinished task of an earlier process is paused. It continues with the tokens of the client that resumes
        it.
        """
        return self._ask("resume", {}, lambda result: bool(result["accepted"]), timeout)

    def cancel(self, *, timeout: float | None = None) -> bool:
        """Stops a task over a folder for good.

        Finished transfers are kept. Answers once all transfers have stopped.
        """
        return self._ask("cancel", {}, lambda result: bool(result["accepted"]), timeout)

    def retry(self, *, timeout: float | None = None) -> bool:
        """Retries the failed and the pending items.

        Ends a wait after a failure. A failed task continues with its failed and pending items, under the same id;
        observe it again.
        """
        return self._ask("retry", {}, lambda result: bool(result["accepted"]), timeout)

    def forget(self, *, timeout: float | None = None) -> bool:
        """Removes an ended task from the list.

        Its id is unknown from then on, after a restart too. `accepted` is false for an active task: cancel it first.
        """
        return self._ask("forget", {}, lambda result: bool(result["accepted"]), timeout)


class AsyncStorageMethods(AsyncAsking):
    async def discover(self) -> Mapping[str, Any]:
        """Returns the contract: this OpenRPC document.

        Equal to `protocol/openrpc.json` of the running version.
        """
        return await self._ask("rpc.discover", {}, lambda result: result)

    async def ping(self) -> str:
        """Checks that the service responds.

        Answers immediately, independent of other work in progress.
        """
        return await self._ask("service/ping", {}, str)

    async def status(self) -> ServiceStatus:
        """Returns the state of the process.

        Uptime in seconds; the number of connections, this one included; the pending requests of all connections,
        without this one; the number of tasks in each state. The service is idle if no request is active or waiting,
        and no task is queued or running.
        """
        return await self._ask("service/status", {}, decode(_types.ServiceStatus))

    async def metrics(self) -> tuple[Mapping[str, Any], ...]:
        """Returns the counters and measurements of the process.

        The metrics since the start of the process, as `GET /metrics` of the HTTP servers shows them in the text
        format of Prometheus. Names and labels are those of operations.md. The samples of a histogram have `buckets`,
        in seconds, each with the number of values up to its bound `le`; others have a `value`. New metrics and labels
        may be added. Labels never have names of objects, files or clients.
        """
        return await self._ask("service/metrics", {}, lambda result: tuple[Mapping[str, Any], ...](result["metrics"]))

    async def stop(self) -> None:
        """Ends the process for all clients, as SIGTERM does.

        The service answers, pauses the running tasks, sends the answers that are ready, and exits with status 0. The
        log names the connection that sent the request.
        """
        await self._ask("service/stop", {}, lambda result: None)

    async def set_token(
        self,
        token: str | None,
        kind: TokenKind | None = None,
        expires_in: float | None = None,
    ) -> None:
        """Sets the token with which this connection authenticates to the engine.

        Applies to the later requests and to the unfinished tasks of this connection; other connections have their own
        tokens. A connection may set one token of each kind. When a token expires, or the server of the engine refuses
        it, the service requests another with `on_refresh_token`; setting one in the meantime works too. The embedded
        engine accepts tokens, but never needs one. The token appears in no log and no error.

        `token`: Printable ASCII without white space, at most 64 KiB; None removes the connection's token of this
        kind.

        `kind`: The default is accessToken on the engine gcs, accessKey on s3, else idToken.

        `expires_in`: The lifetime of the token in seconds, more than 0. By default the token is used until a server
        refuses it.
        """
        await self._ask(
            "auth/setToken",
            {"token": token, **given(kind=kind, expiresIn=expires_in)},
            lambda result: None,
        )

    async def get_settings(self) -> Settings:
        """Returns the current settings.

        Retry times are in seconds. upload_chunk_size_bytes is absent while it is not set: chunks then grow with the
        upload.

        In the SDK: `Storage.maxUploadRetryTime, .maxDownloadRetryTime, .maxOperationRetryTime,
        .uploadChunkSizeBytes`.
        """
        return await self._ask("storage/getSettings", {}, decode(_types.Settings))

    async def update_settings(
        self,
        max_upload_retry_time: float | None = None,
        max_download_retry_time: float | None = None,
        max_operation_retry_time: float | None = None,
        upload_chunk_size_bytes: int | None = None,
        user_project: str | None = None,
        uploads_at_once: int | None = None,
        downloads_at_once: int | None = None,
    ) -> Settings:
        """Changes the given settings, for the later tasks and calls of the connection.

        Other connections have their own settings. If one value is out of range, no setting is changed.

        `max_upload_retry_time`: How long a failing upload is retried without progress, in seconds.

        `max_download_retry_time`: How long a failing download is retried without progress, in seconds.

        `max_operation_retry_time`: How long any other failing call is retried, in seconds.

        `upload_chunk_size_bytes`: The value is rounded up to a multiple of 256 KiB.

        `user_project`: The Google Cloud project that is billed for the requests to a remote engine, and whose quota
        they use; with an empty string the credentials decide.

        `uploads_at_once`: How many uploads run at the same time, not counting uploads in one request, such as all
        copies of the embedded engine. The value applies to all clients of the service.

        `downloads_at_once`: How many downloads to files run at the same time. The value applies to all clients of the
        service.

        In the SDK: `Storage.maxUploadRetryTime = …, and its siblings`.
        """
        return await self._ask(
            "storage/updateSettings",
            given(
                maxUploadRetryTime=max_upload_retry_time,
                maxDownloadRetryTime=max_download_retry_time,
                maxOperationRetryTime=max_operation_retry_time,
                uploadChunkSizeBytes=upload_chunk_size_bytes,
                userProject=user_project,
                uploadsAtOnce=uploads_at_once,
                downloadsAtOnce=downloads_at_once,
            ),
            decode(_types.Settings),
        )

    async def buckets(self, project: str | None = None) -> tuple[str, ...]:
        """Lists the buckets.

        The names of all buckets, sorted by their bytes: on the embedded engine the buckets that have had an object,
        on Google Cloud Storage the buckets of a project. Firebase Storage cannot list buckets (InvalidArgument).

        `project`: The project of Google Cloud whose buckets are listed; by default that of the setting user_project.
        On the embedded engine InvalidArgument.
        """
        return await self._ask(
            "storage/buckets",
            given(project=project),
            lambda result: tuple[str, ...](result["buckets"]),
        )


class AsyncReferring:
    """Starts tasks, and makes references of results and params of references."""

    def _target(self, reference: Any) -> Any:
        raise NotImplementedError

    def _start_upload_task(self, *start: Any) -> AsyncUploadTask:
        raise NotImplementedError

    def _start_download_task(self, *start: Any) -> AsyncDownloadTask:
        raise NotImplementedError

    def _start_folder_task(self, *start: Any) -> AsyncFolderTask:
        raise NotImplementedError

    def _start_upload_stream(self, source: Any, *start: Any) -> AsyncUploadStream:
        raise NotImplementedError

    def _start_download_stream(self, *start: Any) -> AsyncDownloadStream:
        raise NotImplementedError

    def _to_reference(self, message: Any) -> AsyncReference:
        raise NotImplementedError

    def _to_reference_or_none(self, message: Any) -> AsyncReference | None:
        return self._to_reference(message) if message else None

    def _to_listing(self, message: Any) -> AsyncListing:
        raise NotImplementedError


class AsyncReferenceMethods(AsyncAsking, AsyncReferring):
    def put_data(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncUploadTask:
        """Uploads bytes from memory.

        The events of the task follow the answer. Exactly one of `data` and `text` must be given. With `wait: true`
        the request fails with the error of the task.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred: from the file's
        extension, else from the reference's extension, else application/octet-stream.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.putData(_:metadata:completion:), .putDataAsync(_:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putData",
            {
                **source(data),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                ),
            },
            on_progress,
            observe,
        )

    def put_file(
        self,
        file: str | os.PathLike[str],
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        key: str | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncUploadTask:
        """Uploads a local file.

        Streams a file of any size in constant memory. The file must not change until the task ends: if it changes, or
        is missing, unreadable or not regular, the task fails with Unknown and nothing is stored. The object appears
        as a whole or not at all.

        `file`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred: from the file's
        extension, else from the reference's extension, else application/octet-stream.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While an
        upload with this key is unfinished, the same request joins it instead of starting another one, also after a
        kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        Params that differ from the first request, except observers and `wait`, are InvalidArgument. An upload whose
        file has changed since is cancelled and replaced by a new one.

        In the SDK: `StorageReference.putFile(from:metadata:completion:), .putFileAsync(from:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putFile",
            {
                "file": local_path(file),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    key=key,
                ),
            },
            on_progress,
            observe,
        )

    def put_stream(
        self,
        source: AsyncSource | None = None,
        *,
        metadata: MetadataChange | None = None,
        size: int | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncUploadStream:
        """Begins an upload whose bytes the client sends piece by piece.

        The size need not be known. `append` sends the next bytes, and `finish` stores the object; before that nothing
        is stored. The task is one like any other: it can be paused and observed, it outlives the connection and the
        process (`--tasks`), and it waits for its client without a limit of time. Its snapshots have `origin:
        "stream"` and `offset`. It does not count as a running upload. A stream that cannot be recorded, as on a full
        disk, is refused.

        `source`: Where the bytes come from: an iterable of bytes-like objects, or a file that is open for reading
        bytes; with asyncio also an asynchronous iterable, or a reader whose `read` is awaited. It is read as fast as
        the service stores. Without it the caller writes to the stream that is returned.

        `metadata`: The metadata to store with the bytes. Without content_type it is inferred from the reference's
        extension, else application/octet-stream.

        `size`: The size of the object in bytes, if it is known: bytes beyond it, and an end before it, are then
        InvalidArgument.

        `if_generation_match`: Stores only if the object has this generation, given as in metadata or as an integer; 0
        requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.
        """
        return self._start_upload_stream(
            source,
            "reference/putStream",
            given(
                metadata=metadata_to_wire(metadata),
                size=size,
                ifGenerationMatch=if_generation_match,
                ifMetagenerationMatch=if_metageneration_match,
            ),
            on_progress,
            observe,
        )

    def copy(
        self,
        to: AsyncReference | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        if_source_generation_match: str | int | None = None,
        if_source_metageneration_match: str | int | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncUploadTask:
        """Copies an object to another name or bucket.

        An upload task whose source is an object. Its size is unknown until the task has looked at the object; a
        missing one fails the task with ObjectNotFound. The new object has the metadata of the source, or the given
        metadata. On the embedded engine the copy gets its own download URL: the URL of one object does not open the
        other. Google Cloud Storage copies download tokens, which are custom metadata there. On the embedded engine no
        byte is copied: the objects share a file until the last of them is deleted. Google Cloud Storage copies by
        itself. Firebase Storage has no copies: the bytes pass through the service, in constant memory. If the source
        is replaced meanwhile, the copy restarts once; the second time, or with if_source_generation_match, it fails
        with PreconditionFailed. A copy onto itself is a new generation.

        `to`: The new object. An existing object with this name is replaced.

        `metadata`: The metadata of the new object, instead of the source's. content_type defaults to the source's.
        `md5_hash` must equal the source's, else NonMatchingChecksum.

        `if_generation_match`: Stores only if the object at `to` has this generation, given as in metadata or as an
        integer; 0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `if_source_generation_match`: The generation that the object that is copied must have. Otherwise
        PreconditionFailed.

        `if_source_metageneration_match`: The metageneration that the source must have, by the rules of
        `if_source_generation_match`.
        """
        return self._start_upload_task(
            "reference/copy",
            {
                "to": self._target(to),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    ifSourceGenerationMatch=if_source_generation_match,
                    ifSourceMetagenerationMatch=if_source_metageneration_match,
                ),
            },
            on_progress,
            observe,
        )

    def move(
        self,
        to: AsyncReference | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        if_source_generation_match: str | int | None = None,
        if_source_metageneration_match: str | int | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncUploadTask:
        """Gives an object another name, or moves it to another bucket.

        Like `copy`; then the source is deleted. Its download URLs lead to the new object, if the engine keeps them
        with the object; URLs with `expires_in` end. On the embedded engine both are one change. On the others the
        source is deleted afterwards: if it, or its metadata, has changed meanwhile, it is kept, and the task fails
        with PreconditionFailed. Firebase Storage deletes only by name: there the service compares just before. An
        object cannot be moved onto itself (InvalidArgument).

        `to`: The reference with the new name. An existing object with this name is replaced.

        `metadata`: The metadata of the new object, instead of the source's. content_type defaults to the source's.
        `md5_hash` must equal the source's, else NonMatchingChecksum.

        `if_generation_match`: Stores only if the object at `to` has this generation, given as in metadata or as an
        integer; 0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        `if_source_generation_match`: The generation that the object that is moved must have. Otherwise
        PreconditionFailed.

        `if_source_metageneration_match`: The metageneration that the source must have, by the rules of
        `if_source_generation_match`.
        """
        return self._start_upload_task(
            "reference/move",
            {
                "to": self._target(to),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                    ifSourceGenerationMatch=if_source_generation_match,
                    ifSourceMetagenerationMatch=if_source_metageneration_match,
                ),
            },
            on_progress,
            observe,
        )

    async def exists(self) -> bool:
        """Returns whether an object exists.

        False if the object does not exist, also if objects below that name exist, and, on the embedded engine, in any
        bucket. An error if the engine cannot determine it.
        """
        return await self._ask("reference/exists", {}, lambda result: bool(result["exists"]))

    async def get_metadata(self) -> Metadata:
        """Returns the metadata of an object.

        Properties that are not set are absent.

        In the SDK: `StorageReference.getMetadata()`.
        """
        return await self._ask("reference/getMetadata", {}, metadata_from_wire)

    async def update_metadata(
        self,
        metadata: MetadataChange,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
    ) -> Metadata:
        """Changes metadata: absent properties are kept, None removes, any other value sets.

        Read-only properties are ignored, so a client can edit metadata that it has read and send it back. Absent keys
        of custom_metadata are kept, too; None removes a key. metageneration increases by one.

        `if_generation_match`: Changes only if the object has this generation, given as in metadata or as an integer;
        0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.updateMetadata(_:)`.
        """
        return await self._ask(
            "reference/updateMetadata",
            {
                "metadata": metadata_to_wire(metadata),
                **given(ifGenerationMatch=if_generation_match, ifMetagenerationMatch=if_metageneration_match),
            },
            metadata_from_wire,
        )

    async def download_url(self, expires_in: int | None = None) -> str:
        """Returns a URL for downloads of the object without credentials.

        The URL contains a secret, so a download needs no token and no client. It is valid until it is revoked or the
        object is deleted. A remote engine serves it on its own server, the embedded engine on this machine.

        `expires_in`: The lifetime of the URL in seconds: 1 to 604800. URLs of Google Cloud Storage expire in any
        case, by default after seven days. On the embedded engine `revoke_download_url` also ends URLs with an expiry.
        URLs of a server of Google Cloud Storage on plain http do not expire. With Firebase Storage this param is
        InvalidArgument.

        In the SDK: `StorageReference.downloadURL()`.
        """
        return await self._ask("reference/downloadURL", given(expiresIn=expires_in), lambda result: str(result["url"]))

    async def revoke_download_url(self) -> str:
        """Invalidates the earlier download URLs, and returns a new one.

        Counts as a change of metadata. The SDK offers this only in the console.
        """
        return await self._ask("reference/revokeDownloadURL", {}, lambda result: str(result["url"]))

    async def delete(
        self,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
    ) -> None:
        """Deletes an object.

        Later requests do not find it; running downloads of it may fail. Objects below it are kept.

        `if_generation_match`: Deletes only if the object has this generation, given as in metadata or as an integer;
        0 requires that there is no object. Otherwise PreconditionFailed.

        `if_metageneration_match`: The metageneration that the object must have, by the rules of
        `if_generation_match`.

        In the SDK: `StorageReference.delete()`.
        """
        await self._ask(
            "reference/delete",
            given(ifGenerationMatch=if_generation_match, ifMetagenerationMatch=if_metageneration_match),
            lambda result: None,
        )

    async def list(
        self,
        max_results: int | None = None,
        page_token: str | None = None,
        exact: bool | None = None,
        metadata: bool | None = None,
        recursive: bool | None = None,
    ) -> AsyncListing:
        """Lists one page of the objects and folders below a reference: its direct children, or all.

        Sorted by the bytes of the names. The root is allowed; a reference without children has an empty page. A
        reference that is both an object and a folder lists the folder. A page may have fewer results than requested
        without being the last. Names that references cannot express, which other tools may have created, are omitted.

        `max_results`: The maximum number of prefixes and items together: 1 to 1000, else InvalidArgument. The default
        is 1000.

        `page_token`: The page_token of the previous page of the same reference, with the same `recursive`; one of
        another reference, or an unknown one, is InvalidArgument.

        `exact`: Includes names with empty segments, such as `folder/` and `a//b`, as references with `object`.
        Firebase Storage itself may omit them.

        `metadata`: The page has the metadata of its items. The lists of Firebase Storage have no metadata: with that
        engine the service requests the metadata of each item, and omits items that were deleted meanwhile.

        `recursive`: Lists the items at any depth below the reference, and no prefixes.

        In the SDK: `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
        """
        return await self._ask(
            "reference/list",
            given(maxResults=max_results, pageToken=page_token, exact=exact, metadata=metadata, recursive=recursive),
            self._to_listing,
        )

    async def list_all(self, exact: bool | None = None, recursive: bool | None = None) -> AsyncListing:
        """Lists all direct children of a reference, or all objects below it.

        All pages of `list` in one answer: if there may be very many children, list them page by page. Children that
        are created or deleted in the meantime may be missing.

        `exact`: Includes names with empty segments, as in `list`.

        `recursive`: Lists the items at any depth below the reference, and no prefixes.

        In the SDK: `StorageReference.listAll()`.
        """
        return await self._ask("reference/listAll", given(exact=exact, recursive=recursive), self._to_listing)

    async def get_data(self, max_size: int, offset: int | None = None, length: int | None = None) -> bytes:
        """Downloads an object to memory, up to a maximum size.

        Verifies the checksum. An object larger than max_size, or too large for an answer of maxMessageBytes (about 48
        MiB by default), is DownloadSizeExceeded and is not downloaded: `write_to_file` accepts any size. Retries for
        max_download_retry_time.

        `max_size`: In bytes, not negative (else InvalidArgument). The service reserves this much memory, so calls
        with large values wait for each other.

        `offset`: The first byte of the part: at most the size of the object, else InvalidArgument. A part is not
        verified, unless it is the whole object.

        `length`: The length of the part, which ends at the end of the object at the latest. By default the part is
        the rest of the object. max_size applies to the part.

        In the SDK: `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
        """
        return await self._ask(
            "reference/getData",
            {"maxSize": max_size, **given(offset=offset, length=length)},
            lambda result: base64.b64decode(result["data"]),
        )

    def write_to_file(
        self,
        file: str | os.PathLike[str],
        *,
        key: str | None = None,
        keep_existing: bool | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncDownloadTask:
        """Downloads to a local file.

        Streams an object of any size in constant memory to a file beside the destination, and moves that file to the
        destination atomically once all bytes have arrived and the checksum matches. The directory must exist. If the
        object changes in the meantime, the download restarts from the first byte.

        `file`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a
        download with this key is unfinished, the same request joins it instead of starting another one, also after a
        kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `keep_existing`: A file that exists is not replaced: the task fails with PreconditionFailed. Default: `false`.

        In the SDK: `StorageReference.write(toFile:completion:), .writeAsync(toFile:)`.
        """
        return self._start_download_task(
            "reference/writeToFile",
            {"file": local_path(file), **given(key=key, keepExisting=keep_existing)},
            on_progress,
            observe,
        )

    def put_directory(
        self,
        directory: str | os.PathLike[str],
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        changed: bool | None = None,
        trust_times: bool | None = None,
        delete: bool | None = None,
        dry_run: bool | None = None,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        on_progress: Callable[[AsyncFolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncFolderSnapshot], object]] | None = None,
    ) -> AsyncFolderTask:
        """Uploads a local directory below a reference, as one task.

        The file `a/b.jpg` of the directory becomes the object `a/b.jpg` below the reference, independent of existing
        objects. The task finds all files first, then transfers as many at a time as the engine's limits allow. It
        survives a restart, and continues with the remaining files. Links are not followed: links, sockets, and names
        that cannot be objects are reported as `refused`, and the task continues. The failure of a file does not stop
        the others, unless the error concerns all of them (Unauthenticated, BucketNotFound, QuotaExceeded,
        RetryLimitExceeded); then, or at the end, the task fails. Empty directories are skipped.

        `directory`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `changed`: Skips a file whose target has the same size and checksum. Only files on this machine are read for
        that.

        `trust_times`: With `changed`: a local file is not read if its device, inode, size and times of change are
        those that it had when a task with `trust_times` read it last. Without `changed` -32602.

        `delete`: Deletes the objects below the reference that the directory does not have, after everything else has
        succeeded, except objects that have changed since they were listed. Everything below a refused item is kept,
        since the contents of the directory are unknown there; so are objects whose names cannot be files, such as
        `a//b`.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `metadata`: The metadata of each new object. Without content_type each object has the type that the name of
        its file implies.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. A file whose target exists
        counts as unchanged.

        `at_once`: The number of files that are transferred or deleted at a time, at most; the limits for all tasks
        also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.
        """
        return self._start_folder_task(
            "reference/putDirectory",
            {
                "directory": local_path(directory),
                **given(
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    changed=changed,
                    trustTimes=trust_times,
                    delete=delete,
                    dryRun=dry_run,
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                ),
            },
            on_progress,
            observe,
        )

    def write_to_directory(
        self,
        directory: str | os.PathLike[str],
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        changed: bool | None = None,
        trust_times: bool | None = None,
        delete: bool | None = None,
        dry_run: bool | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        on_progress: Callable[[AsyncFolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncFolderSnapshot], object]] | None = None,
    ) -> AsyncFolderTask:
        """Downloads all objects below a reference to a local directory, as one task.

        The object `a/b.jpg` below the reference becomes the file `a/b.jpg` in the directory; missing directories are
        created. Each file appears atomically, as with `write_to_file`. The task continues after a restart, and
        reports like `put_directory`. Objects whose names cannot be files, such as `a//b`, `../a`, or `a` beside
        `a/b`, are `refused`; no link in the directory is followed.

        `directory`: An absolute path, or a `file://` URL of this machine, else InvalidArgument.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `changed`: Skips a file whose target has the same size and checksum. Only files on this machine are read for
        that.

        `trust_times`: With `changed`: a local file is not read if its device, inode, size and times of change are
        those that it had when a task with `trust_times` read it last. Without `changed` -32602.

        `delete`: Deletes the files in the directory that are not below the reference. Links and directories are kept.
        Files are deleted after everything else has succeeded, except files that have changed since they were listed.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. A file whose target exists
        counts as unchanged.

        `at_once`: The number of files that are transferred or deleted at a time, at most; the limits for all tasks
        also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.
        """
        return self._start_folder_task(
            "reference/writeToDirectory",
            {
                "directory": local_path(directory),
                **given(
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    changed=changed,
                    trustTimes=trust_times,
                    delete=delete,
                    dryRun=dry_run,
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                ),
            },
            on_progress,
            observe,
        )

    def delete_all(
        self,
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        everything: bool | None = None,
        dry_run: bool | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        refresh: bool | None = None,
        on_progress: Callable[[AsyncFolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncFolderSnapshot], object]] | None = None,
    ) -> AsyncFolderTask:
        """Deletes all objects below a reference, as one task.

        First lists the objects below the reference, then deletes them: an object that is replaced meanwhile is kept,
        and is reported as failed. `files.deleted` is the number of deleted objects. An object with the name of the
        folder itself is kept.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.

        `everything`: Must be true for the root of a bucket, else InvalidArgument: an empty path never means all
        objects.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `at_once`: The number of files that are deleted at a time, at most; the limits for all tasks also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `refresh`: With `key`: if the request joins a task, the task lists the folder again, and also deletes objects
        that were stored there before this request, and objects whose deletion failed. Objects that are stored later
        are kept. With `dry_run`, or without `key`, -32602.
        """
        return self._start_folder_task(
            "reference/deleteAll",
            given(
                include=several("include", include),
                exclude=several("exclude", exclude),
                everything=everything,
                dryRun=dry_run,
                atOnce=at_once,
                keepItems=keep_items,
                key=key,
                refresh=refresh,
            ),
            on_progress,
            observe,
        )

    def copy_all(
        self,
        to: AsyncReference | str,
        *,
        move: bool | None = None,
        others: Iterable[str] | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        everything: bool | None = None,
        changed: bool | None = None,
        dry_run: bool | None = None,
        if_generation_match: str | int | None = None,
        at_once: int | None = None,
        keep_items: bool | None = None,
        key: str | None = None,
        refresh: bool | None = None,
        on_progress: Callable[[AsyncFolderSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncFolderSnapshot], object]] | None = None,
    ) -> AsyncFolderTask:
        """Copies or moves all objects below a reference, as one task.

        The object `a/b.jpg` below `reference` becomes `a/b.jpg` below `to`, with its metadata, like `copy` and
        `move`. All names are known before the first write: if a target would be in its source folder, if two objects
        would get one target, or if a copy would replace another source, it is InvalidArgument, and nothing is
        written. A copy replaces only the generation that its target had when the plan was made: a later object is
        kept, and the item fails; `retry` replaces it. A move deletes an object only if it is the generation that was
        copied.

        `to`: The folder that the objects are copied to, or the root of a bucket.

        `move`: Moves the objects instead of copying them.

        `others`: More sources of the same task: up to 9,999 folders, or objects with `is_object`. Each `to` is in the
        bucket of `to`.

        `include`: Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for
        any, `?` for one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[`
        without its `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared
        with the path below the folder, any other pattern with the name of the file or of a folder above it; a pattern
        that ends with a slash matches only folders. If a folder matches, everything below it matches.

        `exclude`: Patterns, as in `include`, of objects and folders to skip. Neither `include` nor `exclude` applies
        to `others` with `is_object`.

        `everything`: Must be true if the root of a bucket is copied or moved, else InvalidArgument: an empty path
        never means all objects.

        `changed`: Skips an object whose target has the same size and checksum. Metadata is not compared. With `move`
        -32602.

        `dry_run`: Changes nothing: the task ends with the plan. `items` lists the planned actions.

        `if_generation_match`: 0 is the only value: existing objects are not replaced. An object whose target exists
        counts as unchanged, and is not moved.

        `at_once`: The number of objects that are copied at a time, at most; the limits for all tasks also apply.

        `keep_items`: Keeps all items for `items` after a success, too, until the task is forgotten. By default only
        refused and failed items are kept.

        `key`: A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task
        over a folder with this key is unfinished, the same request joins it instead of starting another one, also
        after a kill or a restart, and for another client: it is resumed if it is paused, and the answer has
        `continued`. Params that differ from the first request, except observers and `wait`, are InvalidArgument.

        `refresh`: With `key`: if the request joins a task, `reference`, `to` and `others` may differ from the task's,
        in the same target bucket. The task adds them to its own, and lists its sources again when it has finished its
        plan: it copies additions, changes and failed items. An object that was stored at a target after the task
        began is kept, and the item fails, unless it is an earlier copy of the same object by this task. With
        `dry_run`, or without `key`, -32602.
        """
        return self._start_folder_task(
            "reference/copyAll",
            {
                "to": self._target(to),
                **given(
                    move=move,
                    others=several("others", others),
                    include=several("include", include),
                    exclude=several("exclude", exclude),
                    everything=everything,
                    changed=changed,
                    dryRun=dry_run,
                    ifGenerationMatch=if_generation_match,
                    atOnce=at_once,
                    keepItems=keep_items,
                    key=key,
                    refresh=refresh,
                ),
            },
            on_progress,
            observe,
        )

    def get_stream(
        self,
        *,
        offset: int | None = None,
        on_progress: Callable[[AsyncSnapshot], object] | None = None,
        observe: Mapping[Status, Callable[[AsyncSnapshot], object]] | None = None,
    ) -> AsyncDownloadStream:
        """Begins a download whose bytes the client fetches piece by piece.

        `read` answers the next piece. All pieces are of one generation of the object: if it is replaced or deleted
        meanwhile, the next read and the task fail. The task buffers at most one piece, can be paused and observed,
        waits for its client without a time limit, and ends with the connection that began it, with Cancelled. Its
        snapshots have `origin: "stream"` and `offset`. It does not count as a running download, and is not recorded.

        `offset`: The first byte that is read: at most the size of the object, else the task fails with
        InvalidArgument. 0 by default.
        """
        return self._start_download_stream("reference/getStream", given(offset=offset), on_progress, observe)


class AsyncTaskMethods(AsyncAsking):
    async def pause(self) -> bool:
        """Stops an upload until it is resumed.

        Answers once the upload has stopped, within a second. The `pause` event comes before the answer, and no
        `progress` after it. If the upload is committed at that moment, the answer is `accepted: false` with state
        success.

        In the SDK: `StorageUploadTask.pause()`.
        """
        return await self._ask("pause", {}, lambda result: bool(result["accepted"]))

    async def resume(self) -> bool:
        """Continues an upload from the last acknowledged byte.

        Never restarts from zero. If too many uploads are running, the task is queued, and the `resume` event follows
        when it runs.

        In the SDK: `StorageUploadTask.resume()`.
        """
        return await self._ask("resume", {}, lambda result: bool(result["accepted"]))

    async def retry(self) -> bool:
        """Tries an upload again immediately, for example when the network is back.

        An upload that waits after a failure (`retry` in its snapshot) tries again now; the attempt counts like the
        one that was due. An upload that has failed with a `retryable` error, or with RetryLimitExceeded, restarts
        under the same id, with the same request and a new retry time: it is queued, listed as unfinished, and
        survives restarts, like a new one. Its observers have received `failure` and were removed: observe it again.
        It continues with the tokens of this connection. A copy or a move first checks whether its object is stored.
        `accepted` is false for an upload that runs without a wait, is paused, succeeded, was cancelled or failed
        permanently; for one of `put_data` whose bytes were not kept; for one of the gateway or of another endpoint;
        and for one that a release before this method recorded. With --max-tasks unfinished tasks, and if the disk is
        full, it is QuotaExceeded, and the task is unchanged.
        """
        return await self._ask("retry", {}, lambda result: bool(result["accepted"]))

    async def cancel(self) -> bool:
        """Ends an upload; nothing is stored.

        Answers once the upload has ended, within a second, after its observers have received `failure` with
        Cancelled. If a remote engine's server has all bytes and has not answered yet, the service waits for the
        answer, ends the session and looks at the object: if it is stored, the answer is `accepted: false` with state
        success. If that cannot be found out, the error has `may_be_stored`.

        In the SDK: `StorageUploadTask.cancel()`.
        """
        return await self._ask("cancel", {}, lambda result: bool(result["accepted"]))

    async def forget(self) -> bool:
        """Removes an ended upload from the list.

        Its id is unknown from then on, after a restart too. `accepted` is false for an active task: cancel it first.
        """
        return await self._ask("forget", {}, lambda result: bool(result["accepted"]))


class AsyncFolderTaskMethods(AsyncAsking):
    async def pause(self) -> bool:
        """Stops a task over a folder until it is resumed.

        Answers once all transfers have stopped. Large files later resume at their last acknowledged byte, small ones
        restart.
        """
        return await self._ask("pause", {}, lambda result: bool(result["accepted"]))

    async def resume(self) -> bool:
        """Continues with the remaining items.

        An unfinished task of an earlier process is paused. It continues with the tokens of the client that resumes
        it.
        """
        return await self._ask("resume", {}, lambda result: bool(result["accepted"]))

    async def cancel(self) -> bool:
        """Stops a task over a folder for good.

        Finished transfers are kept. Answers once all transfers have stopped.
        """
        return await self._ask("cancel", {}, lambda result: bool(result["accepted"]))

    async def retry(self) -> bool:
        """Retries the failed and the pending items.

        Ends a wait after a failure. A failed task continues with its failed and pending items, under the same id;
        observe it again.
        """
        return await self._ask("retry", {}, lambda result: bool(result["accepted"]))

    async def forget(self) -> bool:
        """Removes an ended task from the list.

        Its id is unknown from then on, after a restart too. `accepted` is false for an active task: cancel it first.
        """
        return await self._ask("forget", {}, lambda result: bool(result["accepted"]))
