"""Fixtures for tests against a storage-rpc service, for pytest: `pytest --fixtures` lists them.

The tests of a process share one service. Each has a space of its own in it, so they share nothing else:

    def test_an_upload_stops_at_40_percent(storage, storage_harness, film):
        storage_harness.arm("send", at=4 << 20, hold=True)

`storage` is a session, and `storage_harness` says what goes wrong, and waits: `settled()` until nothing moves, and
`wait_for("reports/**")` for an object that the program under test stores. That program gets `storage_socket`, or, with an
SDK of Firebase or Google Cloud, `storage_gateway`. clients/harness.md and clients/gateway.md show how.

The program is that of `Storage()`: $STORAGE_RPC, else that of an installed wheel, else `storage-rpc` on the PATH.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, Tuple

import pytest

from storage_rpc import Storage, StorageError
from storage_rpc.harness import Harness
from storage_rpc.testing import PATIENCE, Service, Space, complaint, describe, held, service

FLAGS = "storage_rpc_flags"
NOTICE = "storage_rpc_notice"

Running = Tuple["pytest.Item", Space]
RUNNING: list[Running] = []
STDERR: list[TextIO] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(FLAGS, "flags of the service of the fixture storage, such as --engine", type="args", default=[])
    parser.addini(NOTICE, "seconds until a test that still runs shows the calls that are held", default="30")


def pytest_configure() -> None:
    """Keeps stderr for notices, before pytest captures it. The thread of `watch` must not suspend the capture."""
    with contextlib.suppress(OSError):
        STDERR.append(open(os.dup(2), "w", encoding="utf-8", errors="backslashreplace"))


def pytest_unconfigure() -> None:
    if STDERR:
        STDERR.pop().close()


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
    """The service that the tests of this process share. Its `command` starts another one of this kind."""
    with service(request.config.getini(FLAGS)) as running:
        yield running


@pytest.fixture
def storage_space(storage_service: Service, request: pytest.FixtureRequest) -> Iterator[Space]:
    """A session within a space of its own, and the socket of the space. Its objects are gone after the test."""
    with storage_service.space() as space:
        running = (request.node, space)
        over, patience = threading.Event(), float(request.config.getini(NOTICE))
        threading.Thread(target=watch, args=(over, patience, running), name="storage-rpc notice", daemon=True).start()
        RUNNING.append(running)
        yield space
        RUNNING.remove(running)
        over.set()


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
    """The harness of that space: `arm`, `release`, `clock`, `settled`, `journal`, `wait_for` and the others.

    A test that passes fails nevertheless where a rule of it never struck.
    """
    yield storage.harness
    if not getattr(request.node, "storage_rpc_unfinished", False):
        wrong = complaint(storage.harness)
        if wrong:
            pytest.fail(wrong, pytrace=False)


@pytest.hookimpl(hookwrapper=True)  # `wrapper` needs pluggy 1.2
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Shows the journal of a test that has failed, the calls that are held, and its rules that never struck."""
    if call.excinfo is not None and not item.config.getoption("fulltrace"):
        hide_client(call.excinfo.value)
    report = (yield).get_result()
    session = getattr(item, "funcargs", {}).get("storage")
    if call.when == "setup":
        setattr(item, "storage_rpc_unfinished", False)  # it may run again
    if call.when == "call" and call.excinfo is not None and isinstance(session, Storage):
        setattr(item, "storage_rpc_unfinished", True)  # failed or skipped: its rules need not have struck
        if report.failed:
            report.sections.append(("storage-rpc", describe(session)))


CLIENT = ("storage_rpc", "concurrent", "asyncio")
"""The packages whose frames are at the end of the traceback of a call that the service refuses."""


def hide_client(error: BaseException) -> None:
    """Ends the traceback of a failed call at the line that has called the client, as `__tracebackhide__` would."""
    last = None
    frame = error.__traceback__ if isinstance(error, StorageError) else None
    while frame:
        if str(frame.tb_frame.f_globals.get("__name__")).split(".")[0] not in CLIENT:
            last = frame
        frame = frame.tb_next
    if last:
        last.tb_next = None


def pytest_keyboard_interrupt() -> None:
    """Shows the calls that are held: a test that waits for one never ends."""
    for running in list(RUNNING):
        show_held(*running)


def watch(over: threading.Event, patience: float, running: Running) -> None:
    """Shows once what holds a test that is not over."""
    while not over.wait(patience) and not show_held(*running):
        pass


def show_held(item: pytest.Item, space: Space) -> bool:
    """Prints why a test may hang. Whether it prints something."""
    with contextlib.suppress(StorageError), Storage(socket=space.socket, timeout=PATIENCE) as session:
        lines = held(session)
        for line in [f"{item.nodeid} still runs:", *lines] if lines and STDERR else []:
            print(f"storage-rpc: {line}", file=STDERR[-1], flush=True)
        return bool(lines)
    return False
