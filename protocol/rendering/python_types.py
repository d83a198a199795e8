"""The Python client's types and errors."""

import re
import textwrap

from .names import choices, shapes, snake, target, upper

FIRST = "# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.\n"
MARK = "# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not what follows.\n"
BASES = ("LocalFileNotFound", "RPCError", "ServiceGone", "StorageError", "error_from_wire")
MISSING = '''

class LocalFileNotFound(Unknown, FileNotFoundError):
    """A local file, or the directory that a file is to be written in, does not exist; `filename` is its path."""

    def __init__(self, message: str, code: int | None = None, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, code, data)
        self.errno = errno.ENOENT

    @property
    def filename(self) -> Any:
        return self.data.get("file")

    def __str__(self) -> str:
        return self.message
'''
WIDTH = 120
LITERALS = ("TokenKind", "Status", "State", "FolderItemState")
VALUES = ("Progress", "Metadata", "Settings", "Retry", "ServiceStatus", "FolderCounts")
HOLDERS = ("Snapshot", "Listing", "FolderItem", "FolderSnapshot")
"""These have references and tasks in them: those of threads, or those of asyncio."""
MIXINS = {"Progress": "ProgressText", "Snapshot": "SnapshotText", "FolderSnapshot": "FolderText"}
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
NAMED = {
    "Task": "TaskT", "Reference": "ReferenceT", "FolderItem": "ItemT", "UploadingMetadata": "Metadata",
    "MetadataWrite": "MetadataChange", "Handle": "str", "Precondition": "str | int", "Metric": "Mapping[str, Any]",
}  # fmt: skip


VERBS = {"auth/refreshToken": "on_refresh_token"}
"""What the client calls otherwise than by the last part of its name."""
words = {}
"""The names of the contract, and what Python says for them."""


def learn(document):
    """Makes descriptions speak of Python's names."""
    words.clear()
    words["null"] = "None"
    for error in document["x-errors"]:
        if error["code"] > -32000:
            words[str(error["code"])] = upper(error["name"])
    schemas = [schema.get("properties", {}) for schema in shapes(document).values()]
    params = [param["name"] for method in document["methods"] for param in method["params"]]
    for method in document["methods"]:
        verb = method["name"].rpartition("/")[2]
        words[method["name"]] = snake(verb)
        params.append(verb)
    words.update(VERBS)
    words.update((name, snake(name)) for name in [*params, *(name for schema in schemas for name in schema)])


def spoken(text):
    """The text with Python's names, except what it says of the SDK."""
    if text.startswith("In the SDK: "):
        return text
    return re.sub(r"-\d+\b|\w+(?:/\w+)?", lambda word: words.get(word[0], word[0]), text)


def docstring(text, indent, say=spoken):
    pad = " " * indent
    text = "\n\n".join(map(say, text.replace("\\", "\\\\").split("\n\n")))
    if len(text) + indent + 6 <= WIDTH and "\n" not in text:
        return f'{pad}"""{text}"""\n'
    first, *rest = text.split("\n\n")
    lines = [pad + '"""' + wrap(first, indent, indent + 3).strip()]
    lines += ["\n" + wrap(paragraph, indent) for paragraph in rest]
    return "\n".join(lines) + f'\n{pad}"""\n'


def wrap(text, indent, first=None):
    pad = " " * indent
    return textwrap.fill(
        text, WIDTH - 2, initial_indent=" " * (indent if first is None else first), subsequent_indent=pad,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def annotation(schema):
    """The type of a value."""
    if target(schema):
        name = target(schema)
        return "Mapping[State, int]" if name == "ServiceTasks" else NAMED.get(name, name)
    wanted, nullable = choices(schema)
    kinds = list(dict.fromkeys(plain(one) for one in wanted)) + ["None"] * nullable
    return " | ".join(kinds)


def plain(schema):
    if target(schema):
        return annotation(schema)
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{one}"' for one in schema["enum"]) + "]"
    kind = schema.get("type")
    if kind == "array":
        return f"tuple[{annotation(schema['items'])}, ...]"
    if kind == "object":
        inner = schema.get("additionalProperties")
        members = [inner] if isinstance(inner, dict) else schema.get("properties", {}).values()
        kinds = {annotation(member) for member in members}
        return f"Mapping[str, {kinds.pop() if len(kinds) == 1 else 'Any'}]"
    return "datetime.datetime" if schema.get("format") == "date-time" else TYPES[kind]


