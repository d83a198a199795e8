"""The Node client's methods, and the types of all that is said."""

import json
import textwrap

from .names import check_tasks, choices, methods, shapes, target

FIRST = "// Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.\n"
WIDTH = 120
BY_HAND = {  # What these do happens in the client as well. FolderTask has what Task has; its own are written by hand.
    "Storage": ("initialize", "shutdown", "exit", "reference", "updateSettings", "observe", "removeObserver"),
    "Reference": (
        "child", "parent", "root", "putData", "putFile", "putStream", "copy", "move", "writeToFile", "getStream",
        "putDirectory", "writeToDirectory", "deleteAll", "copyAll",
    ),
    "Task": (
        "pause", "resume", "cancel", "retry", "snapshot", "wait", "list",
        "observe", "removeObserver", "removeAllObservers",
    ),
}  # fmt: skip
CLASSES = ("Storage", "Reference", "Task")


def rendered(document, receiver):
    return [(verb, method) for verb, method in methods(document, receiver) if verb not in BY_HAND[receiver]]


def comment(paragraphs, indent=""):
    text = " ".join(paragraphs).replace("*/", "* /")
    lines = textwrap.wrap(text, WIDTH - 2 - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def camel(verb):
    return verb.replace("rpc.", "")


def split(method):
    """Its params without the receiver: those that stand alone, and those that are options."""
    own = [param for param in method["params"] if param["name"] not in ("reference", "task")]
    return [p for p in own if p.get("required")], [p for p in own if not p.get("required")]


# The table and the methods


def table(document):
    names = {error["code"]: error["name"] for error in document["x-errors"] if error["code"] < -32000}
    statuses = document["components"]["schemas"]["Status"]["enum"]
    text = FIRST + '"use strict";\nconst { EventEmitter } = require("node:events");\n\n/** All that the service can be asked for. */\n'
    text += "const METHODS = Object.freeze([\n"
    text += "".join(f'  "{method["name"]}",\n' for method in document["methods"]) + "]);\n\n"
    text += f"const STATUSES = Object.freeze({json.dumps(statuses)});\n\n"
    text += "/** The properties of metadata that a write takes. */\n"
    text += f"const METADATA = Object.freeze({json.dumps(writable(document))});\n\n"
    text += "/** What the snapshot of a folder counts. */\n"
    text += f"const COUNTS = Object.freeze({json.dumps(counts(document))});\n\n"
    text += "/** The names of JSON-RPC's own errors. */\nconst RPC_NAMES = Object.freeze({\n"
    text += "".join(f'  [{code}]: "{name}",\n' for code, name in names.items()) + "});\n"
    for receiver in CLASSES:
        base = " extends EventEmitter" if receiver == "Task" else ""
        text += "\n/** What needs nothing but to ask: `_ask(method, params, names of options, options, then)`. */\n"
        text += f"class {receiver}Methods{base} {{\n"
        text += "\n".join(body(verb, method, receiver) for verb, method in rendered(document, receiver)) + "}\n"
    names = ["COUNTS", "METADATA", "METHODS", *sorted(f"{receiver}Methods" for receiver in CLASSES), "RPC_NAMES", "STATUSES"]
    return text + f"\nmodule.exports = {{ {', '.join(names)} }};\n"


def writable(document):
    return list(document["components"]["schemas"]["MetadataWrite"]["properties"])


def counts(document):
    return list(document["components"]["schemas"]["FolderCounts"]["required"])


def body(verb, method, receiver):
    alone, optional = split(method)
    names = [param["name"] for param in alone]
    params = f"{{ {', '.join(names)} }}" if names else "{}"
    own = json.dumps([param["name"] for param in optional])
    then = outcome(method)[1]
    asked = verb if receiver == "Task" else method["name"]
    call = ", ".join(filter(None, [f'"{asked}"', params, own, "options", then]))
    return f"  {camel(verb)}({', '.join([*names, 'options'])}) {{\n    return this._ask({call});\n  }}\n"


def outcome(method):
    """The type that a promise of it has, and what makes that of the result. What has one member is that member."""
    schema = method["result"]["schema"]
    if target(schema) == "Listing":
        return "Listing", "(result) => this._toListing(result)"
    if target(schema) == "TaskControl":
        return "boolean", "({ accepted }) => accepted"
    if schema.get("type") == "null":
        return "void", "() => undefined"
    members = schema.get("properties", {})
    if len(members) == 1 and not target(schema):
        [(key, member)] = members.items()
        if member.get("contentEncoding") == "base64":
            return "Bytes", f'({{ {key} }}) => Buffer.from({key}, "base64")'
        return kind(member), f"({{ {key} }}) => {key}"
    return kind(schema), None


# The types


def kind(schema, indent=""):
    if target(schema):
        return target(schema)
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema.get("enum", [schema.get("const")]))
    wanted, nullable = choices(schema)
    kinds = [plain(one, indent) for one in wanted] + ["null"] * nullable
    return " | ".join(dict.fromkeys(kinds))


