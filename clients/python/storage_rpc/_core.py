"""The core of the client, without IO: frames messages as lines, matches results to requests, and dispatches events.

    open     transport starts or finds the service; initialize ──▶ limits, default bucket
    request  caller ── call ──▶ line ──▶ driver ──▶ service
    result   caller ◀─ promise ◀─ then ◀─ receive ◀── driver ◀─ service
    event    receive ─▶ hear(method, params), in order ─▶ observers of the task ─▶ callbacks, on the dispatcher
    asked    receive ─▶ serve(id, method, params) ─▶ reply or refuse ─▶ line
    close    end of input, or shutdown and exit ─▶ end of output ─▶ end: fails the pending requests and tasks

The driver (`connection`, for threads and for asyncio) reads and writes. It reads on while callers, callbacks and
writes block. `then` runs before the next line is read: so an observer is registered before its first event.
"""

from __future__ import annotations

import base64
import itertools
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any, Callable, Protocol, TypeVar

from .errors import MOST_WORDS, VERSION, RPCError, ServiceGone, answer_error, beginning
from .wire import Bytes, Lines

log = logging.getLogger("storage_rpc")
FAREWELL = b'{"jsonrpc":"2.0","id":0,"method":"shutdown"}\n{"jsonrpc":"2.0","method":"exit"}\n'
CHUNK = 1 << 16
LAST_WORDS = 10  # lines of stderr that are kept
PATIENCE = 3.0  # seconds; a service that is asked to end does so within two
GRACE = 2.0  # seconds; a process that continues so long after its output has ended serves others
START_PATIENCE = 30.0  # seconds for the first answer
T = TypeVar("T", contravariant=True)


