"""The program that an installed wheel brings with it."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "storage-rpc")


def program() -> str:
    """$STORAGE_RPC, else the program of the wheel, else `storage-rpc` on the PATH."""
    return os.environ.get("STORAGE_RPC") or (_BUNDLED if os.access(_BUNDLED, os.X_OK) else "storage-rpc")


def main() -> NoReturn:
    """The command `storage-rpc` of a wheel."""
    os.execv(_BUNDLED, ["storage-rpc", *sys.argv[1:]])
