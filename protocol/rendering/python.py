"""The Python client's methods, those for asyncio too, beside its types and errors."""

from .names import check_tasks, choices, methods, snake, target, task_verbs, upper
from .python_types import FIRST, VALUES, WIDTH, annotation, docstring, learn, types, with_errors

BY_HAND = {  # What these do happens in the client as well.
    "Storage": ("initialize", "shutdown", "exit", "reference", "observe", "removeObserver"),
    "Reference": (),
    "Task": ("snapshot", "wait", "list", "observe", "removeObserver", "removeAllObservers"),
    "FolderTask": ("snapshot", "wait", "list", "items", "observe", "removeObserver", "removeAllObservers"),
}
LOCAL = ("child", "parent", "root")  # With asyncio nobody waits for these.
NAMES = (
    "DownloadStream", "DownloadTask", "FolderSnapshot", "FolderTask", "Listing", "Reference", "Snapshot", "UploadStream",
    "UploadTask",
)  # fmt: skip
"""What is another class with threads than with asyncio."""
STREAMS = {"putStream": "UploadStream", "getStream": "DownloadStream"}
"""What starts a task of a stream, and the class that has the task."""
SOURCE = (
    "`source`: Where the bytes come from: an iterable of bytes-like objects, or a file that is open for reading bytes; "
    "with asyncio also an asynchronous iterable, or a reader whose `read` is awaited. It is read as fast as the service "
    "stores. Without it the caller writes to the stream that is returned."
)
HEAD = '''"""The methods of the contract, by the SDK's names in Python's case."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar

from . import _types
from ._files import local_path
from ._streams import AsyncSource, Source
from ._types import Metadata, ServiceStatus, Settings, Status, TokenKind
from .wire import MetadataChange, decode, given, metadata_from_wire, metadata_to_wire, several, source

if TYPE_CHECKING:
    from .aio.reference import (
        %s,
    )
    from .reference import (
        %s,
    )

T = TypeVar("T")

'''
BASES = '''

class Asking:
    """Sends a request, and waits for its result."""

    def _ask(
        self, method: Any, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None, /
    ) -> T:
        raise NotImplementedError


class AsyncAsking:
    """Sends a request, and awaits its result."""

    async def _ask(self, method: Any, params: Mapping[str, Any], then: Callable[[Any], T], /) -> T:
        raise NotImplementedError
'''
REFERRING = '''

class %(prefix)sReferring:
    """Starts tasks, and makes references of results and params of references."""

    def _target(self, reference: Any) -> Any:
        raise NotImplementedError

    def _start_upload_task(self, *start: Any) -> %(prefix)sUploadTask:
        raise NotImplementedError

    def _start_download_task(self, *start: Any) -> %(prefix)sDownloadTask:
        raise NotImplementedError

    def _start_folder_task(self, *start: Any) -> %(prefix)sFolderTask:
        raise NotImplementedError

    def _start_upload_stream(self, source: Any, *start: Any) -> %(prefix)sUploadStream:
        raise NotImplementedError

    def _start_download_stream(self, *start: Any) -> %(prefix)sDownloadStream:
        raise NotImplementedError

    def _to_reference(self, message: Any) -> %(prefix)sReference:
        raise NotImplementedError

    def _to_reference_or_none(self, message: Any) -> %(prefix)sReference | None:
        return self._to_reference(message) if message else None

    def _to_listing(self, message: Any) -> %(prefix)sListing:
        raise NotImplementedError
'''


def calls(document):
    check_tasks(document)
    imported = (",\n        ".join(prefix + name for name in NAMES) for prefix in ("Async", ""))
    body = HEAD % tuple(imported) + literal("Method", [method["name"] for method in document["methods"]])
    body += literal("TaskVerb", task_verbs(document)) + BASES
    for prefix in ("", "Async"):
        for receiver in BY_HAND:
            also = f", {prefix}Referring" * (receiver == "Reference")
            body += REFERRING % {"prefix": prefix} if also else ""
            body += f"\n\nclass {prefix}{receiver}Methods({prefix}Asking{also}):\n"
            body += "\n".join(
                call(verb, method, receiver, prefix)
                for verb, method in methods(document, receiver)
                if verb not in BY_HAND[receiver] and not (prefix and verb in LOCAL)
            )
    return FIRST + body


def literal(name, values):
    return f"{name} = Literal[\n" + "".join(f'    "{value}",\n' for value in values) + "]\n"


