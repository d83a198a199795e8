"""The Python client's types, errors and methods, those for asyncio too."""

import textwrap

from .names import RECEIVERS, check_tasks, choices, methods, shapes, snake, target, upper

FIRST = "# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.\n"
WIDTH = 120
BY_HAND = {  # What these do happens in the client as well.
    "Storage": ("initialize", "shutdown", "exit", "reference"),
    "Reference": (),
    "Task": ("snapshot", "wait", "list", "observe", "removeObserver", "removeAllObservers"),
}
ASKING = {"Storage": ("Asking", "Method"), "Reference": ("Referring", "Method"), "Task": ("Asking", "TaskVerb")}
LOCAL = ("child", "parent", "root")  # With asyncio nobody waits for these.
LITERALS = ("TokenKind", "Status", "State")
VALUES = ("Progress", "Metadata", "Settings", "Attempt", "Retry", "ServiceStatus")
HOLDERS = ("Snapshot", "Listing")  # These have references and tasks in them: those of threads, or those of asyncio.
MIXINS = {"Progress": "ProgressText", "Snapshot": "SnapshotText"}
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
NAMED = {
    "Task": "TaskT", "Reference": "ReferenceT", "UploadingMetadata": "Metadata", "MetadataWrite": "MetadataChange",
    "Handle": "str",
}  # fmt: skip


def docstring(text, indent):
    pad = " " * indent
    text = text.replace("\\", "\\\\")
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
        return f"Mapping[str, {annotation(inner)}]" if isinstance(inner, dict) else "Mapping[str, Any]"
    return "datetime.datetime" if schema.get("format") == "date-time" else TYPES[kind]


# Types


def types(document):
    named = shapes(document)
    text = FIRST + '"""The values of the contract, with Python\'s names."""\n\nfrom __future__ import annotations\n\n'
    text += "import datetime\nfrom collections.abc import Mapping\nfrom dataclasses import dataclass, field\n"
    text += "from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar\n\n"
    text += "from ._texts import ProgressText, SnapshotText\n\n"
    text += "if TYPE_CHECKING:\n    from .aio import AsyncReference, AsyncTask\n    from .errors import StorageError\n"
    text += "    from .reference import Reference\n    from .task import Task\n\n"
    text += 'TaskT = TypeVar("TaskT")\nReferenceT = TypeVar("ReferenceT")\n'
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
    empty = {"str": '""', "int": "0"}.get(kind) if is_always_there and key not in ("md5Hash", "crc32c") else None
    return f"{kind} = {empty}" if empty else f"{kind} | None = None"


def holder(name, schema):
    kinds = " ".join(annotation(member) for member in schema["properties"].values())
    generics = [one for one in ("TaskT", "ReferenceT") if one in kinds]
    bases = [*filter(None, [MIXINS.get(name)]), f"Generic[{', '.join(generics)}]"]
    shared = {**schema, "description": f"What `{name}` and `Async{name}` have in common."}
    text = dataclass(f"{name}Of", shared, ", ".join(bases))
    for prefix in ("", "Async"):
        filled = ", ".join(f'"{prefix}{one[:-1]}"' for one in generics)
        text += f"\n\nclass {prefix}{name}({name}Of[{filled}]):\n" + docstring(schema["description"], 4)
    return text


def typed_dict(name, schema):
    text = f"class {name}(TypedDict, total=False):\n" + docstring(schema["description"], 4) + "\n"
    for key, member in schema["properties"].items():
        if not member.get("readOnly"):
            text += f"    {snake(key)}: {annotation(member)}\n" + docstring(member["description"], 4)
    return text


# Errors


def errors(document):
    text = FIRST + '"""The errors of the contract, by their codes."""\n\nfrom ._error import StorageError\n\n'
    known = [error for error in document["x-errors"] if error["code"] > -32000]
    text += "__all__ = [\n" + "".join(f'    "{upper(error["name"])}",\n' for error in known) + "]\n\n"
    names = {error["code"]: error["name"] for error in document["x-errors"] if error not in known}
    text += "RPC_NAMES = {\n" + "".join(f'    {code}: "{name}",\n' for code, name in names.items()) + "}\n"
    for error in known:
        text += f"\n\nclass {upper(error['name'])}(StorageError):\n"
        text += docstring(f"{error['meaning']}\n\n{error['remedy']}", 4) + f"\n    code = {error['code']}\n"
    return text


# Methods


