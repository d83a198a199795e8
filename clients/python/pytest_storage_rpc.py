"""Fixtures for tests against a storage-rpc service, for pytest. clients/harness.md shows how to use them.

The tests of a process share one service. Each has a space of its own in it, so they share nothing else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from storage_rpc import ServiceGone, Storage
from storage_rpc.harness import Harness

PATIENCE = 60.0  # seconds that a call may take; a safety net
SHOWN = 20  # entries of the journal in the report of a failure
FLAGS = "storage_rpc_flags"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(FLAGS, "flags of the service of the fixture storage, such as --engine", type="args", default=[])


class Service:
    """The service of the tests of a process. It starts again where a test has ended it."""

    def __init__(self, directory: str, flags: list[str]) -> None:
        self.flags = flags
        self._directory = directory
        self._starts = 0
        self._owner: Storage | None = None

    def connect(self) -> Storage:
        if self._owner is not None:
            try:
                self._owner.call("service/ping")
            except ServiceGone:
                self.close()
        if self._owner is None:
            self._starts += 1
            self._socket = Path(self._directory) / f"socket-{self._starts}"
            program = os.environ.get("STORAGE_RPC", "storage-rpc")
            command = [program, "serve", "--harness", "--stdio", "--socket", str(self._socket), *self.flags]
            self._owner = Storage(command=command, timeout=PATIENCE)
            self._owner.call("service/ping")
        return Storage(socket=self._socket, timeout=PATIENCE)

    def close(self) -> None:
        if self._owner is not None:
            self._owner.close(drain=False)
        self._owner = None


class Space(NamedTuple):
    """The space of a test."""

    session: Storage
    socket: Path
    name: str


@dataclass(frozen=True)
class Gateway:
    """Where the SDKs of Firebase Storage and Google Cloud Storage find the space of a test."""

    host: str
    """`127.0.0.1:PORT`, as `useEmulator` and `connectStorageEmulator` take it."""

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://{self.host}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead SDKs here."""
        return {"STORAGE_EMULATOR_HOST": self.url, "FIREBASE_STORAGE_EMULATOR_HOST": self.host}


@pytest.fixture(scope="session")
def storage_service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """The service that the tests of this process share."""
    # The path of a Unix socket has at most 107 bytes.
    place = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > 64 else None
    with tempfile.TemporaryDirectory(prefix="storage-rpc-", dir=place) as directory:
        service = Service(directory, request.config.getini(FLAGS))
        try:
            yield service
        finally:
            service.close()


@pytest.fixture
def storage_space(storage_service: Service) -> Iterator[Space]:
    """A session within a space of its own, and the socket of the space. Its objects are gone after the test."""
    session = storage_service.connect()
    try:
        space = session.harness.space()
        yield Space(session, Path(space["socket"]), space["space"])
        if storage_service.flags:
            session.harness.reset()  # a remote engine keeps its objects elsewhere
    finally:
        session.close(drain=False)


@pytest.fixture
def storage(storage_space: Space) -> Storage:
    """A session with a space of its own, which has a harness."""
    return storage_space.session


@pytest.fixture
def storage_socket(storage_space: Space) -> Path:
    """The socket of that space: the address for the program under test."""
    return storage_space.socket


@pytest.fixture
def storage_gateway(storage_space: Space, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """The gateway of that space, for a program under test that uses an SDK of Firebase or Google Cloud.

    Until the end of the test `STORAGE_EMULATOR_HOST` and `FIREBASE_STORAGE_EMULATOR_HOST` lead there: make the client
    of the SDK within the test. They are variables of the process: tests that run in threads of one process at the same
    time give a process of their own `environment` instead. Needs the engine embedded.
    """
    # A session that has begun tasks, as that of the test may, enters no space any more.
    with Storage(socket=storage_space.socket, timeout=PATIENCE) as session:
        gateway = Gateway(session.harness.space(storage_space.name, gateway=True)["gateway"])
    for name, value in gateway.environment.items():
        monkeypatch.setenv(name, value)
    return gateway


@pytest.fixture
def storage_harness(storage: Storage, request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The harness of that space. A test that passes fails nevertheless where a rule of it never struck."""
    yield storage.harness
    if not getattr(request.node, "storage_rpc_unfinished", False):
        try:
            unfired = storage.harness.disarm()["unfired"]
        except ServiceGone:  # the test has ended it
            return
        if unfired:
            pytest.fail(f"Rules that never struck: {', '.join(unfired)}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Shows the journal of a test that has failed, and its rules that never struck."""
    report = yield
    session = getattr(item, "funcargs", {}).get("storage")
    if call.when == "call" and call.excinfo is not None and isinstance(session, Storage):
        setattr(item, "storage_rpc_unfinished", True)  # failed or skipped: its rules need not have struck
        if report.failed:
            report.sections.append(("storage-rpc", describe(session)))
    return report


def describe(storage: Storage) -> str:
    try:
        entries, unfired = storage.harness.journal()[-SHOWN:], storage.harness.disarm()["unfired"]
    except Exception as error:  # the test may have ended the service
        return f"The service does not answer: {error}"
    lines = [" ".join(str(entry.get(key, "")) for key in ("number", "on", "reference", "outcome")) for entry in entries]
    return "\n".join([*lines, *(f"rule {rule} never struck" for rule in unfired)])
