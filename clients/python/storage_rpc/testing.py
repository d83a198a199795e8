"""A service with a harness for the tests of a process, and a test case of `unittest` with a space of its own in it.

>>> class FilmTests(StorageTestCase):
...     def test_the_third_chunk_is_refused(self) -> None:
...         self.harness.arm("send", nth=3, fail={"error": "unauthorized"})
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ._program import program
from .errors import ServiceGone
from .harness import Harness
from .storage import Storage

PATIENCE = 60.0  # seconds that a call may take; a safety net
ANSWER = 5.0  # seconds for what is asked to describe a failure
SHOWN = 20  # entries of the journal in a description


class Space(NamedTuple):
    """A session in a space of its own, the socket of that space, and its name."""

    session: Storage
    socket: Path
    name: str


class Service:
    """The service of the tests of a process. It starts again where a test has ended it."""

    def __init__(self, directory: str, flags: Sequence[str] = ()) -> None:
        self.flags = list(flags)
        self._directory = directory
        self._starts = 0
        self._owner: Storage | None = None

    @property
    def command(self) -> list[str]:
        """What starts a service of this kind, such as one that a test ends: `Storage(command=…, root=…)`."""
        return [program(), "serve", "--harness", *self.flags]

    @contextlib.contextmanager
    def space(self) -> Iterator[Space]:
        """A new space; what a test has stored there is gone afterwards."""
        session = self._connect()
        try:
            space = session.harness.space()
            yield Space(session, Path(space["socket"]), space["space"])
            if self.flags:
                session.harness.reset()  # a remote engine keeps its objects elsewhere
        finally:
            session.close(drain=False)

    def close(self) -> None:
        if self._owner is not None:
            self._owner.close(drain=False)
        self._owner = None

    def _connect(self) -> Storage:
        if self._owner is not None:
            try:
                self._owner.call("service/ping")
            except ServiceGone:
                self.close()
        if self._owner is None:
            self._starts += 1
            self._socket = Path(self._directory) / f"socket-{self._starts}"
            listening = ["--log-level", "error", "--stdio", "--socket", str(self._socket)]
            self._owner = Storage(command=[*self.command, *listening], timeout=PATIENCE)
            self._owner.call("service/ping")
        return Storage(socket=self._socket, timeout=PATIENCE)


@contextlib.contextmanager
def service(flags: Sequence[str] = ()) -> Iterator[Service]:
    """A service that starts with its first space, and ends at the end of the block."""
    # The path of a Unix socket has at most 107 bytes.
    place = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > 64 else None
    with tempfile.TemporaryDirectory(prefix="storage-rpc-", dir=place) as directory:
        running = Service(directory, flags)
        try:
            yield running
        finally:
            running.close()


def complaint(harness: Harness) -> str | None:
    """What is wrong with the rules of a test that has passed."""
    try:
        unfired = harness.disarm()["unfired"]
    except ServiceGone:  # the test has ended it
        return None
    return f"Rules that never struck: {', '.join(unfired)}" if unfired else None


def held(storage: Storage) -> list[str]:
    """The calls that rules hold, and how to let them go. Of a space in which something moves, none."""
    try:
        holds = storage.call("harness/settled", timeout=ANSWER)["held"]
    except TimeoutError:
        return []
    lines = [f"{one['rule']} holds {one['on']} {one['reference']} at {one.get('at', 0)}" for one in holds]
    return [*lines, "harness.release() lets them go."] if lines else []


def describe(storage: Storage) -> str:
    """The last entries of the journal, the calls that are held, and the rules that never struck."""
    try:
        entries = storage.call("harness/journal", timeout=ANSWER)["entries"][-SHOWN:]
        holds, unfired = held(storage), storage.call("harness/disarm", timeout=ANSWER)["unfired"]
    except Exception as error:  # the test may have ended the service
        return f"The service does not answer: {error}"
    lines = [" ".join(str(entry.get(key, "")) for key in ("number", "on", "reference", "outcome")) for entry in entries]
    return "\n".join([*lines, *holds, *(f"rule {rule} never struck" for rule in unfired)])


class StorageTestCase(unittest.TestCase):
    """Each test has a session in a space of its own. One that passes fails nevertheless where a rule never struck.

    The tests of a class share a service, which `flags` are given to.
    """

    flags: Sequence[str] = ()
    service: Service
    """Its `command` starts another service of this kind."""
    storage: Storage
    harness: Harness
    socket: Path
    """The address for the program under test."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        running = service(cls.flags)
        cls.service = running.__enter__()
        cls.addClassCleanup(running.__exit__, None, None, None)

    def setUp(self) -> None:
        super().setUp()
        space = self.service.space()
        self.storage, self.socket, _ = space.__enter__()
        self.addCleanup(space.__exit__, None, None, None)
        self.harness = self.storage.harness
        self.addCleanup(self._check_rules)

    def _check_rules(self) -> None:
        wrong = complaint(self.harness)
        if wrong:
            self.fail(wrong)