def calls(document):
    check_tasks(document)
    text = FIRST + '"""The methods of the contract, by the SDK\'s names in Python\'s case."""\n\n'
    text += "from __future__ import annotations\n\nimport base64\nimport os\nfrom collections.abc import Mapping\n"
    text += "from typing import TYPE_CHECKING, Any, Literal\n\nfrom . import _types\n"
    text += "from ._asking import Asking, AsyncAsking, AsyncReferring, Referring\n"
    text += "from .wire import decode, given, metadata_from_wire, metadata_to_wire, source\n\nif TYPE_CHECKING:\n"
    text += "    from ._types import AsyncListing, Listing, Metadata, ServiceStatus, Settings, Status, TokenKind\n"
    text += "    from .aio import AsyncDownloadTask, AsyncReference, AsyncUploadTask\n"
    text += "    from .reference import Reference\n    from .task import DownloadTask, UploadTask\n"
    text += "    from .values import AsyncCallback, Callback, MetadataChange\n\n"
    text += literal("Method", [method["name"] for method in document["methods"]])
    text += literal("TaskVerb", [verb for verb, _ in methods(document, "Task")])
    for prefix in ("", "Async"):
        for receiver in ("Storage", "Reference", "Task"):
            base, names = ASKING[receiver]
            text += f"\n\nclass {prefix}{receiver}Methods({prefix}{base}[{names}]):\n"
            bodies = [
                call(verb, method, receiver, prefix)
                for verb, method in methods(document, receiver)
                if verb not in BY_HAND[receiver] and not (prefix and verb in LOCAL)
            ]
            text += "\n".join(bodies)
    return text


def literal(name, values):
    return f"{name} = Literal[\n" + "".join(f'    "{value}",\n' for value in values) + "]\n"


def call(verb, method, receiver, prefix):
    name = snake(verb.replace("rpc.", ""))
    required, optional, sent, also = [], [], [], []
    for param in parameters(method):
        python, kind, value = argument(param)
        if param.get("required"):
            required.append(f"{python}: {kind}")
            sent.append(value if python == "data" else f'"{param["name"]}": {value}')
        else:
            optional.append(f"{python}: {kind} | None = None")
            also.append(f"{param['name']}={value}")
    given = [f"**given({', '.join(also)})"] if also else []
    params = "{" + ", ".join(sent + given) + "}" if sent or not also else given[0][2:]
    doc = docstring("\n\n".join(about(method)), 8)
    if "x-starts" in method:
        task = prefix + upper(method["x-starts"])
        callback = f"{prefix}Callback"
        own = ["*", *optional, f"on_progress: {callback} | None = None"]
        own += [f"observe: Mapping[Status, {callback}] | None = None"] + ["timeout: float | None = None"] * (not prefix)
        passed = ["on_progress", "observe"] + ["timeout"] * (not prefix)
        start = statement(f"return self._start_{snake(method['x-starts'])}", [f'"{method["name"]}"', params, *passed])
        return signature("", name, required + own, task) + doc + start
    kind, convert = outcome(method, prefix)
    own = required + optional + ([] if prefix else ["*", "timeout: float | None = None"])
    asked = verb if receiver == "Task" else method["name"]
    passed = [f'"{asked}"', params, convert] + ([] if prefix else ["timeout"])
    lead = "return " * (kind != "None") + "await " * bool(prefix) + "self._ask"
    return signature("async " if prefix else "", name, own, kind) + doc + statement(lead, passed)


def parameters(method):
    """Its params as arguments: without the receiver, and what is either text or bytes as one."""
    either = method.get("x-exactly-one-of", ())
    if either:
        yield {"name": "data", "required": True, "schema": {"type": "bytes"}}
    for param in method["params"]:
        is_own = target(param["schema"]) not in ("ReferenceParam", "Task") or RECEIVERS.get(param["name"])
        starts = "x-starts" in method and param["name"] in ("observe", "wait")
        if param["name"] not in (*either, "reference", "task") and is_own and not starts:
            yield param


def argument(param):
    name, schema = snake(param["name"]), param["schema"]
    if schema.get("type") == "bytes":
        return name, "bytes | bytearray | memoryview | str", "**source(data)"
    if name == "file":
        return name, "str | os.PathLike[str]", "os.path.abspath(file)"
    if target(schema) == "MetadataWrite":
        return name, "MetadataChange", f"metadata_to_wire({name})"
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
    if name == "TaskControl":
        return "bool", 'lambda result: bool(result["accepted"])'
    if name == "Metadata":
        return "Metadata", "metadata_from_wire"
    if name:
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
    yield method["description"]
    for param in parameters(method):
        if "description" in param:
            yield f"`{snake(param['name'])}`: {param['description']}"
    if "x-sdk" in method:
        yield f"In the SDK: `{method['x-sdk']}`."


def statement(call, arguments):
    one = f"        {call}({', '.join(arguments)})\n"
    if len(one) <= WIDTH + 1:
        return one
    return f"        {call}(\n" + "".join(f"            {fold(each)},\n" for each in arguments) + "        )\n"


def fold(argument):
    """One that is too long for a line."""
    if len(argument) < WIDTH - 12:
        return argument
    head, _, inner = argument.partition("(")
    return f"{head}(\n" + "".join(f"                {each},\n" for each in inner[:-1].split(", ")) + "            )"


def signature(lead, name, arguments, kind):
    one = f"    {lead}def {name}(self{''.join(', ' + each for each in arguments)}) -> {kind}:\n"
    if len(one) <= WIDTH + 1:
        return one
    inner = "".join(f"        {each},\n" for each in ["self", *arguments])
    return f"    {lead}def {name}(\n{inner}    ) -> {kind}:\n"


def render(document):
    return {"_types.py": types(document), "_errors.py": errors(document), "_methods.py": calls(document)}
