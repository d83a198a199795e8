"""A session with a service, for asyncio: how it is opened and closed, and how its requests are sent."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, TypeVar

from .._base import AsyncRefreshToken, SessionBase, fresh_to_wire
from .._core import PATIENCE, START_PATIENCE, hello
from .._events import called
from .._methods import AsyncStorageMethods
from .._program import Engine
from .._streams import MOVING, STEP
from .._tasks import moves
from ..errors import ServiceGone, StorageError
from ..urls import check_engine, is_url, not_in, parse_url
from ..wire import checked_text, segments
from .connection import Connection, Dispatcher
from .transport import Child, Socket, through

T = TypeVar("T")
Self = TypeVar("Self", bound="Session")
NOT_OPENED = "The session has not been opened: use it in `async with`, or await its open()."
NO_LOOP = "No event loop of asyncio runs here. With trio and others, use Storage on a thread, as trio.to_thread does."


class Session(SessionBase, AsyncStorageMethods):
    """Opens and closes the session, and sends its requests."""

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        socket: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        shared: bool = False,
        bucket: str | None = None,
        trace: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
        endpoint: str | None = None,
        flags: Sequence[str] = (),
        pauses_tasks: bool | None = None,
        on_refresh_token: AsyncRefreshToken | None = None,
    ) -> None:
        """`command` is the program to start; by default $STORAGE_RPC, else that of an installed wheel or the PATH.

        `root` is where that program keeps objects, and the state of tasks. With `shared` all sessions on one root, of any
        process and any client, have one service: the first session starts it, and it ends a minute after the last session
        and the last running task. `bucket` is the bucket of paths; by default that of the service. `trace` is a file to
        which the service appends every message: `storage-rpc trace FILE` shows it; $STORAGE_RPC_TRACE is the same for
        every service that a client starts.

        `engine` stores the objects elsewhere: "firebase", "gcs" or "s3"; `endpoint` is the URL of another server of that
        engine. `flags` are more flags of the program, such as `["--region", "eu-central-1"]` or `["--service-account",
        "key.json"]`; `storage-rpc help storage` and `help credentials` list them.

        >>> Storage(engine="s3", endpoint="https://s3.example.com", bucket="films", flags=["--profile", "work"])

        With `pauses_tasks` the tasks that this session has started or resumed pause when it ends early: by an exception
        that leaves `async with`, by Ctrl-C or by a kill. Without it they continue while the service does. By default the tasks
        of a private service pause, and those of one that is shared, or on a socket, continue. A program that is run again
        resumes them with the same `key`: see `put_file`.

        `on_refresh_token` is where fresh tokens come from: when one that `set_token` has set expires or is refused, it
        is called with the kind and "expired" or "refused". It has 30 seconds to return, or to be awaited for, a token,
        `(token, expires_in)`, or None for "no more".
        """
        super().__init__(command, socket, root, shared, bucket, trace, engine, endpoint, flags, pauses_tasks)
        if on_refresh_token is not None:
            called("on_refresh_token", on_refresh_token)
        self.on_refresh_token: AsyncRefreshToken | None = on_refresh_token
        self._fed: dict[Any, asyncio.Task[None]] = {}
        self._starts: set[asyncio.Future[str]] = set()
        """The unanswered starts of tasks."""
        self._opened: tuple[Connection, Dispatcher] | None = None

    async def open(self: Self) -> Self:
        """Starts or finds the service, as entering `async with` does."""
        if self._opened:
            self._connection.guard.check()
            return self
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(NO_LOOP) from None
        transport = await (Child.start(self._command) if self._socket is None else Socket.connect(self._socket))
        self._opened = Connection(transport, self._tasks.hear, self._answer, self._tasks.lose), Dispatcher()
        try:
            hearing = self._ask("initialize", hello(pauses_tasks=self._pauses_tasks), lambda result: result)
            server = await asyncio.wait_for(hearing, START_PATIENCE)
        except BaseException as error:
            await self.close(drain=False)
            if isinstance(error, asyncio.TimeoutError):
                raise TimeoutError(f"The service has not answered within {START_PATIENCE} seconds.") from None
            raise
        self._connection.core.greeted(server)
        self._greeted(server)
        self._bucket = self._bucket or server["defaultBucket"]
        return self

    async def __aenter__(self: Self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def close(self, *, drain: bool = True) -> None:
        """Ends the session, as leaving `async with` does.

        First waits for the running tasks of a private service. With `drain=False`, which is what an exception that leaves
        `async with` means, such as that of a cancellation, waits for nothing: these tasks pause. The service ends, too,
        once it has no other clients. A service that is shared, or on a socket, continues with its tasks; `pauses_tasks`
        of the session changes that; calls that it has not answered within three seconds fail. A fork of the process has
        nothing to close.
        """
        if self._opened and not self._connection.guard.is_fork:
            self._connection.guard.check()
            try:
                await self._end(drain=drain)
                await self._dispatcher.close()
            except asyncio.CancelledError:
                self._dispatcher.cancel()
                await through(self._end(drain=False))
                raise

    async def _end(self, *, drain: bool) -> None:
        await self._end_streams(drain=drain)
        if drain and self._waits_for_tasks:
            await self._end_tasks()
        await self._connection.close(drain=drain)

    @property
    def default_bucket(self) -> str:
        if self._bucket is None:
            raise ServiceGone(NOT_OPENED)
        return self._bucket

    @property
    def _connection(self) -> Connection:
        return self._running[0]

    @property
    def _dispatcher(self) -> Dispatcher:
        return self._running[1]

    @property
    def _running(self) -> tuple[Connection, Dispatcher]:
        if self._opened is None:
            raise ServiceGone(NOT_OPENED)
        return self._opened

    async def _ask(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._connection.call(method, params, then)

    def _submit(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]) -> asyncio.Future[T]:
        """Sends a request whose answer is awaited later. Cancelling the answer cancels the request."""
        connection = self._connection
        request = connection.submit(method, params, then)

        def note(answer: asyncio.Future[T]) -> None:
            # It may fail unawaited.
            if answer.cancelled() or isinstance(answer.exception(), ServiceGone):
                connection.forsake(request)

        request.answer.add_done_callback(note)
        return request.answer

    async def _end_streams(self, *, drain: bool) -> None:
        """Waits until the sources of streams have been read, except those of tasks that are paused or over, and sends what was
        written to others; or cancels the uploads that have a source."""
        for stream, feeding in list(self._fed.items()):
            with contextlib.suppress(StorageError):
                while drain and not feeding.done() and feeding is not asyncio.current_task():
                    if (await stream.task.snapshot()).state not in MOVING:
                        stream._is_closed = True  # its task stays
                        break
                    await asyncio.wait({feeding}, timeout=STEP)
            if feeding is not asyncio.current_task():
                feeding.cancel()
                await asyncio.wait({feeding}, timeout=PATIENCE)
        for stream in [one() for one in list(self._uploads)] if drain else ():
            if stream is not None:
                with contextlib.suppress(StorageError):
                    await self._end_upload(stream)

    async def _end_upload(self, stream: Any) -> None:
        """Waits until the service has taken what was written. A paused task would not take it before it is resumed: its appends
        are cancelled. With a harness a test may hold them."""
        answers = await stream._rest()
        if answers and self._has_harness:
            await asyncio.wait(answers, timeout=PATIENCE)
            return
        while any(not answer.done() for answer in answers) and (await stream.task.snapshot()).state in MOVING:
            await asyncio.wait(answers, timeout=STEP)
        for answer in answers:
            if not answer.done():
                answer.set_exception(ServiceGone("The session is closed."))
        await asyncio.sleep(0)  # The callbacks of the answers cancel the requests.

    async def _end_tasks(self) -> None:
        """Waits for the running tasks."""
        if self._starts:
            await asyncio.wait(self._starts)
        for task in list(self._tasks.moved):
            with contextlib.suppress(StorageError):
                while not task._end.done() and moves(await task.snapshot()):
                    await asyncio.wait({task._end}, timeout=STEP)

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        fresh = self._ask_for_token(method, params)
        return fresh_to_wire(await fresh if inspect.isawaitable(fresh) else fresh)

    def _promise(self) -> asyncio.Future[Any]:
        promise = asyncio.get_running_loop().create_future()
        promise.add_done_callback(lambda _: promise.cancelled() or promise.exception())  # It may fail unawaited.
        return promise

    def _find(self, path: str, bucket: str | None, object: str | None) -> Mapping[str, Any]:
        if is_url(checked_text(path, "The path of an object, or its URL,")):
            found = self._find_url(path)
            if bucket is not None and bucket != found["bucket"]:
                raise not_in(bucket, found["bucket"], found["object"] or found["fullPath"])
            return found
        return {"bucket": self.default_bucket if bucket is None else bucket, "fullPath": path, "object": object}

    def _find_url(self, url: str) -> Mapping[str, Any]:
        check_engine(url, self._engine)
        bucket, path, name = parse_url(url, self._server)
        return {"bucket": bucket, "fullPath": "/".join(segments(path)), "object": name}
