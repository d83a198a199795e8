"""What a service has to hold, written down a second time: objects by name, and the files of local directories."""
import base64
import dataclasses
import hashlib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "CommandWalk"))
from model import regex

WRITABLE = ("cacheControl", "contentDisposition", "contentLanguage", "contentType", "customMetadata")
NO_NAMES = {"", ".", ".."}  # of files
INFERRED = object()  # The service chooses it.


@dataclasses.dataclass(frozen=True)
class Object:
    data: bytes
    metadata: dict  # what a client may write
    generation: int = None  # None: newer than all before
    metageneration: int = 1

    def flaw(self, found, newest):
        """What differs in the metadata that the service tells."""
        generation = int(found["generation"])
        if generation != self.generation and (self.generation or generation <= newest):
            return f"it has generation {generation}, not {self.generation or f'one above {newest}'}"
        if int(found["metageneration"]) != self.metageneration:
            return f"it has metageneration {found['metageneration']}, not {self.metageneration}"
        if found["size"] != len(self.data) or found["md5Hash"] != md5(self.data):
            return f"it has {found['size']} bytes, not these {len(self.data)}"
        for key in WRITABLE:
            wanted, value = self.metadata.get(key), found.get(key)
            if wanted is not INFERRED and (wanted or None) != (value or None):
                return f"{key} is {value!r}, not {wanted!r}"
        return ""

    def learned(self, found):
        """With what the service has chosen."""
        metadata = {key: found[key] for key in WRITABLE if key in found}
        return dataclasses.replace(self, metadata=metadata, generation=int(found["generation"]))

    def updated(self, change):
        metadata = dict(self.metadata)
        for key, value in change.items():
            if key == "customMetadata" and value is not None:
                merged = (metadata.get(key) or {}) | value
                metadata[key] = {name: each for name, each in merged.items() if each is not None}
            elif key == "contentType" and value is None:
                metadata[key] = INFERRED
            else:
                metadata[key] = value
        return dataclasses.replace(self, metadata=metadata, metageneration=self.metageneration + 1)


def md5(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def new(data, metadata):
    return Object(data, {"contentType": INFERRED} | metadata)


class Filter:
    """`include` and `exclude` of a task over a folder."""

    def __init__(self, include=(), exclude=()):
        self.include, self.exclude = list(include), list(exclude)

    def takes(self, path):
        included = not self.include or any(matches(pattern, path) for pattern in self.include)
        return included and not any(matches(pattern, path) for pattern in self.exclude)


def matches(pattern, path):
    body = pattern.removesuffix("/")
    expression = regex(body.removeprefix("/"))
    for end in [at for at, character in enumerate(path) if character == "/"] + [len(path)]:
        step = path[:end]
        if (end < len(path) or body == pattern) and expression.fullmatch(step if "/" in body else step.rpartition("/")[2]):
            return True
    return False


@dataclasses.dataclass
class Plan:
    """What a task over a folder does: by name, Nones are deletions."""
    changes: dict = dataclasses.field(default_factory=dict)  # objects, or files
    total: int = 0
    unchanged: int = 0
    unchanged_bytes: int = 0
    to_delete: int = 0
    refused: int = 0
    failed: int = 0

    def counts(self, is_dry):
        deleted = sum(1 for each in self.changes.values() if each is None)
        return {
            "total": self.total, "completed": 0 if is_dry else len(self.changes) - deleted, "unchanged": self.unchanged,
            "toDelete": self.to_delete, "deleted": 0 if is_dry else deleted, "refused": self.refused, "failed": self.failed,
            **({"unchangedBytes": self.unchanged_bytes} if self.unchanged_bytes else {})}


def below(objects, folder):
    """The names below a folder, and their rests."""
    prefix = folder + "/" if folder else ""
    return {name: name[len(prefix):] for name in objects if name.startswith(prefix)}


def delete_plan(objects, folder, options):
    filter = Filter(options.get("include", ()), options.get("exclude", ()))
    changes = {name: None for name, rest in below(objects, folder).items() if filter.takes(rest)}
    return Plan(changes, to_delete=len(changes))


def put_plan(objects, folder, local, links, options):
    filter = Filter(options.get("include", ()), options.get("exclude", ()))
    plan, prefix = Plan(), folder + "/" if folder else ""
    for path, data in local.items():
        if not filter.takes(path):
            continue
        plan.total += 1
        old = objects.get(prefix + path)
        if old and ("ifGenerationMatch" in options or options.get("changed") and old.data == data):
            plan.unchanged, plan.unchanged_bytes = plan.unchanged + 1, plan.unchanged_bytes + len(data)
        else:
            plan.changes[prefix + path] = new(data, options.get("metadata", {}))
    refused = {path for path in links if filter.takes(path)}
    plan.refused = len(refused)
    if options.get("delete"):
        for name, rest in below(objects, folder).items():
            # No file can have become an object of such a name.
            is_unknown = any(rest == path or rest.startswith(path + "/") for path in refused)
            if filter.takes(rest) and rest not in local and not is_unknown and not NO_NAMES & set(rest.split("/")):
                plan.changes[name] = None
                plan.to_delete += 1
    return plan


def write_plan(objects, folder, local, directories, options):
    filter = Filter(options.get("include", ()), options.get("exclude", ()))
    items = {rest: objects[name].data for name, rest in below(objects, folder).items() if filter.takes(rest)}
    good = {path for path in items if not NO_NAMES & set(path.split("/"))}
    plan, is_dry = Plan(refused=len(items) - len(good)), options.get("dryRun")
    gone = [path for path in local if filter.takes(path) and path not in items] if options.get("delete") else []
    # What is in the way is deleted first, whatever fails then. No file takes the place of a directory that keeps something,
    # and an object that others are below becomes no file.
    files = {path for path in good if not any(other.startswith(path + "/") for other in [*good, *(local.keys() - gone)])}
    in_way = {path for path in gone if not is_dry and (
        any(other.startswith(path + "/") for other in good) or any(path.startswith(file + "/") for file in files))}
    left = local.keys() - in_way
    for path in sorted(good):
        plan.total += 1
        is_blocked = path in directories and (
            not options.get("delete") or any(other.startswith(path + "/") for other in left))
        parents = {path[:at] for at, character in enumerate(path) if character == "/"}
        if "ifGenerationMatch" in options and path in left or options.get("changed") and local.get(path) == items[path]:
            plan.unchanged, plan.unchanged_bytes = plan.unchanged + 1, plan.unchanged_bytes + len(items[path])
        elif any(other.startswith(path + "/") for other in good):
            plan.total, plan.refused = plan.total - 1, plan.refused + 1
        elif not is_dry and (is_blocked or parents & left):
            plan.failed += 1
        else:
            plan.changes[path] = items[path]
    plan.to_delete = len(gone)
    plan.changes |= dict.fromkeys(in_way if plan.failed else gone)
    return plan
