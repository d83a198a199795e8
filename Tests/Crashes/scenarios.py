"""What clients do while the machine fails."""
import base64
import dataclasses
import hashlib
import json
import random
import sqlite3
import time

from service import Failure, url
from worlds import CHOSEN, Object, World, new_object

SMALL, SMALL2 = (random.Random(seed).randbytes(5000) for seed in (1, 2))
LARGE, LARGE2 = (random.Random(seed).randbytes(600_000) for seed in (3, 4))  # one step, or three chunks
HUGE = random.Random(5).randbytes(1_100_000)  # arrives in a file with a name
CHUNK = 256 << 10
PIECE = 100_000  # of a stream
TREE = {"a": SMALL, "b/c": SMALL2, "b/d/e": SMALL, "b/large": LARGE, "f g": b""}  # what is in the directory for uploads
FAILED = "00000000-0000-4000-8000-000000000000"  # the id of a task
FIRST = {"contentType": "text/first", "cacheControl": "no-store", "customMetadata": {"a": "1", "b": "2"}}
SECOND = {"contentType": "text/second", "customMetadata": {"c": "3"}}


class Step:
    """One call, and the world that it makes of another one."""
    is_one = True  # all that it does happens in one moment
    faults = None  # count the calls of the service

    def __init__(self, path):
        self.path = path

    def call(self, service, work):
        return service.call(f"reference/{self.method}", reference=url(self.path), **self.params(work))

    def params(self, work):
        return {}

    def after(self, world):
        return world

    def learn(self, world, answer):
        """What of the world after it only the answer tells."""
        return world


class Put(Step):
    method = "putData"

    def __init__(self, path, data, metadata=FIRST):
        super().__init__(path)
        self.data, self.metadata = data, metadata

    def params(self, work):
        return {"data": base64.b64encode(self.data).decode(), "metadata": self.metadata, "wait": True}

    def after(self, world):
        return world.with_object(self.path, new_object(self.path, self.data, self.metadata))


class PutFile(Put):
    method = "putFile"

    def params(self, work):
        return {"file": str(work / "in" / str(len(self.data))), "metadata": self.metadata, "wait": True}


class Update(Step):
    method = "updateMetadata"

    def __init__(self, path, change, result):
        super().__init__(path)
        self.change, self.result = change, result

    def params(self, work):
        return {"metadata": self.change}

    def after(self, world):
        return touched(world, self.path, self.result, world.objects[self.path].token)


class Delete(Step):
    method = "delete"

    def after(self, world):
        return world.with_object(self.path, None)


class Copy(Step):
    method = "copy"

    def __init__(self, path, to, metadata=None):
        super().__init__(path)
        self.to, self.metadata = to, metadata

    def params(self, work):
        return {"to": url(self.to), "wait": True} | ({"metadata": self.metadata} if self.metadata else {})

    def after(self, world):
        source = world.objects[self.path]
        if self.metadata:
            return world.with_object(self.to, new_object(self.to, source.data, self.metadata))
        kept = {name: value for name, value in source.metadata.items() if name not in CHOSEN}
        token = source.token if self.method == "move" else None  # A copy has one of its own.
        copy = Object(source.data, kept | new_object(self.to, source.data, {}).metadata, token)
        return world.with_object(self.to, copy)


class Move(Copy):
    method = "move"

    def after(self, world):
        return super().after(world).with_object(self.path, None)


class Get(Step):
    method = "writeToFile"

    def __init__(self, path, file):
        super().__init__(path)
        self.file = file

    def params(self, work):
        return {"file": str(work / "out" / self.file), "wait": True}

    def after(self, world):
        return World(world.objects, world.files | {self.file: world.objects[self.path].data})


