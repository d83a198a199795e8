"""Converts values between messages (camelCase) and Python (snake_case)."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable, TypeVar, Union

from . import _types
from ._types import Metadata, MetadataWrite
from .errors import error_from_wire

MetadataChange = Union[Metadata, MetadataWrite, Mapping[str, Any]]
"""A write of metadata. In a mapping, an absent key keeps its value, and None removes: a property, a key of
`custom_metadata`, or all of `custom_metadata`. Of a `Metadata`, the properties that are set are written."""

T = TypeVar("T")
Convert = Callable[[Any], Any]
_KNOWN: dict[Any, Mapping[str, tuple[str, str]]] = {}


class Bytes:
    """Bytes that are encoded in base64 when their line is written."""

    def __init__(self, data: bytes) -> None:
        self.data = data


class Lines:
    """Splits chunks, which may end anywhere, into lines."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    @property
    def rest(self) -> bytes:
        """What has no end yet."""
        return b"".join(self._pieces)

    def take(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        if lines and self._pieces:
            lines[0] = b"".join([*self._pieces, lines[0]])
            self._pieces = []
        if rest:
            self._pieces.append(rest)
        return lines


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def reference_to_wire(bucket: str, full_path: str, exact: str | None) -> dict[str, str]:
    return {"bucket": bucket, **({"fullPath": full_path} if exact is None else {"object": exact})}


def place(reference: Any) -> Any:
    """A reference as a param; a URL is one already. Raises `TypeError` for anything else."""
    if isinstance(reference, str):
        return reference
    try:
        return reference_to_wire(reference.bucket, reference.full_path, reference.object)
    except AttributeError:
        raise TypeError(f"A reference or its URL is wanted, not {type(reference).__name__}.") from None


def checked_text(value: Any, what: str) -> str:
    """The value. Raises `TypeError` for what is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {type(value).__name__}.")
    return value


def given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def source(data: bytes | bytearray | memoryview | str) -> dict[str, Any]:
    """The params of an upload from memory; copies the bytes. Raises `TypeError` for what is neither text nor bytes."""
    if isinstance(data, str):
        return {"text": data}
    try:
        return {"data": Bytes(memoryview(data).tobytes())}
    except TypeError:
        raise TypeError(f"An upload from memory is a text or a bytes-like object, not {type(data).__name__}.") from None


def several(name: str, values: Iterable[str] | None) -> list[str] | None:
    """Texts as a list. Raises `TypeError` for a single one, which is an iterable of its characters."""
    if isinstance(values, str):
        raise TypeError(f"{name} takes several texts, as in {name}=[{values!r}].")
    return None if values is None else list(values)


def metadata_to_wire(change: MetadataChange | None) -> dict[str, Any] | None:
    if change is None:
        return None
    if isinstance(change, Metadata):
        values = {name: getattr(change, name) for name in MetadataWrite.__annotations__}
        change = {name: dict(value) if name == "custom_metadata" else value for name, value in values.items() if value}
    return {camel(name): value for name, value in change.items()}


def decode(kind: type[T], more: Mapping[str, Convert] | None = None) -> Callable[[Mapping[str, Any]], T]:
    """A function that makes values of a type; it ignores members that this version does not know."""
    names = _names(kind)
    converters = _CONVERTERS if more is None else {**_CONVERTERS, **more}

    def value(wire: Mapping[str, Any]) -> T:
        values = {}
        for key, (name, type_name) in names.items():
            if wire.get(key) is not None:
                convert = converters.get(type_name)
                values[name] = convert(wire[key]) if convert else wire[key]
        return kind(**values)

    return value


def _names(kind: Any) -> Mapping[str, tuple[str, str]]:
    """The fields of a type by their names on the wire, with their types."""
    if kind not in _KNOWN:
        fields: Iterable[dataclasses.Field[Any]] = dataclasses.fields(kind)
        _KNOWN[kind] = {camel(one.name): (one.name, str(one.type).replace(" | None", "")) for one in fields}
    return _KNOWN[kind]


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))  # Until 3.11, Python does not know "Z".


_CONVERTERS: dict[str, Convert] = {"datetime.datetime": _moment, "StorageError": error_from_wire}
_CONVERTERS.update((kind.__name__, decode(kind)) for kind in (_types.Progress, Metadata, _types.Retry, _types.FolderCounts))
metadata_from_wire = decode(Metadata)
_CONVERTERS["tuple[Metadata, ...]"] = lambda all: tuple(map(metadata_from_wire, all))
