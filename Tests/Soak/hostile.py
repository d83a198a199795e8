"""Clients that attack the service while the others talk. Each kind repeats one attack until it is told to stop."""
import contextlib
import json
import resource
import select
import socket
import threading
import urllib.parse
import urllib.request

import promises
from service import TIMEOUT

DESCRIPTORS = 256  # of the service, so that a crowd can reach the limit
CONNECTIONS = 24  # no more than there are descriptors for
TASKS = 500  # that have not ended
FLAGS = ["--http", "127.0.0.1:0", "--max-tasks", str(TASKS), "--max-connections", str(CONNECTIONS)]
REST = 0.5  # seconds between two attacks of one kind
MIB = 1 << 20


def limit_descriptors():
    """Runs in the child before it becomes the service."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def request(method, id=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


class Attacker:
    def __init__(self, service, url, check):
        self.path, self.url, self.check = str(service.socket), url, check

    def keep(self, holds, flaw):
        self.check(promises.HOSTILE, holds, f"{type(self).__name__}: {flaw}")

    @contextlib.contextmanager
    def connection(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT)
            client.connect(self.path)
            with client.makefile("rb") as lines:
                yield client, lines

    def refused(self, *messages, codes, naming):
        """Each message is answered with such an error, on a connection that then still works."""
        with self.connection() as (client, lines):
            for message in messages:
                client.sendall(message + b"\n")
                error = json.loads(lines.readline()).get("error", {})
                self.keep(error.get("code") in codes and naming in error.get("message", ""), f"{message[:60]}: {error}")
            client.sendall(request("service/ping") + b"\n")
            self.keep(b"pong" in lines.readline(), "no answer after an attack")


class Metadata(Attacker):
    """Properties without bounds."""

    message = request("reference/putData", reference="gs://h/m", text="", metadata={"cacheControl": "x" * (20 * MIB)})

    def attack(self):
        self.refused(self.message, codes=[-13050, -32602], naming="cacheControl")


class Values(Attacker):
    """Messages that would cost many times their size."""

    messages = [b"[" + b",".join([value] * (8 * MIB // len(value))) + b"]" for value in (b'{"":0}', b"[0]", b"0")]

    def attack(self):
        self.refused(*self.messages, codes=[-32600], naming="--max-message-values")


class Large(Attacker):
    """Large messages without pause."""

    message = request("service/ping", pad="x" * (32 * MIB))

    def attack(self):
        self.refused(self.message, self.message, codes=[-32602], naming="pad")


class Batches(Attacker):
    """A batch whose answers are as large as they can be. Hangs up in the middle of them."""

    message = b"[" + b",".join(request("rpc.discover", id) for id in range(4096)) + b"]\n"

    def attack(self):
        with self.connection() as (client, _):
            client.sendall(self.message)
            self.keep(client.recv(MIB), "no answer to a batch")


class Deaf(Attacker):
    """Asks for as much as it can and reads none of it. Hangs up when nothing more is taken from it."""

    message = b"".join(request("rpc.discover", id) + b"\n" for id in range(1000))

    def attack(self):
        with self.connection() as (client, _):
            client.setblocking(False)
            for _ in range(100):
                if not select.select([], [client], [], REST)[1]:
                    return
                client.send(self.message)
            self.keep(False, "all that it asks for is taken, though it reads nothing")


class Tasks(Attacker):
    """More tasks at once than there may be."""

    count = 2 * TASKS
    message = b"".join(
        request("reference/putFile", id, reference="gs://h/f", file="/missing") + b"\n" for id in range(count))

    def attack(self):
        with self.connection() as (client, lines):
            sender = threading.Thread(target=client.sendall, args=[self.message])
            sender.start()
            answers = [json.loads(lines.readline()) for _ in range(self.count)]
            sender.join()
            made = [answer["result"]["task"] for answer in answers if "result" in answer]
            named = all("--max-tasks" in answer["error"]["message"] for answer in answers if "error" in answer)
            self.keep(made and named, f"{len(made)} tasks made, and all others refused by name: {named}")
            for task in made:
                for method in "wait", "forget":
                    client.sendall(request(f"uploadTask/{method}", task=task) + b"\n")
                    lines.readline()


class Secrets(Attacker):
    """Gives a download URL where something else belongs, to read its token in what comes back."""

    def attack(self):
        token = urllib.parse.parse_qs(urllib.parse.urlsplit(self.url).query)["token"][0]
        with self.connection() as (client, lines):
            for url in self.url, self.url.replace("token=", "%74oken="), urllib.parse.quote(self.url, safe=""):
                for message in (
                    request("uploadTask/snapshot", task=url), request(url), request("reference/delete", reference=url, x=url),
                    request("reference/putFile", reference="gs://h/f", file=url, wait=True)):
                    client.sendall(message + b"\n")
                    answer = lines.readline()
                    self.keep(b"jsonrpc" in answer and token.encode() not in answer, f"{message} got {answer[:500]}")


class Crowd(Attacker):
    """More peers of the download URLs than there are descriptors: silent ones, and such as never end their headers."""

    def attack(self):
        place = urllib.parse.urlsplit(self.url)
        with contextlib.ExitStack() as stack:
            for number in range(DESCRIPTORS + 50):
                peer = stack.enter_context(socket.socket())
                peer.setblocking(False)
                peer.connect_ex((place.hostname, place.port))
                if number % 2 and select.select([], [peer], [], REST)[1]:
                    with contextlib.suppress(OSError):
                        peer.send(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (16 << 10))
            with self.connection() as (client, lines):
                client.sendall(request("reference/putData", reference="gs://h/b", text="x" * 100000, wait=True) + b"\n")
                answer = json.loads(lines.readline())
                task = answer.get("result", {})
                self.keep(task.get("state") == "success", f"an upload beside a crowd: {answer}")
                client.sendall(request("uploadTask/forget", task=task.get("task")) + b"\n")
                lines.readline()
            with urllib.request.urlopen(self.url, timeout=TIMEOUT) as page:
                self.keep(page.read() == b"page", "another page")


KINDS = [Metadata, Values, Large, Batches, Deaf, Tasks, Secrets, Crowd]


def page(service):
    """The URL of an object that the attackers share."""
    task = service.call("reference/putData", reference="gs://h/page", text="page", wait=True)["task"]
    service.call("uploadTask/forget", task=task)
    return service.call("reference/downloadURL", reference="gs://h/page")["url"]


@contextlib.contextmanager
def attacks(service, url, check):
    """One attacker of each kind, on threads of their own, while the body runs. Each attacks at least once."""
    done = threading.Event()

    def run(attacker):
        try:
            attacker.attack()
            while not done.wait(REST):
                attacker.attack()
        except Exception as error:
            attacker.keep(False, repr(error))
    threads = [threading.Thread(target=run, args=[kind(service, url, check)]) for kind in KINDS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
