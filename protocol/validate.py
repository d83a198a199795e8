#!/usr/bin/env python3
"""Holds openrpc.json, alone and with harness.json, to the OpenRPC meta-schema, and each example to the schemas of what
it shows.

    validate.py [META-SCHEMA]

Needs the package jsonschema. Without a META-SCHEMA, or where there is none at that place, that part is left out.
"""

import json
import re
import sys
from pathlib import Path

from jsonschema import Draft7Validator
from jsonschema_specifications import REGISTRY
from referencing import Registry, Resource

HERE = Path(__file__).resolve().parent
PLACEHOLDER = re.compile("<[a-z0-9]+>")
SCHEMAS = "https://meta.json-schema.tools"  # What the meta-schema calls JSON Schema, draft 7


def main():
    document, harness = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("openrpc.json", "harness.json"))
    meta = Path(sys.argv[1]) if sys.argv[1:] else None
    if not meta or not meta.exists():
        print(f"skipped: there is no OpenRPC meta-schema at {meta}" if meta else "skipped: no OpenRPC meta-schema given")
        meta = None
    for name, one in (("openrpc.json", document), ("openrpc.json with harness.json", joined(document, harness))):
        problems = [*examples(one)]
        if meta:
            problems += against_meta_schema(one, json.loads(meta.read_text(encoding="utf-8")))
        if problems:
            sys.exit(f"{name}: " + f"\n{name}: ".join(problems))
        print(f"{name}: {len(one['methods'])} methods and {sum(1 for _ in shown(one))} examples are valid")


def joined(document, harness):
    """What `rpc.discover` answers with the harness."""
    schemas = {**document["components"]["schemas"], **harness["components"]["schemas"]}
    lists = {name: document[name] + harness[name] for name in ("methods", "x-notifications", "x-errors")}
    return {**document, **lists, "components": {**document["components"], "schemas": schemas}}


def against_meta_schema(document, meta):
    draft7 = REGISTRY["http://json-schema.org/draft-07/schema#"].contents
    named = {**draft7["definitions"], "JSONSchemaObject": {"properties": {"$ref": {"type": "string"}}}}
    schemas = Resource.from_contents({**draft7, "$id": SCHEMAS, "definitions": named})
    registry = Registry().with_resources([(SCHEMAS, schemas), (SCHEMAS + "/", schemas)])
    plain = {key: value for key, value in meta.items() if key != "$schema"}
    for error in Draft7Validator(plain, registry=registry).iter_errors(document):
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message:.200}"


def shown(document):
    """What is shown of each method, notification and request: where, the value, the descriptions of its parts."""
    for method in document["methods"]:
        for example in method["examples"]:
            place = f"{method['name']}, {example['name']}"
            yield place, {param["name"]: param["value"] for param in example["params"]}, method["params"]
            if "result" in example:
                yield place, {"result": example["result"]["value"]}, [{**method["result"], "required": True}]
    for entry in document["x-notifications"]:
        yield entry["name"], entry["example"], entry["params"]
    for entry in document["x-requests"]:
        yield entry["name"], entry["example"]["params"], entry["params"]
        yield entry["name"], {"result": entry["example"]["result"]}, [{**entry["result"], "required": True}]


def examples(document):
    for place, value, parts in shown(document):
        known = {part["name"]: part for part in parts}
        for name in value.keys() - known.keys():
            yield f"{place}: {name} is unknown"
        for name, part in known.items():
            if name not in value:
                if part.get("required"):
                    yield f"{place}: {name} is missing"
                continue
            schema = {"allOf": [part["schema"]], "components": document["components"]}
            for error in Draft7Validator(schema).iter_errors(whole(value[name])):
                if is_real(error):
                    yield f"{place}: {name}/{'/'.join(map(str, error.absolute_path))}: {error.message:.200}"


class Excerpt(dict):
    """An object of which not all members are shown."""


def whole(value):
    """Without the marks that stand for what is not shown."""
    if isinstance(value, list):
        return [whole(element) for element in value if element != "..."]
    if isinstance(value, dict):
        kind = Excerpt if "..." in value else dict
        return kind((key, whole(member)) for key, member in value.items() if key != "...")
    return value


def is_real(error):
    """Whether it is not just that something is not shown, or a placeholder."""
    if isinstance(error.instance, str) and PLACEHOLDER.fullmatch(error.instance):
        return False
    if error.validator == "required" and isinstance(error.instance, Excerpt):
        return False
    if error.validator == "oneOf":
        branches = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        return all(any(map(is_real, branch)) for branch in branches.values())
    return True


if __name__ == "__main__":
    main()
