"""What every error has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StorageError(Exception):
    """Any error of this package; `message` is a sentence for a person.

    >>> try:
    ...     storage.reference("images/none.jpg").get_metadata()
    ... except ObjectNotFound as error:
    ...     print(error.code, error.name, error.data["object"])
    -13010 objectNotFound images/none.jpg
    """

    code: int = 0

    def __init__(self, message: str, code: int | None = None, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = type(self).code if code is None else code
        self.data: Mapping[str, Any] = dict(data or {})

    @property
    def name(self) -> str:
        """The name of the code, as in the contract: `objectNotFound`."""
        kind = type(self).__name__
        return str(self.data.get("name", kind[:1].lower() + kind[1:]))

    @property
    def retryable(self) -> bool:
        """The same call may succeed later without any change to it."""
        return bool(self.data.get("retryable", False))
