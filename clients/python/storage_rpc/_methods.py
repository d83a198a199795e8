# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"""The methods of the contract, by the SDK's names in Python's case."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any, Callable, Generic, Literal, TypeVar

from . import _types
from ._types import Metadata, ReferenceT, ServiceStatus, Settings, Status, TokenKind
from .wire import MetadataChange, decode, given, metadata_from_wire, metadata_to_wire, source

T = TypeVar("T")
ListingT = TypeVar("ListingT")
UploadTaskT = TypeVar("UploadTaskT")
DownloadTaskT = TypeVar("DownloadTaskT")
SnapshotT = TypeVar("SnapshotT")

Method = Literal[
    "initialize",
    "shutdown",
    "exit",
    "rpc.discover",
    "service/ping",
    "service/status",
    "service/stop",
    "auth/setToken",
    "storage/reference",
    "storage/getSettings",
    "storage/updateSettings",
    "reference/child",
    "reference/parent",
    "reference/root",
    "reference/putData",
    "reference/putFile",
    "reference/getMetadata",
    "reference/updateMetadata",
    "reference/downloadURL",
    "reference/revokeDownloadURL",
    "reference/delete",
    "reference/list",
    "reference/listAll",
    "reference/getData",
    "reference/writeToFile",
    "uploadTask/pause",
    "uploadTask/resume",
    "uploadTask/cancel",
    "uploadTask/snapshot",
    "uploadTask/wait",
    "uploadTask/list",
    "uploadTask/forget",
    "uploadTask/observe",
    "uploadTask/removeObserver",
    "uploadTask/removeAllObservers",
    "downloadTask/pause",
    "downloadTask/resume",
    "downloadTask/cancel",
    "downloadTask/snapshot",
    "downloadTask/wait",
    "downloadTask/list",
    "downloadTask/forget",
    "downloadTask/observe",
    "downloadTask/removeObserver",
    "downloadTask/removeAllObservers",
]
TaskVerb = Literal[
    "pause",
    "resume",
    "cancel",
    "snapshot",
    "wait",
    "list",
    "forget",
    "observe",
    "removeObserver",
    "removeAllObservers",
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


class Referring(Generic[ReferenceT, ListingT, UploadTaskT, DownloadTaskT, SnapshotT]):
    """Starts tasks, and makes references of results."""

    def _start_upload_task(self, *start: Any) -> UploadTaskT:
        raise NotImplementedError

    def _start_download_task(self, *start: Any) -> DownloadTaskT:
        raise NotImplementedError

    def _to_reference(self, message: Any) -> ReferenceT:
        raise NotImplementedError

    def _to_reference_or_none(self, message: Any) -> ReferenceT | None:
        return self._to_reference(message) if message else None

    def _to_listing(self, message: Any) -> ListingT:
        raise NotImplementedError


class StorageMethods(Asking):
    def discover(self, *, timeout: float | None = None) -> Mapping[str, Any]:
        """The contract itself: this OpenRPC document.

        Equal to `protocol/openrpc.json` of the version that is running.
        """
        return self._ask("rpc.discover", {}, lambda result: result, timeout)

    def ping(self, *, timeout: float | None = None) -> str:
        """Is anybody there?

        Answers at once, whatever else is going on.
        """
        return self._ask("service/ping", {}, str, timeout)

    def status(self, *, timeout: float | None = None) -> ServiceStatus:
        """How the process is doing.

        Uptime in seconds; the number of connections, this one included; the requests of all connections that are not
        answered yet, without this one; the number of tasks in each state. Nothing is going on where no request is
        active or waiting, and no task is queued or running.
        """
        return self._ask("service/status", {}, decode(_types.ServiceStatus), timeout)

    def stop(self, *, timeout: float | None = None) -> None:
        """Ends the process for all clients, as SIGTERM does.

        Answered first. Then running tasks are paused, answers that are ready go out, and the process ends with 0. The
        log says which connection asked for it.
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
        """In whose name this connection asks the engine from now on.

        For what the connection starts from then on, and for what goes on of it; other connections have tokens of
        their own. A token of each kind may be set. One that expires, or that the engine's server refuses, is asked
        for anew with `auth/refreshToken`; setting one meanwhile does as well. The embedded engine takes tokens, and
        never needs one. The token appears in no log and no error.

        `token`: Printable ASCII without white space, at most 64 KiB; null takes the connection's token of that kind
        away.

        `kind`: accessToken on the engine gcs, else idToken, where not given.

        `expires_in`: Seconds, more than 0, for which the token is good. Without it, it is good until it is refused.
        """
        self._ask(
            "auth/setToken",
            {"token": token, **given(kind=kind, expiresIn=expires_in)},
            lambda result: None,
            timeout,
        )

    def get_settings(self, *, timeout: float | None = None) -> Settings:
        """The settings now.

        Retry times are in seconds. uploadChunkSizeBytes is absent while it is not set: chunks then grow with the
        upload, from 256 KiB to 8 MiB.

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
        *,
        timeout: float | None = None,
    ) -> Settings:
        """Changes what is named, for the tasks and calls that the connection begins afterwards.

        Other connections have settings of their own. All or nothing: where one value is out of range, none is
        changed.

        `max_upload_retry_time`: Seconds that a failing upload may be retried without progress.

        `max_download_retry_time`: Seconds that a failing download may be retried without progress.

        `max_operation_retry_time`: Seconds that any other failing call may be retried.

        `upload_chunk_size_bytes`: Rounded up to a multiple of 256 KiB.

        `user_project`: The project of Google Cloud that pays for what a remote engine is asked, and whose quota
        counts; empty leaves that to the credentials.

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
            ),
            decode(_types.Settings),
            timeout,
        )


class ReferenceMethods(Asking, Referring[ReferenceT, ListingT, UploadTaskT, DownloadTaskT, SnapshotT]):
    def child(self, path: str, *, timeout: float | None = None) -> ReferenceT:
        """The reference below this one by a path.

        The path may have several segments. `..` is a name like any other.

        `path`: Relative to the reference.

        In the SDK: `StorageReference.child(_:)`.
        """
        return self._ask("reference/child", {"path": path}, self._to_reference, timeout)

    def parent(self, *, timeout: float | None = None) -> ReferenceT | None:
        """One level up; null at the root.

        The parent of a child of the root is the root.

        In the SDK: `StorageReference.parent()`.
        """
        return self._ask("reference/parent", {}, self._to_reference_or_none, timeout)

    def root(self, *, timeout: float | None = None) -> ReferenceT:
        """The top of the bucket.

        The reference whose fullPath is empty.

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
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTaskT:
        """Uploads bytes from memory.

        The answer creates the task; its events come after the answer. Exactly one of `data` and `text` is given. With
        `wait: true` the task's error becomes the answer's.

        `metadata`: What is to be stored with the bytes. contentType is inferred where it is not given: from the
        file's extension, else from the reference's, else application/octet-stream.

        `if_generation_match`: Stores only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
        timeout: float | None = None,
    ) -> UploadTaskT:
        """Uploads a local file.

        Streams: a file of any size in constant memory. The file must stay as it is until the end: one that changes
        fails the task with -13000, and nothing is stored; so does one that is missing, unreadable or not regular. An
        object appears whole or not at all.

        `file`: An absolute path, or a `file://` URL of this machine.

        `metadata`: What is to be stored with the bytes. contentType is inferred where it is not given: from the
        file's extension, else from the reference's, else application/octet-stream.

        `if_generation_match`: Stores only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

        In the SDK: `StorageReference.putFile(from:metadata:completion:), .putFileAsync(from:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putFile",
            {
                "file": os.path.abspath(file),
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

    def get_metadata(self, *, timeout: float | None = None) -> Metadata:
        """What the engine knows about an object.

        What is not set is absent.

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
        """Keeps what is absent, removes what is null, sets the rest.

        What the service keeps itself is ignored, so that what was read can be sent back edited. What is left out
        stays, also a key of customMetadata; null removes it. metageneration grows by one.

        `if_generation_match`: Changes only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
        """A URL that anybody may fetch the object from.

        Whoever has it needs no token and no service: it holds a secret, and is good until it is revoked or the object
        is gone. What a remote engine serves is addressed there, what the embedded one keeps on this machine.

        `expires_in`: For how many seconds it is good: 1 to 604800. Only signed URLs, those of Google Cloud Storage,
        end by themselves, without this after seven days; elsewhere it is -13050.

        In the SDK: `StorageReference.downloadURL()`.
        """
        return self._ask(
            "reference/downloadURL",
            given(expiresIn=expires_in),
            lambda result: str(result["url"]),
            timeout,
        )

    def revoke_download_url(self, *, timeout: float | None = None) -> str:
        """Makes the URLs that were given before worthless, and gives a new one.

        Counts as a change of the object's metadata. The SDK has this in the console alone.
        """
        return self._ask("reference/revokeDownloadURL", {}, lambda result: str(result["url"]), timeout)

    def delete(
        self,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Removes an object.

        It is gone for whoever looks from then on; downloads that are under way may end with it. What lies below it
        stays.

        `if_generation_match`: Deletes only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
        *,
        timeout: float | None = None,
    ) -> ListingT:
        """One page of what is directly below a reference.

        In the order of the bytes of the names. The root is allowed; a reference with nothing below it has an empty
        page. A page may have fewer results than it could, and still not be the last. Names that are no references, as
        others may have given them, are left out.

        `max_results`: The most prefixes and items together: 1 to 1000, else -13050; 1000 where not given.

        `page_token`: From the page before, for the same reference.

        `exact`: Tell names with empty segments too, such as `folder/` and `a//b`, as references with `object`.
        Firebase Storage may leave them out by itself.

        In the SDK: `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
        """
        return self._ask(
            "reference/list",
            given(maxResults=max_results, pageToken=page_token, exact=exact),
            self._to_listing,
            timeout,
        )

    def list_all(self, exact: bool | None = None, *, timeout: float | None = None) -> ListingT:
        """All that is directly below a reference.

        All pages of `reference/list` in one answer, however long it gets: where there may be very many, list them
        page by page. What comes and goes meanwhile may be missing.

        `exact`: Tell names with empty segments too, as in `reference/list`.

        In the SDK: `StorageReference.listAll()`.
        """
        return self._ask("reference/listAll", given(exact=exact), self._to_listing, timeout)

    def get_data(self, max_size: int, *, timeout: float | None = None) -> bytes:
        """All bytes of an object, if they are not too many.

        Verified against the object's checksum. One that is larger than maxSize, or than fits an answer of
        maxMessageBytes (about 48 MiB, as it is set up), is -13032 and nothing is fetched: `reference/writeToFile`
        takes any size. Retried for maxDownloadRetryTime.

        `max_size`: In bytes, not negative (else -13050). So much memory is set aside: calls that allow a lot wait for
        each other.

        In the SDK: `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
        """
        return self._ask(
            "reference/getData",
            {"maxSize": max_size},
            lambda result: base64.b64decode(result["data"]),
            timeout,
        )

    def write_to_file(
        self,
        file: str | os.PathLike[str],
        *,
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
        timeout: float | None = None,
    ) -> DownloadTaskT:
        """Downloads to a local file.

        Streams: an object of any size in constant memory. The file appears, or is replaced, in one moment, when all
        bytes have arrived and have the right checksum; until then they are in a file beside it. Its directory must be
        there. An object that changes meanwhile is fetched from its first byte.

        `file`: An absolute path, or a `file://` URL of this machine.

        In the SDK: `StorageReference.write(toFile:completion:), .writeAsync(toFile:)`.
        """
        return self._start_download_task(
            "reference/writeToFile",
            {"file": os.path.abspath(file)},
            on_progress,
            observe,
            timeout,
        )


class TaskMethods(Asking):
    def pause(self, *, timeout: float | None = None) -> bool:
        """Stops an upload until it is resumed.

        Answers once the upload has stopped moving, within a second. The `pause` event comes before the answer, no
        `progress` after it. An upload that was committed in that very moment answers `accepted: false` with state
        success.

        In the SDK: `StorageUploadTask.pause()`.
        """
        return self._ask("pause", {}, lambda result: bool(result["accepted"]), timeout)

    def resume(self, *, timeout: float | None = None) -> bool:
        """Goes on from the last acknowledged byte.

        Never from zero. Where too many uploads move already, the task is queued and the `resume` event comes when it
        runs.

        In the SDK: `StorageUploadTask.resume()`.
        """
        return self._ask("resume", {}, lambda result: bool(result["accepted"]), timeout)

    def cancel(self, *, timeout: float | None = None) -> bool:
        """Ends an upload; nothing is stored.

        Answers once the upload has stopped for good, within a second. Its observers hear `failure` with -13040 before
        that.

        In the SDK: `StorageUploadTask.cancel()`.
        """
        return self._ask("cancel", {}, lambda result: bool(result["accepted"]), timeout)

    def forget(self, *, timeout: float | None = None) -> bool:
        """Takes an upload that has ended off the list.

        From then on nobody knows it any more, after a restart neither. `accepted` is false for one that has not
        ended: that is to be cancelled first.
        """
        return self._ask("forget", {}, lambda result: bool(result["accepted"]), timeout)


class AsyncStorageMethods(AsyncAsking):
    async def discover(self) -> Mapping[str, Any]:
        """The contract itself: this OpenRPC document.

        Equal to `protocol/openrpc.json` of the version that is running.
        """
        return await self._ask("rpc.discover", {}, lambda result: result)

    async def ping(self) -> str:
        """Is anybody there?

        Answers at once, whatever else is going on.
        """
        return await self._ask("service/ping", {}, str)

    async def status(self) -> ServiceStatus:
        """How the process is doing.

        Uptime in seconds; the number of connections, this one included; the requests of all connections that are not
        answered yet, without this one; the number of tasks in each state. Nothing is going on where no request is
        active or waiting, and no task is queued or running.
        """
        return await self._ask("service/status", {}, decode(_types.ServiceStatus))

    async def stop(self) -> None:
        """Ends the process for all clients, as SIGTERM does.

        Answered first. Then running tasks are paused, answers that are ready go out, and the process ends with 0. The
        log says which connection asked for it.
        """
        await self._ask("service/stop", {}, lambda result: None)

    async def set_token(
        self,
        token: str | None,
        kind: TokenKind | None = None,
        expires_in: float | None = None,
    ) -> None:
        """In whose name this connection asks the engine from now on.

        For what the connection starts from then on, and for what goes on of it; other connections have tokens of
        their own. A token of each kind may be set. One that expires, or that the engine's server refuses, is asked
        for anew with `auth/refreshToken`; setting one meanwhile does as well. The embedded engine takes tokens, and
        never needs one. The token appears in no log and no error.

        `token`: Printable ASCII without white space, at most 64 KiB; null takes the connection's token of that kind
        away.

        `kind`: accessToken on the engine gcs, else idToken, where not given.

        `expires_in`: Seconds, more than 0, for which the token is good. Without it, it is good until it is refused.
        """
        await self._ask(
            "auth/setToken",
            {"token": token, **given(kind=kind, expiresIn=expires_in)},
            lambda result: None,
        )

    async def get_settings(self) -> Settings:
        """The settings now.

        Retry times are in seconds. uploadChunkSizeBytes is absent while it is not set: chunks then grow with the
        upload, from 256 KiB to 8 MiB.

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
    ) -> Settings:
        """Changes what is named, for the tasks and calls that the connection begins afterwards.

        Other connections have settings of their own. All or nothing: where one value is out of range, none is
        changed.

        `max_upload_retry_time`: Seconds that a failing upload may be retried without progress.

        `max_download_retry_time`: Seconds that a failing download may be retried without progress.

        `max_operation_retry_time`: Seconds that any other failing call may be retried.

        `upload_chunk_size_bytes`: Rounded up to a multiple of 256 KiB.

        `user_project`: The project of Google Cloud that pays for what a remote engine is asked, and whose quota
        counts; empty leaves that to the credentials.

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
            ),
            decode(_types.Settings),
        )


class AsyncReferenceMethods(AsyncAsking, Referring[ReferenceT, ListingT, UploadTaskT, DownloadTaskT, SnapshotT]):
    def put_data(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        metadata: MetadataChange | None = None,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
    ) -> UploadTaskT:
        """Uploads bytes from memory.

        The answer creates the task; its events come after the answer. Exactly one of `data` and `text` is given. With
        `wait: true` the task's error becomes the answer's.

        `metadata`: What is to be stored with the bytes. contentType is inferred where it is not given: from the
        file's extension, else from the reference's, else application/octet-stream.

        `if_generation_match`: Stores only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
    ) -> UploadTaskT:
        """Uploads a local file.

        Streams: a file of any size in constant memory. The file must stay as it is until the end: one that changes
        fails the task with -13000, and nothing is stored; so does one that is missing, unreadable or not regular. An
        object appears whole or not at all.

        `file`: An absolute path, or a `file://` URL of this machine.

        `metadata`: What is to be stored with the bytes. contentType is inferred where it is not given: from the
        file's extension, else from the reference's, else application/octet-stream.

        `if_generation_match`: Stores only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

        In the SDK: `StorageReference.putFile(from:metadata:completion:), .putFileAsync(from:metadata:)`.
        """
        return self._start_upload_task(
            "reference/putFile",
            {
                "file": os.path.abspath(file),
                **given(
                    metadata=metadata_to_wire(metadata),
                    ifGenerationMatch=if_generation_match,
                    ifMetagenerationMatch=if_metageneration_match,
                ),
            },
            on_progress,
            observe,
        )

    async def get_metadata(self) -> Metadata:
        """What the engine knows about an object.

        What is not set is absent.

        In the SDK: `StorageReference.getMetadata()`.
        """
        return await self._ask("reference/getMetadata", {}, metadata_from_wire)

    async def update_metadata(
        self,
        metadata: MetadataChange,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
    ) -> Metadata:
        """Keeps what is absent, removes what is null, sets the rest.

        What the service keeps itself is ignored, so that what was read can be sent back edited. What is left out
        stays, also a key of customMetadata; null removes it. metageneration grows by one.

        `if_generation_match`: Changes only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
        """A URL that anybody may fetch the object from.

        Whoever has it needs no token and no service: it holds a secret, and is good until it is revoked or the object
        is gone. What a remote engine serves is addressed there, what the embedded one keeps on this machine.

        `expires_in`: For how many seconds it is good: 1 to 604800. Only signed URLs, those of Google Cloud Storage,
        end by themselves, without this after seven days; elsewhere it is -13050.

        In the SDK: `StorageReference.downloadURL()`.
        """
        return await self._ask("reference/downloadURL", given(expiresIn=expires_in), lambda result: str(result["url"]))

    async def revoke_download_url(self) -> str:
        """Makes the URLs that were given before worthless, and gives a new one.

        Counts as a change of the object's metadata. The SDK has this in the console alone.
        """
        return await self._ask("reference/revokeDownloadURL", {}, lambda result: str(result["url"]))

    async def delete(
        self,
        if_generation_match: str | int | None = None,
        if_metageneration_match: str | int | None = None,
    ) -> None:
        """Removes an object.

        It is gone for whoever looks from then on; downloads that are under way may end with it. What lies below it
        stays.

        `if_generation_match`: Deletes only where the object has this generation: as metadata has it, or an integer; 0
        where there must be no object. Otherwise -13412.

        `if_metageneration_match`: The same with the metageneration.

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
    ) -> ListingT:
        """One page of what is directly below a reference.

        In the order of the bytes of the names. The root is allowed; a reference with nothing below it has an empty
        page. A page may have fewer results than it could, and still not be the last. Names that are no references, as
        others may have given them, are left out.

        `max_results`: The most prefixes and items together: 1 to 1000, else -13050; 1000 where not given.

        `page_token`: From the page before, for the same reference.

        `exact`: Tell names with empty segments too, such as `folder/` and `a//b`, as references with `object`.
        Firebase Storage may leave them out by itself.

        In the SDK: `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
        """
        return await self._ask(
            "reference/list",
            given(maxResults=max_results, pageToken=page_token, exact=exact),
            self._to_listing,
        )

    async def list_all(self, exact: bool | None = None) -> ListingT:
        """All that is directly below a reference.

        All pages of `reference/list` in one answer, however long it gets: where there may be very many, list them
        page by page. What comes and goes meanwhile may be missing.

        `exact`: Tell names with empty segments too, as in `reference/list`.

        In the SDK: `StorageReference.listAll()`.
        """
        return await self._ask("reference/listAll", given(exact=exact), self._to_listing)

    async def get_data(self, max_size: int) -> bytes:
        """All bytes of an object, if they are not too many.

        Verified against the object's checksum. One that is larger than maxSize, or than fits an answer of
        maxMessageBytes (about 48 MiB, as it is set up), is -13032 and nothing is fetched: `reference/writeToFile`
        takes any size. Retried for maxDownloadRetryTime.

        `max_size`: In bytes, not negative (else -13050). So much memory is set aside: calls that allow a lot wait for
        each other.

        In the SDK: `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
        """
        return await self._ask(
            "reference/getData",
            {"maxSize": max_size},
            lambda result: base64.b64decode(result["data"]),
        )

    def write_to_file(
        self,
        file: str | os.PathLike[str],
        *,
        on_progress: Callable[[SnapshotT], object] | None = None,
        observe: Mapping[Status, Callable[[SnapshotT], object]] | None = None,
    ) -> DownloadTaskT:
        """Downloads to a local file.

        Streams: an object of any size in constant memory. The file appears, or is replaced, in one moment, when all
        bytes have arrived and have the right checksum; until then they are in a file beside it. Its directory must be
        there. An object that changes meanwhile is fetched from its first byte.

        `file`: An absolute path, or a `file://` URL of this machine.

        In the SDK: `StorageReference.write(toFile:completion:), .writeAsync(toFile:)`.
        """
        return self._start_download_task("reference/writeToFile", {"file": os.path.abspath(file)}, on_progress, observe)


