"""Fixtures for tests against a storage-rpc service, for pytest. clients/harness.md shows how to use them.

Each test has a service of its own, which starts in milliseconds: tests share nothing, and run in parallel.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage_rpc import Storage
from storage_rpc.harness import Harness

PATIENCE = 60.0  # seconds that a call may take; a safety net
SHOWN = 20  # entries of the journal in the report of a failure


@pytest.fixture
def storage_socket() -> Iterator[Path]:
    """Where the service of this test listens: the address for the program under test."""
    with tempfile.TemporaryDirectory(prefix="storage-rpc-") as directory:
        yield Path(directory) / "socket"


@pytest.fixture
def storage(storage_socket: Path) -> Iterator[Storage]:
    """A session with a service of its own, which has a harness. Its objects are gone after the test."""
    program = os.environ.get("STORAGE_RPC", "storage-rpc")
    command = [program, "serve", "--harness", "--stdio", "--socket", str(storage_socket)]
    session = Storage(command=command, timeout=PATIENCE)
    try:
        yield session
    finally:
        session.close(drain=False)


@pytest.fixture
def storage_harness(storage: Storage, request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The harness of that service. A test that passes fails nevertheless where a rule of it never struck."""
    yield storage.harness
    if not getattr(request.node, "storage_rpc_failed", False):
        unfired = storage.harness.disarm()["unfired"]
        if unfired:
            pytest.fail(f"Rules that never struck: {', '.join(unfired)}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Shows the journal of a test that has failed, and its rules that never struck."""
    report = yield
    session = getattr(item, "funcargs", {}).get("storage")
    if report.failed and call.when == "call" and isinstance(session, Storage):
        setattr(item, "storage_rpc_failed", True)
        report.sections.append(("storage-rpc", describe(session)))
    return report


def describe(storage: Storage) -> str:
    try:
        entries, unfired = storage.harness.journal()[-SHOWN:], storage.harness.disarm()["unfired"]
    except Exception as error:  # the test may have ended the service
        return f"The service does not answer: {error}"
    lines = [" ".join(str(entry.get(key, "")) for key in ("number", "on", "reference", "outcome")) for entry in entries]
    return "\n".join([*lines, *(f"rule {rule} never struck" for rule in unfired)])
