"""What all clients together were told of tasks and objects."""
import collections
import random

import promises
from values import Blob, Task

KIB = 1024
ENDS = {"success": "success", "failed": "failure", "cancelled": "failure"}


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