class AsyncTaskMethods(AsyncAsking):
    async def pause(self) -> bool:
        """Stops an upload until it is resumed.

        Answers once the upload has stopped moving, within a second. The `pause` event comes before the answer, no
        `progress` after it. An upload that was committed in that very moment answers `accepted: false` with state
        success.

        In the SDK: `StorageUploadTask.pause()`.
        """
        return await self._ask("pause", {}, lambda result: bool(result["accepted"]))

    async def resume(self) -> bool:
        """Goes on from the last acknowledged byte.

        Never from zero. Where too many uploads move already, the task is queued and the `resume` event comes when it
        runs.

        In the SDK: `StorageUploadTask.resume()`.
        """
        return await self._ask("resume", {}, lambda result: bool(result["accepted"]))

    async def cancel(self) -> bool:
        """Ends an upload; nothing is stored.

        Answers once the upload has stopped for good, within a second. Its observers hear `failure` with -13040 before
        that.

        In the SDK: `StorageUploadTask.cancel()`.
        """
        return await self._ask("cancel", {}, lambda result: bool(result["accepted"]))

    async def forget(self) -> bool:
        """Takes an upload that has ended off the list.

        From then on nobody knows it any more, after a restart neither. `accepted` is false for one that has not
        ended: that is to be cancelled first.
        """
        return await self._ask("forget", {}, lambda result: bool(result["accepted"]))
