"""One session with the service, for client libraries that others wrote: each script beside this one connects its own.

A script calls `run(connect)`. `connect(flags, hear, ask)` is an asynchronous context manager: it starts the service with
these flags, calls `hear(method, params)` for each notification and `ask(params)` for each request of the service, and
answers with what that returns, or with the error that it raises as a `Refusal`. It brings a `Peer`.
"""

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = os.environ["STORAGE_RPC"]
PATIENCE = 120  # seconds; a safety net, never a measure
FILM = "gs://default-bucket/films/long.mov"
SIZE = 3 << 20


class Refusal(Exception):
    """An error with a code, in either direction."""

    def __init__(self, code, message=""):
        super().__init__(f"{code} {message}")
        self.code = code


class Peer:
    """What a script implements with its library."""

    async def call(self, method, **params):
        """The result. Raises a `Refusal`."""
        raise NotImplementedError

    async def notify(self, method):
        raise NotImplementedError

    async def ended(self):
        """Returns when the service has ended the connection."""
        raise NotImplementedError


def run(connect):
    logging.disable()  # Of a refusal as well, which is meant.
    with tempfile.TemporaryDirectory(prefix="storage-rpc-") as folder:
        asyncio.run(asyncio.wait_for(session(connect, Path(folder)), PATIENCE))


async def session(connect, folder):
    film = folder / "long.mov"
    with open(film, "wb") as file:
        file.truncate(SIZE)
    events = asyncio.Queue()
    async with connect(["--root", str(folder / "root"), "--harness"], lambda *event: events.put_nowait(event), None) as peer:
        assert await peer.call("service/ping") == "pong"
        reference = await peer.call("storage/reference", path="films/long.mov")
        assert (reference["url"], reference["name"]) == (FILM, "long.mov"), reference
        await transfer(peer, events, str(film))
        await cancel(peer, events, str(film))
        await refused(-13010, peer.call("reference/getMetadata", reference="gs://default-bucket/none"))
        await refused(-32601, peer.call("no/such"))
        await good_bye(peer)
    with server() as endpoint:
        await tokens(connect, ["--root", str(folder / "root"), "--engine", "firebase", "--endpoint", endpoint])


async def hold(peer):
    """Uploads stop before their second MiB: none ends before it is paused or cancelled."""
    await peer.call("harness/arm", on="send", at=1 << 20, times=None, do={"hold": True})


async def transfer(peer, events, file):
    await hold(peer)
    task = await peer.call("reference/putFile", reference=FILM, file=file, observe=True)
    await heard(events, task, "progress")
    assert (await peer.call("uploadTask/pause", task=task["task"]))["accepted"]
    paused = await heard(events, task, "pause")
    assert paused["state"] == "paused" and paused["progress"]["completedUnitCount"] < SIZE, paused
    await peer.call("harness/disarm")
    assert (await peer.call("uploadTask/resume", task=task["task"]))["accepted"]
    await heard(events, task, "resume")
    stored = await heard(events, task, "success")
    assert stored["metadata"]["size"] == SIZE, stored


async def cancel(peer, events, file):
    await hold(peer)
    task = await peer.call("reference/putFile", reference=FILM, file=file, observe=["progress", "failure"])
    await heard(events, task, "progress")
    assert (await peer.call("uploadTask/cancel", task=task["task"]))["accepted"]
    assert (await heard(events, task, "failure"))["error"]["code"] == -13040


async def heard(events, task, status):
    """The next snapshot of that status; others before it are passed over."""
    while True:
        method, params = await events.get()
        if method == "uploadTask/event" and params["handle"] == task["observers"][status]:
            return params["snapshot"]


async def refused(code, call):
    try:
        raise AssertionError(f"{await call} instead of {code}")
    except Refusal as refusal:
        assert refusal.code == code, refusal


async def good_bye(peer):
    assert await peer.call("shutdown") is None
    await peer.notify("exit")
    await peer.ended()


async def tokens(connect, flags):
    """The server takes one token alone: it is asked for, once with success."""
    answers, asked = ["fresh", Refusal(-32000, "Nobody is signed in.")], []

    def ask(params):
        asked.append(params)
        answer = answers.pop(0)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    async with connect(flags, lambda *event: None, ask) as peer:
        await peer.call("auth/setToken", token="stale")
        assert (await peer.call("reference/getMetadata", reference="gs://default-bucket/film.mov"))["size"] == 5
        await peer.call("auth/setToken", token="staler")
        await refused(-13020, peer.call("reference/getMetadata", reference="gs://default-bucket/film.mov"))
        assert asked == 2 * [{"kind": "idToken", "reason": "refused"}], asked
        await good_bye(peer)


@contextlib.contextmanager
def server():
    """Its URL: a Firebase Storage that knows one object, and takes the token "fresh" alone."""
    program = Path(__file__).resolve().parent.parent / "vim" / "server.py"
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
