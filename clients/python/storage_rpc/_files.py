"""The paths of local files and sockets."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

from .urls import is_url

LONGEST = 103  # bytes of the path of a socket in a system call, on every system


def local_path(file: str | os.PathLike[str]) -> str:
    """The absolute path of a local file, which may be given as a file URL. Raises `ValueError` for any other URL."""
    path = os.fspath(file)
    if not path:
        raise ValueError("The path is empty.")
    if isinstance(path, str) and (is_url(path) or re.match("file:/", path, re.IGNORECASE)):
        path = _path_of_url(path)
    return os.path.abspath(path)


def _path_of_url(url: str) -> str:
    """Tells no more of a URL than its scheme and host: the rest may be secret."""
    scheme = url.partition(":")[0]
    if scheme.lower() != "file":
        raise ValueError(f"A URL of the scheme {scheme} is no local file.")
    found = re.fullmatch("[^:]*:(?://([^/?#]*)|(?!//))(/.*)", url, re.DOTALL)
    if found is None:
        raise ValueError("A file URL must have an absolute path.")
    host, path = found.groups()
    if host and host.lower() != "localhost":
        raise ValueError(f"The host {host} of a file URL is not this machine.")
    if re.search("[?#]", path):
        raise ValueError("A file URL has no query and no fragment: write %3F for ? and %23 for #.")
    if re.search("%(2f|00)", path, re.IGNORECASE):
        raise ValueError("A file URL must not have %2F and %00 in its path.")
    try:
        if not re.search("%(?![0-9A-Fa-f]{2})", path):
            return unquote(path, errors="strict")
    except UnicodeDecodeError:
        pass
    raise ValueError("What is percent-encoded in a file URL must be UTF-8.")


@contextlib.contextmanager
def socket_address(path: str) -> Iterator[str]:
    """The path by which a socket is connected to: Linux has one for those that are too long for the system call."""
    directory, name = os.path.split(path)
    if len(os.fsencode(path)) <= LONGEST or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    descriptor = os.open(directory or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