class Retry(Get):
    """Runs the download of `leave_failure` again, or another one where that has failed for good meanwhile."""

    def call(self, service, work):
        answer = service.call("downloadTask/retry", task=FAILED)
        if answer["accepted"]:
            service.call("downloadTask/wait", task=FAILED)
        elif answer["snapshot"]["state"] == "failed":
            if answer["snapshot"]["error"]["code"] == -13030:
                raise AssertionError("a failed download is not retried")
            super().call(service, work)


class Link(Step):
    method = "downloadURL"

    def learn(self, world, answer):
        return touched_token(world, self.path, answer)


class Revoke(Link):
    method = "revokeDownloadURL"

    def after(self, world):
        return touched(world, self.path, {}, None)


class List(Step):
    method = "listAll"


class Folder(Step):
    """A task over a folder. Clients look at it all the time, so that it is known what they were told."""
    is_one = False

    def __init__(self, path, **options):
        super().__init__(path)
        self.options, self.told = options, []

    def call(self, service, work):
        self.told = []
        task = super().call(service, work)["task"]
        while True:
            snapshot = service.call("folderTask/snapshot", task=task)
            files = snapshot["files"]
            self.told.append((self.faults.count if self.faults else 0, files["completed"] + files["deleted"]))
            if snapshot["state"] not in ("queued", "running"):
                return service.call("folderTask/wait", task=task)
            time.sleep(0.0005)

    def told_before(self, count):
        """How many files were told to be done when the service had made so many calls."""
        return max((done for when, done in self.told if when <= count), default=0)

    def params(self, work):
        return self.options

    def rest(self, name):
        """The path below the folder; None for what is elsewhere."""
        return name.removeprefix(self.path + "/") if name.startswith(self.path + "/") else None


class PutDirectory(Folder):
    method = "putDirectory"

    def params(self, work):
        return self.options | {"directory": str(work / "in" / "tree"), "metadata": FIRST}

    def after(self, world):
        objects = dict(world.objects)
        if self.options.get("delete"):
            objects = {name: each for name, each in objects.items() if self.rest(name) is None or self.rest(name) in TREE}
        # What is unchanged has the same metadata; it is transferred again where it cannot be compared.
        new = (new_object(f"{self.path}/{rest}", data, FIRST) for rest, data in TREE.items())
        return World(objects | {each.metadata["fullPath"]: each for each in new}, world.files)


class WriteToDirectory(Folder):
    method = "writeToDirectory"

    def params(self, work):
        return self.options | {"directory": str(work / "out" / "tree")}

    def after(self, world):
        kept = world.files
        if self.options.get("delete"):
            kept = {name: data for name, data in kept.items() if not name.startswith("tree/")}
        below = {f"tree/{self.rest(name)}": each.data for name, each in world.objects.items() if self.rest(name)}
        return World(world.objects, kept | below)


class DeleteAll(Folder):
    method = "deleteAll"

    def after(self, world):
        return World({name: each for name, each in world.objects.items() if self.rest(name) is None}, world.files)


class Stream(Put):
    """Sends the bytes piece by piece, and waits for each answer."""

    goes_on = False  # after a failure that may be repeated, instead of giving up the task

    def call(self, service, work):
        self.told = 0  # the bytes before it were told to survive
        task = service.call("reference/putStream", reference=url(self.path), metadata=self.metadata)["task"]
        try:
            return self.send(service, task, 0)
        except Failure as failure:
            if self.goes_on and failure.data.get("retryable"):
                return self.send(service, task, self.told)
            service.call("uploadTask/cancel", task=task)
            raise

    def send(self, service, task, start):
        for offset in range(start, len(self.data), PIECE) or [start]:
            piece = base64.b64encode(self.data[offset:offset + PIECE]).decode()
            self.told = service.call("uploadTask/append", task=task, data=piece, offset=offset)["durable"]
        md5 = base64.b64encode(hashlib.md5(self.data).digest()).decode()
        return service.call("uploadTask/finish", task=task, md5Hash=md5)

    def go_on(self, service, task, loses_writes):
        """Sends the rest after a restart. Only without power are bytes lost that were told to survive."""
        start = service.call("uploadTask/snapshot", task=task)["offset"] if loses_writes else self.told
        self.send(service, task, start)


