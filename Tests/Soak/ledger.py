"""What all clients together were told of tasks and objects."""
import base64
import collections
import hashlib
import random

import promises

KIB = 1024
ENDS = {"success": "success", "failed": "failure", "cancelled": "failure"}


class Task:
    __slots__ = ("id", "kind", "end", "order", "resumes", "resuming", "is_forgotten", "may_be_forgotten")

    def __init__(self, id, kind):
        self.id, self.kind, self.end, self.order = id, kind, None, None
        self.resumes, self.resuming = 0, 0
        self.is_forgotten = self.may_be_forgotten = False


class Blob:
    """Some bytes that clients store; the larger ones are a file, too."""

    def __init__(self, chance, size, directory=None):
        self.bytes = chance.randbytes(size)
        self.md5 = base64.b64encode(hashlib.md5(self.bytes).digest()).decode()
        self.base64 = base64.b64encode(self.bytes).decode()
        if directory:
            self.file = directory / f"source-{size}"
            self.file.write_bytes(self.bytes)


class Ledger:
    def __init__(self, seed, place, checked):
        chance = random.Random(seed)
        self.promises, self.place, self.ended = checked, place, 0
        self.tasks, self.paused = {}, {}
        self.small = [Blob(chance, size) for size in (0, 1, 100, 1000, 5000, 20000)]
        self.large = [Blob(chance, size * KIB) for size in (65, 128, 256)]
        self.files = [Blob(chance, size * KIB, place) for size in (300, 1024, 3072)]
        self.whole = {blob.md5: blob for blob in self.small + self.large + self.files}
        self.stored = collections.defaultdict(set)  # what was ever sent to a name
        self.newest = {}  # by name: the highest generation that a client was told of, and its md5
        self.deleted = set()

    def task(self, id, kind):
        if id not in self.tasks:
            self.tasks[id] = Task(id, kind)
        return self.tasks[id]

    def note(self, snapshot, kind):
        """A snapshot that somebody was told."""
        task, state = self.task(snapshot["task"], kind), snapshot["state"]
        progress = snapshot["progress"]
        self.promises.check(
            promises.PROGRESS, 0 <= progress["completedUnitCount"] <= progress["totalUnitCount"], snapshot)
        if state in ENDS:
            if task.end is None:
                task.end, task.order, self.ended = state, self.ended, self.ended + 1
                self.paused.pop(task.id, None)
            self.promises.check(promises.FINAL, task.end == state, f"{task.id}: {task.end}, then {state}")
            if state == "success" and kind == "upload":
                self.told(snapshot["metadata"])
        return task

    def told(self, metadata):
        name, generation = metadata["fullPath"], int(metadata["generation"])
        self.promises.check(promises.VALUES, metadata["md5Hash"] in self.stored[name], f"{name} was never {metadata}")
        if generation > self.newest.get(name, (0, ""))[0]:
            self.newest[name] = generation, metadata["md5Hash"]
