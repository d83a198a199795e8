"""What the languages share: names, and what a schema is about."""

import re

RECEIVERS = {"reference": "Reference", "uploadTask": "Task", "downloadTask": "Task", "folderTask": "FolderTask"}
"""The class that a method belongs to, by the first part of its name; else the session's."""

STREAMS = ("append", "finish", "read")
"""What only the tasks of streams can do: each kind of task has its own, and the clients write them by hand."""


def snake(name):
    return re.sub("(?<=[a-z0-9])([A-Z]+)", lambda match: "_" + match[1].lower(), name)


def upper(name):
    return name[0].upper() + name[1:]


def target(schema):
    """The name of the component, or of the inline shape, that a schema is."""
    return schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else schema.get("title")


def choices(schema):
    """The schemas that it may be, without null, and whether it may be null."""
    if "oneOf" in schema:
        wanted = [one for one in schema["oneOf"] if one.get("type") != "null"]
        return wanted, len(wanted) < len(schema["oneOf"])
    types = schema.get("type")
    if isinstance(types, list):
        return [{**schema, "type": one} for one in types if one != "null"], "null" in types
    return [schema], False


def shapes(document):
    """The schemas that have a name: the components, and the results that have a title."""
    titled = {}
    for method in document["methods"]:
        schema = method["result"]["schema"]
        if "title" in schema and len(schema["properties"]) > len(titled.get(schema["title"], {}).get("properties", ())):
            titled[schema["title"]] = {"description": method["summary"], **schema}
    return {**document["components"]["schemas"], **titled}


def methods(document, receiver):
    """Those of one class, by the last part of the name; uploads stand for both kinds of tasks, without streams."""
    for method in document["methods"]:
        first, _, verb = method["name"].rpartition("/")
        is_common = first != "downloadTask" and verb not in STREAMS
        if RECEIVERS.get(first, "Storage") == receiver and is_common:
            yield verb or method["name"], method


def task_verbs(document):
    """The last parts of the names of the methods of all kinds of tasks."""
    parts = [method["name"].rpartition("/") for method in document["methods"]]
    return list(dict.fromkeys(verb for first, _, verb in parts if first.endswith("Task")))


def check_tasks(document):
    """Uploads and downloads must have the same methods, except those of streams."""
    names = {method["name"] for method in document["methods"]}
    uploads, downloads = ({n.split("/")[1] for n in names if n.startswith(f"{k}Task/")} for k in ("upload", "download"))
    assert (uploads ^ downloads) == set(STREAMS), f"Only one kind of task has {uploads ^ downloads}."