class FillLog(Put):
    """Puts until the log has so many pages; SQLite copies them back when there are a thousand."""

    def __init__(self, data, pages):
        super().__init__("a", data)
        self.pages = pages

    def call(self, service, work):
        log = work / "root" / "storage.sqlite3-wal"
        while not log.exists() or log.stat().st_size < self.pages * 4120:
            super().call(service, work)


def touched(world, path, change, token):
    old = world.objects[path]
    metadata = {name: value for name, value in (old.metadata | change).items() if name != "updated" and value}
    metadata["metageneration"] = str(int(metadata["metageneration"]) + 1)
    return world.with_object(path, Object(old.data, metadata, token))


def touched_token(world, path, answer):
    old = world.objects[path]
    return world.with_object(path, Object(old.data, old.metadata, answer["url"].split("token=")[1]))


@dataclasses.dataclass
class Scenario:
    name: str
    steps: list
    before: list = dataclasses.field(default_factory=list)
    prepare: callable = None  # does with a root what no client can
    files: dict = dataclasses.field(default_factory=dict)  # what is where downloads go
    root: str = "root"  # below a directory that exists
    at_start: bool = False  # the start of the service is what is looked at
    chunk: "int | None" = CHUNK  # None: the service chooses
    needs_inodes: bool = False  # files that are put back after the power failed have other ones

    @property
    def is_long(self):
        """A step is over many objects or files."""
        return any(not step.is_one for step in self.steps)

    def forget(self):
        """What clients were told in another run."""
        for step in self.steps:
            step.faults, step.told = None, 0 if step.is_one else []


KEPT = [Put("keep/small", SMALL), Put("keep/large", LARGE)]
FOLDER = [*KEPT, Put("t/a", SMALL2, SECOND), Put("t/b/d/e", SMALL), Put("t/o/large", LARGE2), Put("t2", SMALL)]


def leave_leftovers(root):
    """What an upload, a removal and a sweep leave behind that were cut off."""
    database = sqlite3.connect(root / "storage.sqlite3")
    for state, has_file in ((0, True), (0, False), (2, True), (2, False), (0, True)):
        id = database.execute("INSERT INTO files (state) VALUES (?)", (state,)).lastrowid
        if has_file:
            (root / "objects" / str(id)).write_bytes(LARGE2[:1000])
    database.commit()
    database.close()


def leave_failure(root):
    """A download of keep/large that has failed, but may be retried."""
    database = sqlite3.connect(root / "storage.sqlite3")
    file = root.parent.parent / "work" / "out" / "new"  # of each run
    request = {"file": str(file), "patience": 600, "hasOwnTokens": False, "isSpooled": False}
    error = {"code": -13030, "message": "The disk was busy.", "retryable": True, "attempts": []}
    database.execute(
        "INSERT INTO endedTasks"
        " (sequence, id, place, kind, number, began, bucket, name, completed, request, ended, outcome, error)"
        " VALUES (0, ?, (SELECT place FROM endedTasks), 'download', 1, 0, 'bucket', CAST('keep/large' AS BLOB), 0, ?, 1, 'failed', ?)",
        (FAILED, json.dumps(request), json.dumps(error)))
    database.commit()
    database.close()