def call(verb, method, receiver, prefix):
    name = snake(verb.replace("rpc.", ""))
    required, optional, sent, also = [], [], [], []
    for param in parameters(method):
        python, kind, value = argument(param, prefix)
        if param.get("required"):
            required.append(f"{python}: {kind}")
            sent.append(value if python == "data" else f'"{param["name"]}": {value}')
        else:
            optional.append(f"{python}: {kind} | None = None")
            also.append(f"{param['name']}={value}")
    params = packed(sent, also)
    doc = docstring("\n\n".join(about(method)), 8)
    if "x-starts" in method:
        started = STREAMS.get(verb, upper(method["x-starts"]))
        first = ["source"] if started == "UploadStream" else []
        callback = f"Callable[[{prefix}{'Folder' * (started == 'FolderTask')}Snapshot], object]"
        own = [f"source: {prefix}Source | None = None"] * bool(first) + ["*", *optional]
        own += [f"on_progress: {callback} | None = None", f"observe: Mapping[Status, {callback}] | None = None"]
        own += ["timeout: float | None = None"] * (not prefix)
        passed = ["on_progress", "observe"] + ["timeout"] * (not prefix)
        start = f"return self._start_{snake(started[:1].lower() + started[1:])}"
        begin = statement(start, [*first, f'"{method["name"]}"', params, *passed])
        return signature("", name, required + own, prefix + started) + doc + begin
    kind, convert = outcome(method, prefix)
    own = required + optional + ([] if prefix else ["*", "timeout: float | None = None"])
    asked = verb if receiver.endswith("Task") else method["name"]
    passed = [f'"{asked}"', params, convert] + ([] if prefix else ["timeout"])
    lead = "return " * (kind != "None") + "await " * bool(prefix) + "self._ask"
    return signature("async " if prefix else "", name, own, kind) + doc + statement(lead, passed)


def parameters(method):
    """Its params as arguments: without the receiver, and what is either text or bytes as one."""
    either = method.get("x-exactly-one-of", ())
    if either:
        yield {"name": "data", "required": True, "schema": {"type": "bytes"}}
    for param in method["params"]:
        starts = "x-starts" in method and param["name"] in ("observe", "wait")
        if param["name"] not in (*either, "reference", "task") and not starts:
            yield param


def argument(param, prefix):
    name, schema = snake(param["name"]), param["schema"]
    if schema.get("type") == "bytes":
        return name, "bytes | bytearray | memoryview | str", "**source(data)"
    if name in ("file", "directory"):
        return name, "str | os.PathLike[str]", f"local_path({name})"
    if schema.get("type") == "array":
        return name, "Iterable[str]", f'several("{name}", {name})'
    if target(schema) == "MetadataWrite":
        return name, "MetadataChange", f"metadata_to_wire({name})"
    if target(schema) == "ReferenceParam":
        return name, f"{prefix}Reference | str", f"self._target({name})"
    return name, annotation(schema), name


def outcome(method, prefix):
    """The type of what is returned, and what makes it of the result. What has one member is that member."""
    schema = method["result"]["schema"]
    wanted, nullable = choices(schema)
    name = target(wanted[0]) if wanted else None
    if name == "Reference":
        return f"{prefix}Reference" + " | None" * nullable, "self._to_reference" + "_or_none" * nullable
    if name == "Listing":
        return f"{prefix}Listing", "self._to_listing"
    if name in ("TaskControl", "FolderTaskControl"):
        return "bool", 'lambda result: bool(result["accepted"])'
    if name == "Metadata":
        return "Metadata", "metadata_from_wire"
    if name in VALUES:
        return name, f"decode(_types.{name})"
    if schema.get("type") == "null":
        return "None", "lambda result: None"
    members = schema.get("properties", {})
    if len(members) == 1:
        [(key, member)] = members.items()
        if member.get("contentEncoding") == "base64":
            return "bytes", f'lambda result: base64.b64decode(result["{key}"])'
        return annotation(member), f'lambda result: {annotation(member)}(result["{key}"])'
    kind = annotation(schema)
    return kind, "lambda result: result" if kind.startswith("Mapping") else kind


def about(method):
    yield method["summary"]
    if method["description"]:
        yield method["description"]
    if method["name"].rpartition("/")[2] == "putStream":
        yield SOURCE
    for param in parameters(method):
        if "description" in param:
            yield f"`{snake(param['name'])}`: {param['description']}"
    if "x-sdk" in method:
        yield f"In the SDK: `{method['x-sdk']}`."


def statement(call, arguments):
    one = f"        {call}({', '.join(arguments)})\n"
    if len(one) <= WIDTH + 1:
        return one
    return f"        {call}(\n" + "".join(f"            {each},\n" for each in arguments) + "        )\n"


def packed(sent, also):
    """The params as one argument: those that are always sent, and those that may not be given."""
    given = f"given({', '.join(also)})"
    one = "{" + ", ".join(sent + [f"**{given}"] * bool(also)) + "}" if sent or not also else given
    if len(one) < WIDTH - 12:
        return one
    pad = " " * (16 if sent else 12)
    if len(given) > WIDTH - 20:
        given = "given(\n" + "".join(f"{pad}    {each},\n" for each in also) + pad + ")"
    if not sent:
        return given
    return "{\n" + "".join(f"{pad}{each},\n" for each in [*sent, f"**{given}"]) + " " * 12 + "}"


def signature(lead, name, arguments, kind):
    one = f"    {lead}def {name}(self{''.join(', ' + each for each in arguments)}) -> {kind}:\n"
    if len(one) <= WIDTH + 1:
        return one
    inner = "".join(f"        {each},\n" for each in ["self", *arguments])
    return f"    {lead}def {name}(\n{inner}    ) -> {kind}:\n"


def render(document, folder):
    page = (folder / "errors.py").read_text(encoding="utf-8")
    learn(document)
    return {"_types.py": types(document), "errors.py": with_errors(page, document), "_methods.py": calls(document)}
