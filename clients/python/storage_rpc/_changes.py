"""The changes of objects that a session receives, without IO: for threads and for asyncio."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, Generic, Literal, TypeVar

from ._types import ReferenceT

C = TypeVar("C", bound="ChangeOf[Any]")
MOST = 10_000
"""The changes that wait for a slow reader."""


@dataclass(frozen=True)
class ChangeOf(Generic[ReferenceT]):
    change: Literal["created", "replaced", "updated", "deleted", "missed"]
    """`updated` is a change of the metadata. After `missed` there were more changes than could be kept: list the objects."""
    reference: ReferenceT
    """The object; after `missed` what is observed."""
    generation: str | None = None
    """Of the object, or of the one that was deleted."""
    metageneration: str | None = None


class ChangeBacklog(Generic[C]):
    """The changes that one iteration has not read; too many become one `missed`."""

    def __init__(self, wake: Callable[[], object], missed: C) -> None:
        self._wake, self._missed = wake, missed
        self._waiting: deque[C | Exception] = deque()
        self._lock = threading.Lock()

    def push(self, news: C | Exception) -> None:
        with self._lock:
            if len(self._waiting) >= MOST and not isinstance(news, Exception):
                self._waiting.clear()
                news = self._missed
            self._waiting.append(news)
        self._wake()

    def pop(self) -> C | None:
        """The next change, or None if there is none yet. Raises the error that ended the session, each time."""
        with self._lock:
            if not self._waiting:
                return None
            news = self._waiting[0]
            if isinstance(news, Exception):
                raise news
            self._waiting.popleft()
            return news


class Feeds:
    """The iterations of a session by their handles."""

    def __init__(self) -> None:
        self._backlogs: dict[str, tuple[ChangeBacklog[Any], Callable[[Mapping[str, Any]], Any]]] = {}

    def keep(self, backlog: ChangeBacklog[C], convert: Callable[[Mapping[str, Any]], C]) -> Callable[[Any], str]:
        """Converts the answer to `storage/observe` into the handle, and registers the backlog before its first change."""

        def then(result: Any) -> str:
            handle = str(result["handle"])
            self._backlogs[handle] = backlog, convert
            return handle

        return then

    def drop(self, handle: str) -> None:
        self._backlogs.pop(handle, None)

    def hear(self, params: Mapping[str, Any]) -> None:
        if found := self._backlogs.get(params["handle"]):
            backlog, convert = found
            backlog.push(convert(params))

    def lose(self, gone: Exception) -> None:
        for backlog, _ in list(self._backlogs.values()):
            backlog.push(gone)


def glob(pattern: str) -> re.Pattern[str]:
    """Of paths: `**` fits anything, `*` and `?` anything but a slash."""
    pieces = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(pieces.get(part) or re.escape(part) for part in parts), re.DOTALL)