ALL = [
    Scenario("first start", [Put("a", SMALL)], at_start=True),
    Scenario("first start in new directories", [Put("a", SMALL)], root="one/two/root", at_start=True),
    Scenario("start with leftovers", [List("")], KEPT, leave_leftovers, at_start=True),
    Scenario("upload small", [Put("a", SMALL)], KEPT),
    Scenario("upload large", [Put("a", LARGE)], KEPT),
    Scenario("upload at once", [PutFile("a", LARGE)], KEPT, chunk=None),
    Scenario("upload small file", [PutFile("a", SMALL)], KEPT),
    Scenario("upload large file", [PutFile("a", LARGE)], KEPT),
    Scenario("small over large", [Put("a", SMALL2, SECOND)], [*KEPT, Put("a", LARGE)]),
    Scenario("large over small", [PutFile("a", LARGE, SECOND)], [*KEPT, Put("a", SMALL)]),
    Scenario("large over large", [Put("a", LARGE2, SECOND)], [*KEPT, Put("a", LARGE)], chunk=None),
    Scenario(
        "metadata",
        [
            Update("a", {"contentType": "text/new", "cacheControl": None}, {"contentType": "text/new", "cacheControl": None}),
            Update("a", {"customMetadata": {"a": None, "d": "4"}}, {"customMetadata": {"b": "2", "d": "4"}}),
            Update("a", {"customMetadata": None}, {"customMetadata": None}),
        ], [*KEPT, Put("a", SMALL)]),
    Scenario("delete small", [Delete("a"), List("")], [*KEPT, Put("a", SMALL)]),
    Scenario("delete large", [Delete("a"), List("")], [*KEPT, Put("a", LARGE)]),
    Scenario("copy small", [Copy("a", "b"), List("")], [*KEPT, Put("a", SMALL)]),
    Scenario("copy large", [Copy("a", "b", SECOND), Delete("a"), Delete("b"), List("")], [*KEPT, Put("a", LARGE)]),
    Scenario("copy over a copy", [Copy("a", "b"), Put("a", SMALL2)], [*KEPT, Put("a", LARGE), Copy("keep/large", "b")]),
    Scenario("move small", [Move("a", "b"), List("")], [*KEPT, Put("a", SMALL), Put("b", LARGE)]),
    Scenario("move large", [Move("a", "b"), Move("b", "c"), List("")], [*KEPT, Put("a", LARGE), Put("b", SMALL)]),
    Scenario("download small", [Get("keep/small", "new")], KEPT),
    Scenario("download large", [Get("keep/large", "new")], KEPT),
    Scenario("download huge", [Get("a", "new")], [*KEPT, Put("a", HUGE)], needs_inodes=True),
    Scenario("download over a file", [Get("keep/large", "old")], KEPT, files={"old": SMALL2}),
    Scenario("retried download", [Retry("keep/large", "new")], KEPT, leave_failure),
    Scenario("download URLs", [Link("a"), Revoke("a"), Link("a")], [*KEPT, Put("a", LARGE)]),
    Scenario("one after the other", [Put("b", SMALL), PutFile("a", LARGE), List(""), Put("a", SMALL2, SECOND), Delete("a")], KEPT),
    Scenario("put directory", [PutDirectory("t")], KEPT),
    Scenario("mirror directory", [PutDirectory("t", changed=True, delete=True)], FOLDER),
    Scenario("put directory then replace", [PutDirectory("t"), Put("t/a", SMALL2, SECOND)], KEPT),
    Scenario("write to directory", [WriteToDirectory("t")], FOLDER),
    Scenario(
        "mirror to directory", [WriteToDirectory("t", changed=True, delete=True)], FOLDER,
        files={"tree/a": SMALL, "tree/b/d/e": SMALL, "tree/b/gone": SMALL2, "tree/o/gone": LARGE2, "beside": SMALL2}),
    Scenario("delete all", [DeleteAll("t"), List("")], FOLDER),
    Scenario("stream small", [Stream("a", SMALL)], KEPT),
    Scenario("stream large", [Stream("a", LARGE2, SECOND)], [*KEPT, Put("a", SMALL)]),
    Scenario(
        "checkpoint", [Put("a", SMALL2, SECOND), Put("b", SMALL), Put("c", SMALL)],
        [*KEPT, FillLog(LARGE[:64_000], 950), FillLog(SMALL, 985)]),
]