class Promise(Protocol[T]):
    """The common interface of the futures of threads and of asyncio."""

    def done(self) -> bool: ...
    def set_result(self, result: T, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...


def hello(*, pauses_tasks: bool) -> dict[str, Any]:
    """The params of `initialize`, the first request: a service that cannot start fails here."""
    client = {"name": "storage_rpc for Python", "version": VERSION}
    return {"protocolVersion": 1, "client": client, "pausesTasks": pauses_tasks}


class Core:
    """The state of one session. All methods but `receive` may be called from any thread."""

    def __init__(
        self, hear: Callable[[str, Mapping[str, Any]], None], serve: Callable[[Any, str, Mapping[str, Any]], object]
    ) -> None:
        """`hear` is called for each notification, `serve` for each request, which `reply` and `refuse` answer."""
        self.max_message_bytes: int | None = None
        self.server_version: str | None = None
        """That of the service, from its greeting."""
        self.is_closing = False
        self._hear, self._serve = hear, serve
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[str, Promise[Any], Callable[[Any], Any]]] = {}
        self._lines = Lines()
        self._is_service = False
        self.gone: ServiceGone | None = None
        self._lock = threading.Lock()

    def greeted(self, server: Mapping[str, Any]) -> None:
        """Takes the result of `initialize`, which describes the service."""
        self.max_message_bytes = server["limits"]["maxMessageBytes"]
        self.server_version = server.get("server", {}).get("version")

    # Frame

    def line(self, message: Mapping[str, Any]) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"), default=_base64)
        try:
            line = text.encode() + b"\n"
        except UnicodeEncodeError as error:
            raise not_unicode(text, error.start) from None
        if self.max_message_bytes is not None and len(line) > self.max_message_bytes:
            raise ValueError(
                f"A message of {len(line)} bytes is longer than the {self.max_message_bytes} bytes that the "
                "service takes; put_file has no such limit."
            )
        return line

    def receive(self, chunk: bytes) -> None:
        """Handles a chunk of input. Raises `ValueError` if a line is not a message: the session cannot continue."""
        lines = self._lines.take(chunk)
        for index, line in enumerate(lines):
            if line.strip():
                try:
                    self._take(json.loads(line))
                except (ValueError, RecursionError):
                    raise ValueError(f"What the service said is no message: {beginning(lines[index:])}") from None

    # Match

    def call(
        self, method: str, params: Mapping[str, Any], promise: Promise[Any], then: Callable[[Any], Any]
    ) -> tuple[int, bytes]:
        """Registers a request; returns its id and its line. The promise resolves with `then(result)`."""
        number = next(self._numbers)
        line = self.line({"id": number, "method": method, "params": params})
        with self._lock:
            if self.gone or self.is_closing:
                raise self.gone or ServiceGone("The session is closed.")
            self._waiting[number] = (method, promise, then)
        return number, line

    def give_up(self, number: int) -> bytes | None:
        """The line that cancels the request; None if it has been answered."""
        if self._waiting.pop(number, None) is None:
            return None
        return self.line({"method": "$/cancelRequest", "params": {"id": number}})

    def end(self, trouble: str, obituary: ServiceGone) -> ServiceGone:
        """Fails the pending requests after the end of input; returns the reason."""
        with self._lock:
            why = "The session is closed." if self.is_closing else self._reason(trouble, obituary)
            self.gone = ServiceGone(why, obituary.status, obituary.stderr)
            waiting, self._waiting = self._waiting, {}
        for _, promise, _ in waiting.values():
            if not promise.done():
                promise.set_exception(self.gone)
        return self.gone

    def _reason(self, trouble: str, obituary: ServiceGone) -> str:
        """Why the input has ended. A program that has answered nothing may be another one: then with all that it has said."""
        reason = trouble or obituary.message
        if self._is_service:
            return reason
        more = "\n".join(obituary.stderr)[:MOST_WORDS] if trouble else beginning([self._lines.rest])
        return f"{reason}\n{more}" if more else reason

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ValueError(f"{message!r:.100}")
        if "method" in message:
            method, params = str(message["method"]), message.get("params") or {}
            if "id" in message:
                self._serve(message["id"], method, params)
            else:
                self._notice(method, params)
            return
        number = message.get("id")
        waiting = self._waiting.pop(number, None) if isinstance(number, int) else None
        self._is_service = True
        if waiting:
            self._answer(*waiting, message)
        elif "error" in message and number is None:
            log.error("The service could not use a message: %s", message["error"])

    def _answer(self, method: str, promise: Promise[Any], then: Callable[[Any], Any], message: Mapping[str, Any]) -> None:
        try:
            if "error" in message:
                raise answer_error(method, message["error"], self.server_version)
            result = then(message["result"])
        except Exception as error:
            if not promise.done():
                promise.set_exception(error)
        else:
            if not promise.done():
                promise.set_result(result)

    # Listen

    def _notice(self, method: str, params: Mapping[str, Any]) -> None:
        try:
            self._hear(method, params)
        except Exception:
            log.exception("A notification could not be understood: %s", method)

    def reply(self, id: Any, result: Any) -> bytes:
        return self.line({"id": id, "result": result})

    def refuse(self, id: Any, method: str, error: BaseException) -> bytes:
        if isinstance(error, RPCError):
            return self.line({"id": id, "error": {"code": error.code, "message": error.message}})
        log.error("A request of the service could not be answered: %s", method, exc_info=error)
        return self.line({"id": id, "error": {"code": -32603, "message": f"{method} failed in the client."}})


def not_unicode(text: str, at: int) -> UnicodeEncodeError:
    """The error for a message in which this character is half of one, as in names of files that are not UTF-8."""
    start = text.rindex('"', 0, at) + 1
    value = text[start : text.index('"', at)]
    return UnicodeEncodeError("utf-8", value, at - start, at - start + 1, f"{value!r:.100} must be UTF-8, as all texts")


def _base64(value: Any) -> str:
    if isinstance(value, Bytes):
        return base64.b64encode(value.data).decode("ascii")
    raise TypeError(f"{value!r:.100} cannot be written as JSON.")
