"""What is in a root and beside it, as it should be and as it is."""
import base64
import dataclasses
import hashlib
import os
import sqlite3

from service import url

# What the service chooses; an object that nobody has touched keeps them all the same.
CHOSEN = {"generation", "updated", "timeCreated"}


@dataclasses.dataclass(frozen=True)
class Object:
    data: bytes
    metadata: dict
    token: str = None  # None: not known yet


@dataclasses.dataclass(frozen=True)
class World:
    objects: dict
    files: dict  # what downloads have written

    def with_object(self, path, object):
        objects = {name: each for name, each in self.objects.items() if name != path}
        return World(objects | ({path: object} if object else {}), self.files)

    def difference(self, other):
        """What differs in another world that was observed; empty where it is the same."""
        if other.objects.keys() != self.objects.keys():
            return f"there are {sorted(other.objects)}, not {sorted(self.objects)}"
        for path, expected in self.objects.items():
            found = other.objects[path]
            metadata = {
                name: value for name, value in found.metadata.items() if name in expected.metadata or name not in CHOSEN}
            if found.data != expected.data:
                return f"{path} has {len(found.data)} other bytes than the {len(expected.data)} that it should have"
            if metadata != expected.metadata:
                return f"{path} has {metadata}, not {expected.metadata}"
            if expected.token not in (None, found.token):
                return f"{path} has another token"
        for name in self.files.keys() | other.files.keys():
            if self.files.get(name) != other.files.get(name):
                return f"the file {name} is not what it should be"
        return ""

    def only(self, name):
        """Of one object and one file."""
        objects, files = ({key: all[key] for key in [name] if key in all} for all in (self.objects, self.files))
        return World(objects, files)


@dataclasses.dataclass(frozen=True)
class Between:
    """Where a step over many names was stopped: each of them is as before it or as after it."""
    before: World
    after: World
    least: int = 0  # so many of those that the step changes are as after it

    def difference(self, other):
        done = 0
        for name in sorted({name for world in (self.before, self.after, other) for name in (*world.objects, *world.files)}):
            before, after, found = (world.only(name) for world in (self.before, self.after, other))
            if difference := after.difference(found):
                if before.difference(found):
                    return f"half done: {difference}"
            else:
                done += bool(after.difference(before))
        return f"{done} were done, but {self.least} were told" if done < self.least else ""


def new_object(path, data, metadata):
    fixed = {
        "bucket": "bucket", "fullPath": path, "name": path.split("/")[-1], "metageneration": "1", "size": len(data),
        "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(), "crc32c": crc32c(data),
    }
    return Object(data, fixed | metadata)


def observe(service, out):
    """Everything that the service says, and the files beside it; parts of downloads are no files yet."""
    items = service.call("reference/listAll", reference="gs://bucket", recursive=True)["items"]
    objects = {}
    for path in (item["fullPath"] for item in items):
        token = service.call("reference/downloadURL", reference=url(path))["url"].split("token=")[1]
        objects[path] = Object(service.data(path), service.call("reference/getMetadata", reference=url(path)), token)
    files = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file() and not is_part(file)}
    return World(objects, files)


def is_part(file):
    return file.name.startswith(".") and file.name.endswith(".part")


def plans(service):
    """The tasks over folders that have a plan."""
    return {task["task"] for task in service.call("folderTask/list")["tasks"]}


def stray_plans(root, known):
    """What is in the directory of plans that belongs to none of those tasks."""
    folders = root / "folders"
    there = os.listdir(folders) if folders.exists() else []
    strangers = [name for name in there if name.partition(".sqlite")[0] not in known]
    lost = [task for task in known if f"{task}.sqlite" not in there]
    return f"plans {strangers} of no task, and tasks {lost} without one" if strangers or lost else ""


def rows(root, sql):
    """Looks into the database without leaving a trace; the service may be at it."""
    database = sqlite3.connect(f"file:{root}/storage.sqlite3?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def made_ahead(root):
    """The numbers of empty files that the service makes before it needs them."""
    numbers = {str(id) for (id,) in rows(root, "SELECT id FROM files WHERE state = 0 AND task IS NULL")}
    return {number for number in numbers if not (file := root / "objects" / number).exists() or not file.stat().st_size}


def unneeded(root):
    """The numbers of files that are to be removed."""
    return {str(id) for (id,) in rows(root, "SELECT id FROM files WHERE state <> 1")} - made_ahead(root)


def leaks(root):
    """What is in the root that should not be there, or the other way round; nothing may be under way."""
    found = []
    if (verdict := rows(root, "PRAGMA integrity_check")) != [("ok",)]:
        found.append(f"the database says {verdict}")
    ahead = made_ahead(root)
    if len(ahead) > 64:
        found.append(f"too many files that are made ahead: {sorted(ahead)}")
    known = {str(id): state for id, state in rows(root, "SELECT id, state FROM files") if str(id) not in ahead}
    there = {file.name for file in (root / "objects").iterdir()} - ahead
    if any(state != 1 for state in known.values()):
        found.append(f"rows of files that are not stored: {known}")
    if there != known.keys():
        found.append(f"files {sorted(there)}, but rows for {sorted(known)}")
    strangers = {
        "objects without a file of their own": """
            SELECT name FROM objects WHERE file IS NOT NULL AND file NOT IN (SELECT id FROM files)""",
        "files without an object": f"""
            SELECT id FROM files WHERE id NOT IN (SELECT file FROM objects WHERE file NOT NULL)
            AND id NOT IN ({", ".join(ahead)})""",
        "files that belong to no object that has them": """
            SELECT id FROM files WHERE state = 1 AND generation IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM objects WHERE file = files.id AND generation = files.generation)""",
        "copies that share no file": """
            SELECT * FROM copies WHERE NOT EXISTS (
                SELECT 1 FROM objects WHERE file = copies.file AND generation = copies.generation)""",
        "objects that share a file unknown to it": """
            SELECT name FROM objects WHERE file NOT NULL
            AND NOT EXISTS (SELECT 1 FROM files WHERE id = file AND generation = objects.generation)
            AND NOT EXISTS (SELECT 1 FROM copies WHERE file = objects.file AND generation = objects.generation)""",
        "bodies without an object": "SELECT generation FROM bodies WHERE generation NOT IN (SELECT generation FROM objects)",
        "objects without a body": """
            SELECT name FROM objects WHERE file IS NULL AND generation NOT IN (SELECT generation FROM bodies)""",
        "custom metadata without an object": """
            SELECT * FROM customMetadata WHERE generation NOT IN (SELECT generation FROM objects)""",
    }
    found += [f"{what}: {list}" for what, sql in strangers.items() if (list := rows(root, sql))]
    if (spool := root / "spool").exists() and (names := os.listdir(spool)):
        found.append(f"spooled: {names}")
    database = {"storage.sqlite3" + end for end in ("", "-wal", "-shm", "-reserve")}
    usual = {"folders", "lock", "objects", "socket", "spool", "tombstones"} | database
    if names := {file.name for file in root.iterdir()} - usual:
        found.append(f"strange files: {sorted(names)}")
    return "; ".join(found)


TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data, known={}):
    if data not in known:
        state = 0xFFFFFFFF
        for byte in data:
            state = state >> 8 ^ TABLE[state & 0xFF ^ byte]
        known[data] = base64.b64encode((state ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()
    return known[data]
