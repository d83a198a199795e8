"""Keeps a forked process away from the sessions of its parent.

A fork inherits a copy of each descriptor. If it reads, it takes messages from the parent; if it writes, it mixes
lines; while it keeps them open, the service does not notice that the parent has ended. So the fork redirects them to
/dev/null.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Protocol

from .errors import ServiceGone


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class ForkGuard:
    """The process that owns a session, and the files that connect it to the service."""

    def __init__(self, *files: HasFileno) -> None:
        self._process, self._files = os.getpid(), files
        _guards.add(self)

    @property
    def is_fork(self) -> bool:
        return os.getpid() != self._process

    def check(self) -> None:
        """Raises `ServiceGone` in any other process."""
        if self.is_fork:
            raise ServiceGone(
                f"The session belongs to process {self._process}, which this one was forked from: "
                "each process needs a session of its own."
            )

    def disconnect(self, null: int) -> None:
        for file in self._files:
            with contextlib.suppress(OSError, ValueError):  # It is closed.
                os.dup2(null, file.fileno(), inheritable=False)


_guards: weakref.WeakSet[ForkGuard] = weakref.WeakSet()


def _disconnect_all() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for guard in list(_guards):
            guard.disconnect(null)
    finally:
        os.close(null)


os.register_at_fork(after_in_child=_disconnect_all)
