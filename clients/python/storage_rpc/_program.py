"""The program, which an installed wheel brings with it, and the command that starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ._files import local_path

_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "storage-rpc")


def program() -> str:
    """$STORAGE_RPC, else the program of the wheel, else `storage-rpc` on the PATH."""
    return os.environ.get("STORAGE_RPC") or (_BUNDLED if os.access(_BUNDLED, os.X_OK) else "storage-rpc")


def command_line(
    words: Sequence[str] | None,
    root: str | os.PathLike[str] | None,
    shared: bool,
    trace: str | os.PathLike[str] | None = None,
    socket: object = None,
) -> list[str]:
    """The command that starts a service, or connects to the shared one. A service on a socket takes none of them."""
    if socket is not None and (words is not None or root is not None or trace is not None or shared):
        raise ValueError("A service on a socket is running already: it takes no command, root, trace or shared.")
    if shared and trace is not None:
        raise ValueError("A trace is of a service of one's own: STORAGE_RPC_TRACE is for one that shared=True starts.")
    first, *flags = words or [program()]
    if shared:
        flags = ["connect", *flags[flags[:1] == ["serve"] :]]
    for flag, path in (("--root", root), ("--trace", trace)):
        flags += [] if path is None else [flag, local_path(path)]
    return [first, *flags]


def main() -> NoReturn:
    """The command `storage-rpc` of a wheel."""
    os.execv(_BUNDLED, ["storage-rpc", *sys.argv[1:]])