def plain(schema, indent):
    if target(schema):
        return target(schema)
    words = schema.get("type")
    if words == "array":
        inner = kind(schema["items"], indent)
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if words == "object" and "properties" in schema:
        return "{\n" + members(schema, indent + "  ") + indent + "}"
    if words == "object":
        inner = schema.get("additionalProperties")
        value = kind(inner, indent) if isinstance(inner, dict) else "any"
        keys = target(schema.get("propertyNames", {}))
        return f"{{ [name in {keys}]?: {value} }}" if keys else f"{{ [name: string]: {value} }}"
    return {"integer": "number", None: "unknown"}.get(words, words)


def members(schema, indent):
    text = ""
    for name, member in schema["properties"].items():
        if "description" in member:
            text += comment([member["description"]], indent)
        optional = "" if name in schema.get("required", ()) else "?"
        text += f"{indent}{name}{optional}: {kind(member, indent)};\n"
    return text


def declarations(document):
    text = FIRST + "\n/** What is said, as it is said; index.d.ts has what the client makes of it. */\n"
    text += 'import type { Bytes, Listing as References, MetadataChange, RequestOptions } from "../index.js";\n'
    for name, schema in shapes(document).items():
        text += "\n" + comment([schema.get("description", name)])
        inline = {key: member for key, member in schema.items() if key != "title"}
        if "properties" in schema:
            text += f"export interface {name} {{\n" + members(inline, "  ") + "}\n"
        else:
            text += f"export type {name} = {kind(inline)};\n"
    text += "\n/** The params and the result of each method. */\nexport interface Methods {\n"
    text += "".join(entry(method) for method in document["methods"]) + "}\n"
    text += "\nexport const METHODS: readonly (keyof Methods)[];\nexport const STATUSES: readonly Status[];\n"
    text += "export const METADATA: readonly (keyof MetadataWrite)[];\n"
    text += "export const COUNTS: readonly (keyof FolderCounts)[];\n"
    text += "export const RPC_NAMES: { readonly [code: number]: string };\n"
    for receiver in CLASSES:
        text += f"\nexport class {receiver}Methods {{\n"
        text += "".join(declared(verb, method) for verb, method in rendered(document, receiver)) + "}\n"
    return text


def entry(method):
    required = [param["name"] for param in method["params"] if param.get("required")]
    schema = {"properties": {param["name"]: param["schema"] for param in method["params"]}, "required": required}
    params = "{\n" + members(schema, "      ") + "    }" if method["params"] else "{}"
    result = kind(method["result"]["schema"], "    ")
    return f'  "{method["name"]}": {{\n    params: {params};\n    result: {result};\n  }};\n'


def declared(verb, method):
    alone, optional = split(method)
    arguments = [f"{param['name']}: {argument(param)}" for param in alone]
    own = "".join(f"{param['name']}?: {argument(param)}; " for param in optional)
    arguments.append(f"options?: {{ {own}}} & RequestOptions" if own else "options?: RequestOptions")
    promised = {"Listing": "References"}.get(outcome(method)[0], outcome(method)[0])
    paragraphs = [method["summary"], method["description"]]
    paragraphs += [f"`{p['name']}`: {p['description']}" for p in [*alone, *optional] if "description" in p]
    if "x-sdk" in method:
        paragraphs.append(f"In the SDK: `{method['x-sdk']}`.")
    return comment(paragraphs, "  ") + f"  {camel(verb)}({', '.join(arguments)}): Promise<{promised}>;\n"


def argument(param):
    return "MetadataChange" if target(param["schema"]) == "MetadataWrite" else kind(param["schema"])


def render(document, _):
    check_tasks(document)
    return {"src/methods.js": table(document), "src/methods.d.ts": declarations(document)}
