"""The program, which an installed wheel brings with it, and the command that starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal, NoReturn, get_args

from ._files import local_path

Engine = Literal["embedded", "firebase", "gcs", "s3"]
"""Where a service stores objects: this disk, Firebase Storage, Google Cloud Storage, or a server of S3."""

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
    engine: Engine | None = None,
    endpoint: str | None = None,
    flags: Sequence[str] = (),
) -> list[str]:
    """The command that starts a service, or connects to the shared one. For a service on a socket there is none."""
    given = {"command": words, "root": root, "trace": trace, "engine": engine, "endpoint": endpoint}
    names = [name for name, value in given.items() if value is not None] + ["flags"] * bool(flags) + ["shared"] * shared
    if socket is not None and names:
        raise ValueError(f"A service on a socket runs already, so {', '.join(names)} would have no effect.")
    if shared and trace is not None:
        raise ValueError("A trace is of a service of one's own: STORAGE_RPC_TRACE is for one that shared=True starts.")
    if engine is not None and engine not in get_args(Engine):
        raise ValueError(f"There is no engine {engine!r}; there are {', '.join(get_args(Engine))}.")
    if isinstance(flags, str):
        raise TypeError('flags must be a list of words, such as ["--region", "eu-central-1"].')
    first, *rest = words or [program()]
    if shared:
        rest = ["connect", *rest[rest[:1] == ["serve"] :]]
    for flag, path in (("--root", root), ("--trace", trace)):
        rest += [] if path is None else [flag, local_path(path)]
    for flag, text in (("--engine", engine), ("--endpoint", endpoint)):
        rest += [] if text is None else [flag, text]
    return [first, *rest, *flags]


def is_shared(command: Sequence[str]) -> bool:
    """Whether the command connects to the shared service."""
    return command[1:2] == ["connect"]


def main() -> NoReturn:
    """The command `storage-rpc` of a wheel."""
    os.execv(_BUNDLED, ["storage-rpc", *sys.argv[1:]])
