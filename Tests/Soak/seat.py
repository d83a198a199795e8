"""One of the clients: what it has asked and was promised, and whether what it hears keeps to that."""
import base64
import collections
import hashlib
import json

import promises
from values import Observer, Request
from wire import Wire


class Seat:
    def __init__(self, number, path, ledger):
        self.number, self.path, self.ledger, self.check = number, path, ledger, ledger.promises.check
        self.id, self.said, self.visits, self.stalled_until = 0, 0, 0, 0
        self.recent = collections.deque(maxlen=30)
        self.visit()

    def visit(self):
        self.visits += 1
        self.wire = Wire(self.path, has_headers=(self.number + self.visits) % 2 == 0)
        self.pending, self.observers, self.of_task = {}, {}, collections.defaultdict(list)
        self.ends, self.still, self.purged = set(), {}, {}
        self.waiting = self.broken = self.nulls = 0
        self.is_leaving = False

    def fileno(self):
        return self.wire.fileno()

    # Saying

    def request(self, method, params, task=None, batch=None):
        """A message with an id, which the caller is to say."""
        self.id += 1
        self.pending[self.id] = Request(method, params, task, batch)
        self.waiting += method.endswith("/wait")
        if method.endswith("/resume"):
            task.resumes, task.resuming = task.resumes + 1, task.resuming + 1
            self.ledger.paused.pop(task.id, None)
        elif method.endswith("/removeAllObservers"):
            self.purged[task.id] = self.id
            for observer in self.of_task[task.id]:
                observer.is_leaving = True
        elif method.endswith("/removeObserver"):
            self.observers[params["handle"]].is_leaving = True
        elif method.endswith("/forget"):
            task.may_be_forgotten = True
        elif method == "reference/delete":
            self.ledger.deleted.add(params["reference"])
        return {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}

    def say(self, message):
        self.said += len(message) if isinstance(message, list) else 1
        self.wire.say(json.dumps(message).encode())

    def garble(self, text):
        self.said, self.broken = self.said + 1, self.broken + 1
        self.wire.say(text)

    def drop(self):
        self.wire.socket.close()
        self.visit()

    # Hearing

    def hear(self):
        try:
            messages = self.wire.hear()
        except ConnectionError as error:
            self.check(promises.CONNECTIONS, False, f"seat {self.number}: {error}")
            return self.drop()
        if messages is None:
            return self.closed()
        for message in messages:
            if isinstance(message, list):
                batches = {self.answer(each) for each in message}
                asked = [each for each in self.pending.values() if each.batch in batches]
                self.check(promises.ANSWERS, len(batches) == 1 and not asked, f"half a batch: {message}")
            elif "method" in message:
                self.event(message["params"], message["method"].split("Task/")[0])
            else:
                self.answer(message)

    def closed(self):
        self.check(promises.CONNECTIONS, self.is_leaving, f"seat {self.number} was hung up on")
        missing = [(id, each.method, each.params) for id, each in self.pending.items()]
        self.check(promises.ANSWERS, not missing, f"seat {self.number}: no answers to {missing[:3]}")
        self.check(promises.ANSWERS, self.nulls == self.broken, f"{self.nulls} null ids for {self.broken} broken")
        self.drop()

    def answer(self, message):
        """Which batch it belongs to."""
        if message.get("id") is None:
            self.nulls += 1
            return None
        request = self.pending.pop(message["id"], None)
        self.check(promises.ANSWERS, request, f"not asked for: {message}")
        if request is None:
            return None
        receiver, verb = request.method.split("/")
        self.waiting -= verb == "wait"
        if verb == "resume":
            request.task.resuming -= 1
        if "result" not in message:
            code = message["error"]["code"]
            makes_task = verb in ("putData", "putFile", "writeToFile")  # of which there may be no more, beside hostile clients
            known = code in (-13010, -13040, -13050, -32800) or makes_task and "--max-tasks" in message["error"]["message"]
            self.check(promises.VALUES, known, f"{request.params}: {message}")
        elif receiver.endswith("Task") or verb in ("putData", "putFile", "writeToFile"):
            kind = "download" if receiver == "downloadTask" or verb == "writeToFile" else "upload"
            self.told(message["id"], request, verb, message["result"], kind)
        else:
            self.look(verb, request.params, message["result"])
        return request.batch

    def told(self, id, request, verb, result, kind):
        if verb in ("putData", "putFile", "writeToFile", "snapshot", "wait"):
            task = self.ledger.note(result, kind)
            if verb in ("putData", "putFile", "writeToFile"):
                self.recent.append(task)
            for status, handle in result.get("observers", {}).items():
                self.add(handle, Observer(task, status, id))
        elif verb == "observe":
            self.add(result["handle"], Observer(request.task, request.params["status"], id))
        elif verb == "removeObserver":
            self.observers[request.params["handle"]].is_removed |= result["removed"]
        elif verb in ("pause", "resume", "cancel", "forget"):
            task = self.ledger.note(result["snapshot"], kind)
            if verb == "pause" and result["accepted"]:
                self.ledger.paused[task.id] = task
                if request.resumes is not None:
                    self.still[task.id] = request.resumes
            task.is_forgotten |= verb == "forget" and result["accepted"]

    def add(self, handle, observer):
        self.check(promises.ORDER, handle not in self.observers, f"{handle} is a handle twice")
        observer.is_leaving = self.purged.get(observer.task.id, 0) > observer.request
        self.observers[handle] = observer
        self.of_task[observer.task.id].append(observer)

    def look(self, verb, params, result):
        if verb == "ping":
            self.check(promises.VALUES, result == "pong", result)
        elif verb == "reference":
            self.check(promises.VALUES, result["fullPath"] == params["path"], f"{params}: {result}")
        elif verb == "getMetadata":
            self.ledger.told(result)
        elif verb == "getData":
            md5 = base64.b64encode(hashlib.md5(base64.b64decode(result["data"])).digest()).decode()
            self.check(promises.VALUES, md5 in self.ledger.stored[params["reference"][7:]], f"{params}: other bytes")
