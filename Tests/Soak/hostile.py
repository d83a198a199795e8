"""Clients that attack the service while the others talk. Each kind repeats one attack until it is told to stop."""
import contextlib
import json
import re
import resource
import socket
import threading

import promises
from service import PATIENCE

DESCRIPTORS = 512  # of the service, so that a crowd can reach the limit
MOST_TASKS = 500  # that have not ended; the polite clients stay far below
MIB = 1 << 20


def limit_descriptors():
    """Runs in the child before it becomes the service."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def request(method, id=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def put(name, id=1, **params):
    return request("reference/putData", id, reference=f"gs://hostile/{name}", text="x", **params)


class Attacker:
    def __init__(self, service, check):
        self.path, self.check = str(service.socket), check

    @contextlib.contextmanager
    def connection(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(self.path)
            with client.makefile("rb") as lines:
                yield client, lines

    def refused(self, *messages, code, naming):
        """Each message is answered with this error, on a connection that then still works."""
        with self.connection() as (client, lines):
            for message in messages:
                client.sendall(message + b"\n")
                answer = json.loads(lines.readline())
                error = answer[0]["error"] if isinstance(answer, list) else answer.get("error", {})
                refused = error.get("code") in code and naming in error.get("message", "")
                self.check(promises.HOSTILE, refused, f"{message[:60]} got {str(answer)[:200]}")
            client.sendall(request("service/ping") + b"\n")
            self.check(promises.HOSTILE, b"pong" in lines.readline(), "no answer after an attack")


class Metadata(Attacker):
    """Properties without bounds."""

    message = put("metadata", metadata={"cacheControl": "x" * (20 * MIB)})

    def attack(self):
        self.refused(self.message, code=[-13050], naming="cacheControl")


class Values(Attacker):
    """Messages that cost many times their size once they are parsed."""

    messages = [b"[" + b",".join([value] * (8 * MIB // len(value))) + b"]" for value in (b'{"":0}', b"[0]", b"0")]

    def attack(self):
        for message in self.messages:
            self.refused(message, code=[-32600, -32700], naming="--max-")


class Batches(Attacker):
    """A batch whose answers are as large as they can be. Hangs up in the middle of them."""

    message = b"[" + b",".join([request("rpc.discover", id) for id in range(4096)]) + b"]\n"

    def attack(self):
        with self.connection() as (client, _):
            client.sendall(self.message)
            self.check(promises.HOSTILE, client.recv(MIB), "no answer to a batch")


class Large(Attacker):
    """Large messages without pause."""

    message = request("service/ping", pad="x" * (32 * MIB))

    def attack(self):
        self.refused(self.message, self.message, code=[-32602], naming="pad")


class Tasks(Attacker):
    """More tasks at once than there may be."""

    count = 2 * MOST_TASKS
    message = b"".join(request("reference/putFile", id, reference="gs://hostile/f", file="/missing") + b"\n" for id in range(count))

    def attack(self):
        with self.connection() as (client, lines):
            threading.Thread(target=client.sendall, args=[self.message]).start()
            answers = [json.loads(lines.readline()) for _ in range(self.count)]
            made = [answer["result"]["task"] for answer in answers if "result" in answer]
            refused = all("--max-tasks" in answer["error"]["message"] for answer in answers if "error" in answer)
            self.check(promises.HOSTILE, made and refused, f"{len(made)} tasks made")
            for method in "wait", "forget":
                for task in made:
                    client.sendall(request(f"uploadTask/{method}", task=task) + b"\n")
                    lines.readline()


class Crowd(Attacker):
    """More connections to the download URLs than there are descriptors."""

    def __init__(self, service, check):
        super().__init__(service, check)
        self.service = service
        service.call("reference/putData", reference="gs://hostile/page", text="x", wait=True)
        url = service.call("reference/downloadURL", reference="gs://hostile/page")["url"]
        self.address = re.match(r"http://([\d.]+):(\d+)/", url).groups()

    def attack(self):
        with contextlib.ExitStack() as stack:
            for _ in range(2 * DESCRIPTORS):
                client = stack.enter_context(socket.socket())
                client.settimeout(PATIENCE)
                client.connect((self.address[0], int(self.address[1])))
            with self.connection() as (client, lines):
                client.sendall(put("beside-the-crowd", wait=True) + b"\n")
                answer = json.loads(lines.readline())
                self.check(promises.HOSTILE, "result" in answer, f"an upload beside a crowd: {answer}")


KINDS = [Metadata, Values, Batches, Large, Tasks, Crowd]


@contextlib.contextmanager
def attacks(service, check):
    """One attacker of each kind, on threads of their own, while the body runs. Each attacks at least once."""
    done = threading.Event()

    def run(attacker):
        try:
            attacker.attack()
            while not done.is_set():
                attacker.attack()
        except Exception as error:
            check(promises.HOSTILE, False, f"{type(attacker).__name__}: {error!r}")
    threads = [threading.Thread(target=run, args=[kind(service, check)]) for kind in KINDS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