# Types


def types(document):
    named = shapes(document)
    text = FIRST + '"""The values of the contract, with Python\'s names."""\n\nfrom __future__ import annotations\n\n'
    text += "import datetime\nfrom collections.abc import Mapping\nfrom dataclasses import dataclass, field\n"
    text += "from typing import Generic, Literal, TypedDict, TypeVar\n\n"
    text += "from ._texts import FolderText, ProgressText, SnapshotText\nfrom .errors import StorageError\n\n"
    text += 'TaskT = TypeVar("TaskT")\nReferenceT = TypeVar("ReferenceT")\nItemT = TypeVar("ItemT")\n'
    for name in LITERALS:
        text += f"\n{name} = {plain(named[name])}\n" + docstring(named[name]["description"], 0)
    for name in VALUES:
        text += f"\n\n{dataclass(name, named[name], MIXINS.get(name))}"
    for name in HOLDERS:
        schema = named[name]
        text += f"\n\n{holder(name, schema)}"
    return text + f"\n\n{typed_dict('MetadataWrite', named['MetadataWrite'])}"


def dataclass(name, schema, mixin, partial=("Metadata",)):
    """In what is partial, everything has a default: so a part of it can be written down, too."""
    head = f"class {name}({mixin}):" if mixin else f"class {name}:"
    required = () if name in partial else schema.get("required", ())
    members = sorted(schema["properties"].items(), key=lambda member: member[0] not in required)
    text = f"@dataclass(frozen=True)\n{head}\n" + docstring(schema["description"], 4) + "\n"
    for key, member in members:
        if target(member) == "Observers":
            continue
        text += f"    {snake(key)}: {declared(key, member, key in required, key in schema.get('required', ()))}\n"
        if "description" in member:
            text += docstring(member["description"], 4)
    return text


def declared(key, member, is_required, is_always_there):
    kind = annotation(member)
    if is_required:
        return kind
    if key == "metadata" or kind.startswith("Mapping"):
        factory = "dict" if kind.startswith("Mapping") else kind
        return f"{kind} = field(default_factory={factory}, hash=False)"
    if kind == "tuple[ItemT, ...]":
        return f"{kind} = ()"
    empty = {"str": '""', "int": "0"}.get(kind) if is_always_there and key not in ("md5Hash", "crc32c") else None
    return f"{kind} = {empty}" if empty else f"{kind} | None = None"


def holder(name, schema):
    kinds = " ".join(annotation(member) for member in schema["properties"].values())
    generics = [one for one in ("TaskT", "ReferenceT", "ItemT") if one in kinds]
    bases = [*filter(None, [MIXINS.get(name)]), f"Generic[{', '.join(generics)}]"]
    return dataclass(f"{name}Of", schema, ", ".join(bases))


def typed_dict(name, schema):
    text = f"class {name}(TypedDict, total=False):\n" + docstring(schema["description"], 4) + "\n"
    for key, member in schema["properties"].items():
        if not member.get("readOnly"):
            text += f"    {snake(key)}: {annotation(member)}\n" + docstring(member["description"], 4)
    return text


# Errors


def with_errors(page, document):
    """The module `errors`, with the part below its mark rendered anew."""
    before, mark, _ = page.partition(MARK)
    assert mark, f"errors.py lacks the line {MARK!r}."
    return before + mark + "\n" + errors(document)


def errors(document):
    known = [error for error in document["x-errors"] if error["code"] > -32000]
    text = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in [*BASES, *(upper(e["name"]) for e in known)]) + "]\n\n"
    names = {error["code"]: error["name"] for error in document["x-errors"] if error not in known}
    text += "RPC_NAMES = {\n" + "".join(f'    {code}: "{name}",\n' for code, name in names.items()) + "}\n"
    for error in known:
        text += f"\n\nclass {upper(error['name'])}(StorageError):\n"
        text += docstring(f"{error['meaning']}\n\n{error['remedy']}", 4) + f"\n    code = {error['code']}\n"
    return text + MISSING
