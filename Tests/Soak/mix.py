"""What a client says next, by chance."""
import time

STATUSES = ("resume", "progress", "pause", "success", "failure")
GARBAGE = [b"{", b"[]", b'"word"', b'{"jsonrpc":"2.0","id":7', b"[1 2]", b"\xff\xfe"]
WEIGHTS = {
    "ping": 30, "reference": 20, "snapshot": 8, "status": 0.1, "metadata": 6, "list": 3, "get": 2, "delete": 1,
    "put": 3, "put_and_wait": 1, "put_large": 0.4, "put_file": 0.6, "write": 0.7, "observe": 4, "unobserve": 1.5,
    "unobserve_all": 0.2, "pause": 2, "resume": 3, "cancel": 0.7, "forget": 0.4, "wait": 0.8, "tasks": 0.03,
    "cancel_request": 1, "batch": 1.5, "notify": 2, "garble": 0.7, "stall": 0.05, "half_close": 0.03, "drop": 0.03}
LOOSE = ("batch", "notify", "garble", "stall", "half_close", "drop", "cancel_request")
TRANSFERS = ("put", "put_and_wait", "put_large", "put_file", "write")
ALONE = [name for name in WEIGHTS if name not in LOOSE]


class Mix:
    def __init__(self, chance, ledger, seats):
        self.chance, self.ledger, self.seats, self.is_busy = chance, ledger, seats, False
        self.names, self.weights = list(WEIGHTS), list(WEIGHTS.values())
        self.alone = [WEIGHTS[name] for name in ALONE]

    def speak(self, seat):
        for name in self.chance.choices(self.names, self.weights, k=self.chance.randint(1, 24)):
            if name not in LOOSE:
                if asked := self.ask(seat, name):
                    seat.say(seat.request(*asked))
            else:
                getattr(self, name)(seat)
            if name in ("half_close", "drop", "stall"):
                return

    def batch(self, seat):
        names = self.chance.choices(ALONE, self.alone, k=self.chance.randint(1, 8))
        number = seat.id
        asked = [each for name in names if name != "wait" and (each := self.ask(seat, name))]
        if asked:
            seat.say([seat.request(*(each + (None,))[:3], batch=("batch", number)) for each in asked])

    def notify(self, seat):
        name = self.chance.choice(["ping", "reference", "metadata", "put"])
        method, params = self.ask(seat, name)
        params.pop("observe", None)
        seat.say({"jsonrpc": "2.0", "method": method, "params": params})

    def garble(self, seat):
        seat.garble(self.chance.choice(GARBAGE))

    def cancel_request(self, seat):
        id = self.chance.choice(list(seat.pending)) if seat.pending else 0
        seat.say({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})

    def stall(self, seat):
        for name in ("put_file", "put_file", "write", "get", "get", "get"):
            seat.say(seat.request(*self.ask(seat, name)))
        seat.stalled_until = time.monotonic() + self.chance.uniform(0.05, 0.7)

    def half_close(self, seat):
        if not seat.waiting:
            seat.is_leaving = True

    def drop(self, seat):
        seat.drop()

    def ask(self, seat, name):
        """Method and params, and the task if there is one; None where there is nothing to ask."""
        one = self.chance.choice
        place = f"s{one(self.seats) if self.chance.random() < 0.2 else seat.number}"
        kept = f"{place}/{one(('keep', 'gone'))}-{self.chance.randint(0, 7)}"
        path, url = kept, f"gs://b/{kept}"
        if self.is_busy and name in TRANSFERS:
            name = "ping"
        if name == "ping" or name == "status":
            return f"service/{name}", {}
        if name == "reference":
            return "storage/reference", {"path": f"{path}/{self.chance.randint(0, 999)}"}
        if name == "metadata":
            return "reference/getMetadata", {"reference": url}
        if name == "get":
            return "reference/getData", {"reference": url, "maxSize": 1 << 18}
        if name == "list":
            return "reference/list", {"reference": f"gs://b/{place}", "maxResults": self.chance.randint(1, 20)}
        if name == "delete":
            return "reference/delete", {"reference": f"gs://b/{place}/gone-{self.chance.randint(0, 7)}"}
        if name == "tasks":
            return f"{one(('upload', 'download'))}Task/list", {}
        observe = one([True, True, False, ["success", "failure"], ["progress"], ["failure", "pause"]])
        if name in ("put", "put_and_wait", "put_large"):
            blob = one(self.ledger.large if name == "put_large" else self.ledger.small)
            self.ledger.stored[path].add(blob.md5)
            end = {"wait": True} if name == "put_and_wait" else {"observe": observe}
            return "reference/putData", {"reference": url, "data": blob.base64} | end
        if name == "put_file":
            blob, path = one(self.ledger.files), f"{place}/keep-file-{self.chance.randint(0, 2)}"
            self.ledger.stored[path].add(blob.md5)
            return "reference/putFile", {"reference": f"gs://b/{path}", "file": str(blob.file), "observe": observe}
        if name == "write":
            url = one([url, f"gs://b/{place}/keep-file-{self.chance.randint(0, 2)}"])
            file = self.ledger.place / "fetched" / f"{seat.number}-{self.chance.randint(0, 3)}"
            return "reference/writeToFile", {"reference": url, "file": str(file), "observe": observe}
        return self.control(seat, name)

    def control(self, seat, name):
        if name == "unobserve":
            if not seat.observers:
                return None
            handle = next(reversed(seat.observers))
            return f"{seat.observers[handle].task.kind}Task/removeObserver", {"handle": handle}
        recent = self.chance.choice([seat] * 7 + self.ledger.seats).recent
        task = self.chance.choice(recent) if recent else None
        if name == "resume" and self.ledger.paused and self.chance.random() < 0.8:
            task = self.chance.choice(list(self.ledger.paused.values()))
        elif name in ("pause", "cancel", "observe") and recent and self.chance.random() < 0.6:
            task = recent[-1]
        if task is None:
            return None
        params = {"task": task.id}
        if name == "observe":
            params["status"] = self.chance.choice(STATUSES)
        verb = {"unobserve_all": "removeAllObservers"}.get(name, name)
        return f"{task.kind}Task/{verb}", params, task

