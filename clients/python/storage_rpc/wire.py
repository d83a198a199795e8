"""How values look in messages: camelCase there, snake_case here."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping
from typing import Any

from .values import Metadata, MetadataChange, Progress, Settings

_WRITABLE = (
    "cache_control", "content_disposition", "content_encoding", "content_language", "content_type",
    "custom_metadata", "md5_hash",
)  # fmt: skip


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def _fields(kind: type[Any], wire: Mapping[str, Any]) -> dict[str, Any]:
    names = {camel(field.name): field.name for field in dataclasses.fields(kind)}
    return {names[key]: value for key, value in wire.items() if key in names}


def metadata_to_wire(change: MetadataChange) -> dict[str, Any]:
    if isinstance(change, Metadata):
        values = {name: getattr(change, name) for name in _WRITABLE}
        change = {name: dict(value) if name == "custom_metadata" else value for name, value in values.items() if value}
    return {camel(name): value for name, value in change.items()}


def metadata_from_wire(wire: Mapping[str, Any]) -> Metadata:
    values = _fields(Metadata, wire)
    for name in ("time_created", "updated"):
        if name in values:  # Until 3.11, Python does not know "Z".
            values[name] = datetime.datetime.fromisoformat(values[name].replace("Z", "+00:00"))
    return Metadata(**values)


def progress_from_wire(wire: Mapping[str, Any]) -> Progress:
    return Progress(**_fields(Progress, wire))


def settings_from_wire(wire: Mapping[str, Any]) -> Settings:
    return Settings(**_fields(Settings, wire))
