"""What clients know: tasks, observers, requests under way, bytes to store."""
import base64
import hashlib

TERMINAL = ("success", "failure")


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


class Request:
    __slots__ = ("method", "params", "task", "batch", "resumes")

    def __init__(self, method, params, task, batch):
        self.method, self.params, self.task, self.batch = method, params, task, batch
        self.resumes = task and (task.resumes if not task.resuming else None)


class Observer:
    __slots__ = ("task", "status", "request", "floor", "count", "is_leaving", "is_removed")

    def __init__(self, task, status, request):
        self.task, self.status, self.request = task, status, request
        self.floor, self.count, self.is_leaving, self.is_removed = 0, 0, False, False
