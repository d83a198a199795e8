"""The Python client's values of the harness, as they are on the wire."""

from .names import choices, target, upper
from .python import literal
from .python_types import FIRST, docstring, plain

NAMED = {"ServiceTasks": "Mapping[State, int]", "TokenKind": "TokenKind"}
RESULTS = ("disarm", "clock", "settled", "space", "seed", "save")
"""The methods whose results have several members."""
HEAD = '''"""The values of the harness, as on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Union

from ._types import State, TokenKind

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''


def render(document, harness):
    schemas = harness["components"]["schemas"]
    errors = [error["name"] for error in document["x-errors"] if error["code"] > -32000]
    shapes, text = {}, FIRST.replace("openrpc", "harness") + HEAD
    text += "\n" + literal("ErrorName", errors) + docstring("The name of an error.", 0)
    for name, schema in schemas.items():
        if name not in ("HarnessObject", "HarnessEffect"):
            shapes[name] = {"description": "What a failing call tells.", **schema}
    for method in harness["methods"]:
        verb = method["name"].rpartition("/")[2]
        if verb in RESULTS:
            shapes[f"{upper(verb)}Result"] = {"description": f"The answer to `{verb}`.", **method["result"]["schema"]}
        if verb == "arm":
            params = {param["name"]: param["schema"] for param in method["params"] if param["name"] not in ("on", "do")}
            shapes["Where"] = {"description": "The calls that a rule applies to.", "properties": params}
        if verb == "seed":
            (shapes["Generated"],) = (param["schema"] for param in method["params"] if param["name"] == "generate")
    shapes["Demanded"] = schemas["HarnessEffect"]["properties"]["demand"]
    later = ""
    for name, schema in shapes.items():
        if "oneOf" in schema:
            options = [named_here(option, name, number) for number, option in enumerate(schema["oneOf"])]
            text += "".join(typed_dict(own, option) for own, option in options if "properties" in option)
            later += f"\n{short(name)} = Union[{', '.join(own for own, _ in options)}]\n" + docstring(schema["description"], 0, str)
        elif "enum" in schema:
            text += "\n\n" + literal(short(name), schema["enum"]) + docstring(schema["description"], 0, str)
        else:
            text += typed_dict(short(name), schema)
    operations = 'Union[Operation, Literal["*"], Sequence[Operation]]'
    later += f"\nOperations = {operations}\n" + docstring("One operation, several, or all.", 0)
    return {"_harness.py": text + "\n" + later}


def named_here(schema, name, number):
    return (f"{short(name)}{number}" if "properties" in schema else kind(schema)[0]), schema


def short(name):
    return name.removeprefix("Harness")


def typed_dict(name, schema):
    required = schema.get("required", ())
    own, text = "", f"\n\nclass {name}(TypedDict{', total=False' * (not required)}):\n"
    text += docstring(schema.get("description", f"With {' and '.join(schema['properties'])}."), 4, str) + "\n"
    for key, member in schema["properties"].items():
        type_name, inner = kind(member, upper(key))
        if key == "error":
            type_name = "ErrorName"
        own += "".join(typed_dict(*shape) for shape in inner)
        text += f"    {key}: {type_name if key in required or not required else f'NotRequired[{type_name}]'}\n"
        if "description" in member:
            text += docstring(member["description"], 4, str)
    return own + text


def kind(schema, name=""):
    """The type of a value, and the shapes that are written only here, by their names."""
    if target(schema):
        return NAMED.get(target(schema), short(target(schema))), []
    wanted, nullable = choices(schema)
    kinds, inner = [], []
    for one in wanted:
        if one.get("type") == "array":
            item, more = kind(one["items"], name)
            kinds.append(f"list[{item}]")
            inner += more
        elif "properties" in one:
            kinds.append(name)
            inner.append((name, one))
        else:
            kinds.append(f"Literal[{one['const']}]" if "const" in one else plain(one))
    return " | ".join(kinds + ["None"] * nullable), inner
