"""The Swift client's types: all that is said, a type for each call, and the error codes."""

import textwrap

from .names import choices, shapes, target, upper

FIRST = """\
// Rendered from protocol/openrpc.json and harness.json by protocol/render.py: edit these, not this.
// swift-format-ignore-file
"""
PLAIN = {"string": "String", "integer": "Int64", "number": "Double", "boolean": "Bool"}
KEYWORDS = ("do", "default", "in", "repeat", "is", "as", "self")
WIDTH = 116
NAMED = {"Precondition": "Int64", "Handle": "String", "Task": "String"}
"""What is written by hand, or has a shorter name in Swift."""
SKIPPED = ("UploadingMetadata", "FolderTaskControl")


def comment(text, indent):
    lines = textwrap.wrap(text, WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{indent}/// {line}\n" for line in lines)


def word(name):
    return f"`{name}`" if name in KEYWORDS else name


class Renderer:
    def __init__(self, document, harness):
        both = {**document, "methods": document["methods"] + harness["methods"]}
        self.methods = both["methods"]
        self.shapes = {**shapes(both), **harness["components"]["schemas"]}
        self.written = set()
        self.conforms = ""  # of the structs within others
        self.makes = False  # whether a client makes the structs within others
        for method in self.methods:
            for param in method["params"]:
                self.write(param["schema"])

    def write(self, schema):
        """Marks the shapes that a client makes itself."""
        name = target(schema)
        if name in self.written:
            return
        if name in self.shapes:
            self.written.add(name)
            schema = self.shapes[name]
        inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
        for one in [*inner, *schema.get("oneOf", ())]:
            if isinstance(one, dict):
                self.write(one)

    def kind(self, name, schema):
        """The type of a member, and the text of the struct that it needs."""
        ref = target(schema)
        if ref:
            shape = self.shapes[ref]
            if ref in NAMED:
                return NAMED[ref], ""
            if "oneOf" in shape and ref != "ReferenceParam" or shape.get("propertyNames"):
                return self.kind(name, {key: value for key, value in shape.items() if key != "title"})
            return f"StorageWire.{ref}", ""
        wanted, nullable = choices(schema)
        lists = [one for one in wanted if one.get("type") == "array"]
        one = (lists or wanted)[0]
        if len({other.get("type") for other in wanted}) > 1 and not lists or not (one.keys() - {"description"}):
            return "StorageJSON", ""
        kind, text = self.kind(name, one) if target(one) else self.plain(name, one)
        return (f"StorageWire.Nullable<{kind}>" if nullable else kind), text

    def plain(self, name, schema):
        if "const" in schema:
            return ("Bool" if schema["const"] is True else "String"), ""
        words = schema.get("type", "string" if "enum" in schema else None)
        if words == "array":
            kind, text = self.kind(name, schema["items"])
            return f"[{kind}]", text
        if words == "object" and "properties" in schema:
            return upper(name), self.struct(upper(name), schema, self.conforms, self.makes)
        if words == "object":
            inner = schema.get("additionalProperties")
            if not isinstance(inner, dict):
                return "StorageJSON", ""
            kind, text = self.kind(name, inner)
            return f"[String: {kind}]", text
        return PLAIN[words], ""

    def struct(self, name, schema, conforms, is_written=False, more=""):
        required = schema.get("required", ())
        inner, lines, arguments = "", "", []
        for member, one in schema.get("properties", {}).items():
            if one.get("readOnly"):
                continue
            kind, text = self.kind(member, one)
            inner += text
            optional = "" if member in required else "?"
            lines += comment(one.get("description", f"The {member}."), "    ")
            lines += f"    public var {word(member)}: {kind}{optional}\n"
            arguments.append((member, f"{kind}{optional}", " = nil" if optional else ""))
        text = comment(schema.get("description", name), "") + f"public struct {name}: {conforms or 'Decodable, Sendable'} {{\n"
        text += textwrap.indent(inner, "    ") + lines + more
        if is_written:
            arguments.sort(key=lambda argument: bool(argument[2]))
            text += f"\n    /// Makes one. What is nil is not said.\n    public init({', '.join(f'{word(n)}: {k}{d}' for n, k, d in arguments)}) {{\n"
            text += "".join(f"        self.{n} = {word(n)}\n" for n, _, _ in arguments) + "    }\n"
        return text + "}\n"

    def shape(self, name, schema):
        if "enum" in schema:
            cases = "".join(f"    /// `{one}`\n    case {word(one)}\n" for one in schema["enum"])
            return comment(schema.get("description", name), "") + f"public enum {name}: String, Codable, Sendable {{\n{cases}}}\n"
        if name == "Metadata":
            uploading = self.shapes["UploadingMetadata"]["required"]
            schema = {**schema, "required": [one for one in schema["required"] if one in uploading]}
        if name == "ReferenceParam":
            schema = {"description": schema.get("description", name), **schema["oneOf"][0]}
        self.makes = name in self.written
        self.conforms = "Codable, Sendable" if self.makes else ""
        return self.struct(name, schema, self.conforms, self.makes) if "properties" in schema else ""

    def call(self, method):
        first, _, verb = method["name"].replace("rpc.", "rpc/").rpartition("/")
        self.conforms, self.makes = "Decodable, Sendable", False
        params = {param["name"]: {"description": param.get("description", f"The {param['name']}."), **param["schema"]} for param in method["params"]}
        required = [param["name"] for param in method["params"] if param.get("required")]
        result = method["result"].get("schema", {})
        if result.get("type") == "null":
            answer, text = "StorageWire.Nothing", ""
        elif result.get("title") == "FolderTaskControl":
            answer, text = "StorageWire.TaskControl", ""
        elif result.get("oneOf"):
            answer, text = f"StorageWire.{target(result['oneOf'][0])}?", ""
        else:
            answer, text = self.kind("Answer", result)
        if answer == "Answer":
            answer = ""
        more = textwrap.indent(text, "    ")
        more += f"    /// What the service answers.\n    public typealias Answer = {answer}\n" if answer else ""
        more += f'    /// The name of the method.\n    public static var method: String {{ "{method["name"]}" }}\n'
        if not params:
            more += "    /// The keys of the params: none.\n    private enum CodingKeys: CodingKey {}\n"
        description = method["summary"] + " " + method.get("description", "")
        schema = {"description": f"`{method['name']}`: {description}", "properties": params, "required": required}
        name = "".join(map(upper, filter(None, (first, verb))))
        self.conforms, self.makes = "Encodable, Sendable", True
        return self.struct(name, schema, "StorageCall", True, more)


def errors(document):
    text = comment("The codes of errors, as in the SDK.", "") + "public enum StorageErrorCode: Int, Swift.Error {\n"
    for error in document["x-errors"]:
        if -13100 < error["code"] <= -13000:
            text += comment(error["meaning"], "    ") + f"    case {error['name']} = {error['code']}\n"
    text += "}\n\nextension StorageWire {\n    /// All codes of errors that the service answers.\n    public enum ErrorCode: Int {\n"
    meanings = {error["code"]: error["meaning"] for error in document["x-errors"]}
    for name, error in document["components"]["errors"].items():
        text += comment(meanings[error["code"]], "        ") + f"        case {name} = {error['code']}\n"
    return text + "    }\n}\n"


def render(document, harness):
    renderer = Renderer(document, harness)
    bodies = [renderer.shape(name, one) for name, one in renderer.shapes.items() if name not in (*SKIPPED, *NAMED)]
    wire = FIRST + "\n/// What the service and its clients say, as it is said.\npublic enum StorageWire {\n"
    wire += textwrap.indent("\n".join(filter(None, bodies)), "    ") + "}\n"
    calls = FIRST + "\n/// All that the service can be asked for: `try await storage.ask(StorageCalls.ServicePing())`.\npublic enum StorageCalls {\n"
    calls += textwrap.indent("\n".join(map(renderer.call, renderer.methods)), "    ") + "}\n"
    return {"StorageWire.swift": wire, "StorageCalls.swift": calls, "StorageErrorCode.swift": FIRST + "\n" + errors(document)}
