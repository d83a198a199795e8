"""The core of the client: frames messages as lines, matches answers to calls, and listens.

    caller ── call ──▶ line ──────────────▶ service
    caller ◀─ Future ◀─ reader ◀── line ─── service
                          ├─▶ hear(method, params), in order
                          └─▶ thread ─▶ reply(method, params) ─▶ line

Only the reader's thread reads, and it waits for no caller and no callback, nor for room to write. What an answer
brings is taken in (`then`) before the next line is looked at, so no event comes before its observer. What the
service asks is answered on a thread of its own.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any, Callable, TypeVar

from .errors import RPCError, ServiceGone, error_from_wire
from .transport import PATIENCE, Child, Socket

log = logging.getLogger("storage_rpc")
T = TypeVar("T")


class Connection:
    """Calls to the service, from any number of threads, and its notifications and requests."""

    def __init__(
        self,
        transport: Child | Socket,
        hear: Callable[[str, Mapping[str, Any]], None],
        reply: Callable[[str, Mapping[str, Any]], Any],
        gone: Callable[[ServiceGone], None],
    ) -> None:
        """`hear` is called on the reader's thread for each notification, and `gone` once, after the last.

        `reply` is called for each request, and may take its time; it returns the result, or raises an `RPCError`.
        """
        self.max_message_bytes: int | None = None
        self._transport, self._hear, self._reply, self._tell_gone = transport, hear, reply, gone
        self._numbers = itertools.count(1)
        self._pending: dict[int, tuple[concurrent.futures.Future[Any], Callable[[Any], Any]]] = {}
        self._obituary: ServiceGone | None = None
        self._is_closing = False
        self._state, self._writing = threading.Lock(), threading.Lock()
        self._reader = threading.Thread(target=self._read, name="storage-rpc reader", daemon=True)
        self._reader.start()

    def call(self, method: str, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None) -> T:
        """What `then` makes of the result, on the reader's thread. Raises the error of the answer."""
        number = next(self._numbers)
        line = self._line({"id": number, "method": method, "params": params})
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        with self._state:
            if self._obituary or self._is_closing:
                raise self._obituary or ServiceGone("The session is closed.")
            self._pending[number] = (future, then)
        self._write(line)
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            if self._pending.pop(number, None) is None:
                return future.result()
            self._write(self._line({"method": "$/cancelRequest", "params": {"id": number}}))
            raise TimeoutError(f"{method} was not answered within {timeout} seconds.") from None

    def close(self, *, drain: bool) -> None:
        """Ends the session, and the child: when its uploads have ended, or at once."""
        with self._state:
            self._is_closing = True
        if self._writing.acquire(timeout=-1 if drain else PATIENCE):
            try:
                self._transport.hang_up(drain=drain)
            finally:
                self._writing.release()
        self._transport.end(drain=drain)
        self._reader.join()

    def _line(self, message: Mapping[str, Any]) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        if self.max_message_bytes is not None and len(line) > self.max_message_bytes:
            raise ValueError(
                f"A message of {len(line)} bytes is longer than the {self.max_message_bytes} bytes that the "
                "service takes; put_file has no such limit."
            )
        return line

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._transport.write(line)
            except (OSError, ValueError):
                pass  # The other end is gone: the reader is about to find out, and ends the call.
            except BaseException:  # Ctrl-C within a line: nothing that follows would be understood.
                self._transport.hang_up(drain=True)
                raise

    def _read(self) -> None:
        trouble = ""
        try:
            for line in self._transport.lines():
                if not line.isspace():
                    self._take(json.loads(line))
        except (ValueError, RecursionError) as error:
            trouble = f"What the service said is no message: {error}."
            self._transport.break_off()
        except OSError as error:
            trouble = f"The connection is broken: {error.strerror}."
        obituary = self._transport.obituary()
        with self._state:
            why = "The session is closed." if self._is_closing else trouble or obituary.message
            self._obituary = ServiceGone(why, obituary.status, obituary.stderr)
            pending, self._pending = self._pending, {}
        for future, _ in pending.values():
            future.set_exception(self._obituary)
        self._tell_gone(self._obituary)

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ValueError(f"{message!r:.100}")
        if "method" in message:
            method, params = str(message["method"]), message.get("params") or {}
            if "id" in message:
                job = (message["id"], method, params)
                threading.Thread(target=self._serve, args=job, name="storage-rpc reply", daemon=True).start()
            else:
                self._notice(method, params)
            return
        number = message.get("id")
        waiting = self._pending.pop(number, None) if isinstance(number, int) else None
        if waiting:
            self._answer(*waiting, message)
        elif "error" in message and number is None:
            log.error("The service could not use a message: %s", message["error"])

    def _notice(self, method: str, params: Mapping[str, Any]) -> None:
        try:
            self._hear(method, params)
        except Exception:
            log.exception("A notification could not be understood: %s", method)

    def _serve(self, id: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            line = self._line({"id": id, "result": self._reply(method, params)})
        except RPCError as error:
            line = self._line({"id": id, "error": {"code": error.code, "message": error.message}})
        except BaseException:  # A callback's sys.exit() too: the service must not wait in vain.
            log.exception("A request of the service could not be answered: %s", method)
            line = self._line({"id": id, "error": {"code": -32603, "message": f"{method} failed in the client."}})
        self._write(line)

    @staticmethod
    def _answer(future: concurrent.futures.Future[Any], then: Callable[[Any], Any], message: Mapping[str, Any]) -> None:
        try:
            if "error" in message:
                raise error_from_wire(message["error"])
            future.set_result(then(message["result"]))
        except Exception as error:
            future.set_exception(error)
