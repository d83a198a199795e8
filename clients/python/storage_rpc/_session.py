"""A session with a service, for threads: how it is opened and closed, and how its requests are sent."""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, TypeVar

from ._base import RefreshToken, SessionBase, fresh_to_wire
from ._core import PATIENCE, START_PATIENCE, hello
from ._events import called
from ._methods import StorageMethods
from ._program import Engine
from ._streams import MOVING, STEP
from ._tasks import moves
from ._types import Settings
from .connection import Answer, Connection, Dispatcher
from .errors import ServiceGone, StorageError
from .transport import Child, Socket
from .urls import check_engine, is_url
from .wire import checked_text, given

T = TypeVar("T")
Self = TypeVar("Self", bound="Session")


class Session(SessionBase, StorageMethods):
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
        timeout: float | None = None,
        on_refresh_token: RefreshToken | None = None,
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
        that leaves `with`, by Ctrl-C or by a kill. Without it they continue while the service does. By default the tasks
        of a private service pause, and those of one that is shared, or on a socket, continue. A program that is run again
        resumes them with the same `key`: see `put_file`.

        `timeout`, in seconds, is for each call that names none; without it calls wait. `on_refresh_token` is where
        fresh tokens come from: when one that `set_token` has set expires or is refused, it is called with the kind and
        "expired" or "refused", on a thread of its own. It has 30 seconds to return a token, `(token, expires_in)`, or
        None for "no more"; it is not called while the session is being closed.
        """
        super().__init__(command, socket, root, shared, bucket, trace, engine, endpoint, flags, pauses_tasks)
        if on_refresh_token is not None:
            called("on_refresh_token", on_refresh_token)
        self._timeout = timeout
        self._fed: dict[Any, threading.Thread] = {}
        self.on_refresh_token: RefreshToken | None = on_refresh_token
        transport = Child(self._command) if self._socket is None else Socket(self._socket)
        self._dispatcher = Dispatcher()
        self._connection = Connection(transport, self._tasks.hear, self._answer, self._tasks.lose)
        atexit.register(self._end_with_program)
        try:
            patience = START_PATIENCE if timeout is None else timeout
            server = self._ask("initialize", hello(pauses_tasks=self._pauses_tasks), lambda result: result, patience)
        except BaseException:
            self.close(drain=False)
            raise
        self._connection.core.greeted(server)
        self._greeted(server)
        self.default_bucket: str = server["defaultBucket"] if bucket is None else bucket

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=kind is None)

    def close(self, *, drain: bool = True) -> None:
        """Ends the session, as leaving `with` does, and the end of the program.

        First waits for the running tasks of a private service. With `drain=False`, which is what an exception that leaves
        `with` means, waits for nothing: these tasks pause. The service ends, too, once it has no other clients. A service
        that is shared, or on a socket, continues with its tasks; `pauses_tasks` of the session changes that; calls that it
        has not answered within three seconds fail. A fork of the process has nothing to close.
        """
        if self._connection.guard.is_fork:
            return
        try:
            self._end_streams(drain=drain)
            if drain and self._waits_for_tasks:
                self._end_tasks()
        except BaseException:  # Ctrl-C
            drain = False
            raise
        finally:
            atexit.unregister(self._end_with_program)
            self._connection.close(drain=drain)
            self._dispatcher.close()

    def _end_with_program(self) -> None:
        """Closes the session. Ctrl-C has ended the program without leaving `with`: waits for nothing."""
        is_interactive = hasattr(sys, "ps1")
        self.close(drain=is_interactive or not isinstance(getattr(sys, "last_value", None), KeyboardInterrupt))

    @property
    def settings(self) -> Settings:
        return self.get_settings()

    def _ask(
        self, method: str, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._connection.call(method, params, then, self._timeout if timeout is None else timeout)

    def _submit(
        self, method: str, params: Mapping[str, Any], then: Callable[[Any], T]
    ) -> Answer[T]:
        """Sends a request whose answer is awaited later."""
        return self._connection.submit(method, params, then)

    def _end_streams(self, *, drain: bool) -> None:
        """Waits until the sources of streams have been read, except those of tasks that are paused or over, and sends what was
        written to others; or cancels the uploads that have a source."""
        for stream, feeding in list(self._fed.items()):
            with contextlib.suppress(StorageError, TimeoutError):
                if not drain:
                    stream.task.cancel(timeout=PATIENCE)
                while drain and feeding.is_alive() and feeding is not threading.current_thread():
                    if stream.task.snapshot().state not in MOVING:
                        break
                    feeding.join(STEP)
        for stream in [one() for one in list(self._uploads)] if drain else ():
            if stream is not None:
                with contextlib.suppress(StorageError, TimeoutError):
                    self._end_upload(stream)

    def _end_upload(self, stream: Any) -> None:
        """Waits until the service has taken what was written. A paused task would not take it before it is resumed: its appends
        are cancelled. With a harness a test may hold them."""
        answers = stream._rest()
        if answers and self._has_harness:
            concurrent.futures.wait(answers, PATIENCE)
            return
        while any(not answer.done() for answer in answers) and stream.task.snapshot().state in MOVING:
            concurrent.futures.wait(answers, STEP)
        for answer in answers:
            if self._connection.forsake(answer):
                answer.set_exception(ServiceGone("The session is closed."))

    def _end_tasks(self) -> None:
        """Waits for the running tasks."""
        for task in list(self._tasks.moved):
            with contextlib.suppress(StorageError, TimeoutError):
                while not task._end.done() and moves(task.snapshot()):
                    concurrent.futures.wait([task._end], STEP)

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        return fresh_to_wire(self._ask_for_token(method, params))

    def _promise(self) -> concurrent.futures.Future[Any]:
        return concurrent.futures.Future()

    def _find(self, path: str, bucket: str | None, object: str | None) -> Any:
        if is_url(checked_text(path, "The path of an object, or its URL,")):
            return self._find_url(path, bucket)
        place = {"path": path} if object is None else {"object": object}
        params = {**place, "bucket": self.default_bucket if bucket is None else bucket}
        return self._ask("storage/reference", params, lambda result: result)

    def _find_url(self, url: str, bucket: str | None = None) -> Any:
        check_engine(url, self._engine)
        return self._ask("storage/reference", given(url=url, bucket=bucket), lambda result: result)
