"""reference.md, and the table of errors in README.md."""

import json


def compact(value):
    return json.dumps(value, ensure_ascii=False)


def pretty(value, indent=0, width=110):
    """JSON with as much on a line as fits."""
    line = compact(value)
    if not isinstance(value, (dict, list)) or not value or len(line) + indent <= width:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{inner}{compact(key)}: {pretty(member, indent + 2, width)}" for key, member in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [inner + pretty(element, indent + 2, width) for element in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def anchor(heading):
    kept = (c for c in heading.lower() if c.isalnum() or c in " -_")
    return "#" + "".join(kept).replace(" ", "-")


def kind(schema):
    """A schema in a few words, named ones as links."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}]({anchor(name)})"
    if "oneOf" in schema:
        return " or ".join(kind(choice) for choice in schema["oneOf"])
    if "const" in schema:
        return f"`{compact(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{compact(value)}`" for value in schema["enum"])
    types = schema.get("type", "anything")
    if types == "array":
        return f"array of {kind(schema['items'])}"
    if types == "object" and "properties" in schema:
        required = schema.get("required", [])
        members = (f"{name}{'' if name in required else '?'}: {kind(s)}" for name, s in schema["properties"].items())
        return "{" + ", ".join(members) + "}"
    if types == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    words = " or ".join(types) if isinstance(types, list) else types
    if "contentEncoding" in schema:
        words += f" ({schema['contentEncoding']})"
    return words


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell(column) for column in row) + " |" for row in rows] + [""]


def params(descriptors, components):
    def row(param):
        text = param.get("description") or components.get(param["schema"].get("$ref", ""), "")
        return f"`{param['name']}`", kind(param["schema"]), "required" if param.get("required") else "", text

    return table(("param", "type", "", ""), map(row, descriptors)) if descriptors else ["No params.", ""]


def example(shown):
    values = {param["name"]: param["value"] for param in shown["params"]}
    lines = [f"Example: {shown['name']}", "", "```json", pretty(values)]
    if "result" in shown:
        lines += ["```", "answers", "```json", pretty(shown["result"]["value"])]
    return lines + ["```", ""]


def rules(method):
    names = [f"`{name}`" for name in method.get("x-exactly-one-of", [])]
    if names:
        yield f"Exactly one of {' and '.join(names)} is given."
        yield ""
    names = [f"`{name}`" for name in method.get("x-not-together", [])]
    if names:
        yield f"{' and '.join(names)} do not go together."
        yield ""


def section(method, components):
    lines = [f"## {method['name']}", "", method["summary"], "", method["description"], ""]
    lines += [f"In the SDK: `{method['x-sdk']}`" if "x-sdk" in method else "The SDK has nothing like it.", ""]
    lines += params(method["params"], components) + list(rules(method))
    lines += [f"Result: {kind(method['result']['schema'])}", ""]
    if "errors" in method:
        lines += ["Errors: " + ", ".join(f"{error['code']} {error['message']}" for error in method["errors"]), ""]
    for shown in method["examples"]:
        lines += example(shown)
    return lines


def notification(entry, components):
    lines = [f"## {entry['name']}", "", f"A notification from the {entry['from']}. {entry['summary']}", ""]
    lines += [entry["description"], ""] + params(entry["params"], components)
    message = {"jsonrpc": "2.0", "method": entry["name"], "params": entry["example"]}
    return lines + ["```json", pretty(message), "```", ""]


def request(entry, components):
    lines = [f"## {entry['name']}", "", f"A request from the {entry['from']}. {entry['summary']}", ""]
    lines += [entry["description"], ""] + params(entry["params"], components)
    lines += [f"Result: {kind(entry['result']['schema'])}", ""]
    shown = entry["example"]
    message = {"jsonrpc": "2.0", "id": shown["id"], "method": entry["name"], "params": shown["params"]}
    answer = {"jsonrpc": "2.0", "id": shown["id"], "result": shown["result"]}
    return lines + ["```json", pretty(message), "```", "is answered with", "```json", pretty(answer), "```", ""]


def schema_section(name, schema):
    lines = [f"## {name}", "", schema.get("description", f"{kind(schema)}."), ""]
    required = schema.get("required", [])
    rows = (
        (f"`{key}`", kind(member), "" if key in required else "optional", member.get("description", ""))
        for key, member in schema.get("properties", {}).items()
    )
    if "properties" in schema:
        return lines + table(("member", "type", "", ""), rows)
    return lines + [kind(schema), ""] if "description" in schema else lines


def calls(document, components):
    """The methods and the notifications."""
    rows = ((f"[{m['name']}]({anchor(m['name'])})", m["summary"]) for m in document["methods"])
    lines = table(("method", ""), rows)
    for method in document["methods"]:
        lines += section(method, components)
    lines += ["# Notifications", ""]
    for entry in document["x-notifications"]:
        lines += notification(entry, components)
    return lines


def reference(document, readme):
    schemas = document["components"]["schemas"]
    components = {f"#/components/schemas/{name}": s.get("description", "") for name, s in schemas.items()}
    lines = ["<!-- Rendered from openrpc.json by render.py: edit that, not this. -->", "", "# Reference", ""]
    lines += [f"Protocol version {document['info']['version']}. {document['info']['description']}", ""]
    lines += ["Any method may also answer -32600, and -32602 for a param that it does not know.", ""]
    lines += calls(document, components)
    lines += ["# Requests to the client", ""]
    for entry in document["x-requests"]:
        lines += request(entry, components)
    lines += ["# Promises", "", *promises(readme), "# The states of a task", "", *states(readme), "# Values", ""]
    for name, schema in schemas.items():
        lines += schema_section(name, schema)
    lines += ["# Errors", ""]
    return "\n".join(lines + errors(document))


def harness(document, base):
    """harness.md: what `serve --harness` adds."""
    schemas = {**base["components"]["schemas"], **document["components"]["schemas"]}
    components = {f"#/components/schemas/{name}": s.get("description", "") for name, s in schemas.items()}
    lines = ["<!-- Rendered from harness.json by render.py: edit that, not this. -->", "", "# The harness", ""]
    lines += ["What `serve --harness` adds to the [reference](reference.md). Without the flag none of it is there.", ""]
    lines += calls(document, components)
    lines += ["# Values", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += schema_section(name, schema)
    lines += ["# Errors", ""]
    page = "\n".join(lines + errors(document))
    for name in base["components"]["schemas"]:
        page = page.replace(f"]({anchor(name)})", f"](reference.md{anchor(name)})")
    return page


def promises(readme):
    """What README.md promises of order, observers and slow readers."""
    for name in ("Order", "Observers", "Backpressure"):
        _, heading, rest = readme.partition(f"\n#### {name}\n\n")
        assert heading, f"README.md has no section {name}."
        section, _, _ = rest.partition("\n\n#")
        yield f"**{name}.** {section}"
        yield ""


def states(readme):
    """README.md's section with the diagram."""
    _, _, rest = readme.partition("\n## The states of a task\n\n")
    section, end, _ = rest.partition("\n\n## ")
    assert end, "README.md has no section on the states of a task."
    return [section, ""]


def errors(document):
    rows = ((str(e["code"]), e["name"], e["meaning"], e["remedy"]) for e in document["x-errors"])
    return table(("code", "name", "cause", "remedy"), rows)


def with_errors(page, document):
    """The page with what is between its two marks rendered anew."""
    before, begin, rest = page.partition("<!-- errors: rendered from openrpc.json by render.py -->\n")
    _, end, after = rest.partition("<!-- end of errors -->\n")
    return before + begin + "\n".join(errors(document)) + end + after
