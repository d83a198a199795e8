"""Tests of the fixture storage_gateway. They are those of pytest: `clients/test-gateway` runs them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from pytest_storage_rpc import Gateway
from storage_rpc import Storage
from storage_rpc.harness import Harness

VARIABLES = ("STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST")
BEFORE = {name: os.environ.get(name) for name in VARIABLES}
UPLOAD = "{}/upload/storage/v1/b/box/o?uploadType=media&name={}"


def put(url: str, name: str, data: bytes = b"x") -> int:
    with urllib.request.urlopen(urllib.request.Request(UPLOAD.format(url, name), data)) as answer:
        return int(answer.status)


@pytest.mark.parametrize("number", range(4))
def test_each_test_has_objects_of_its_own(storage: Storage, storage_gateway: Gateway, number: int) -> None:
    assert storage.reference("gs://box/").list_all().items == ()
    assert put(storage_gateway.url, "note") == 200
    assert storage.reference("gs://box/note").get_data(max_size=1) == b"x"


def test_the_variables_lead_a_program_there(storage: Storage, storage_gateway: Gateway) -> None:
    assert {name: os.environ[name] for name in VARIABLES} == storage_gateway.environment
    assert storage_gateway.environment == dict(zip(VARIABLES, (storage_gateway.url, storage_gateway.host)))
    program = "import os, urllib.request as http; http.urlopen(os.environ['STORAGE_EMULATOR_HOST'] + '/box/note')"
    put(storage_gateway.url, "note")
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def stored(storage: Storage) -> None:
    storage.reference("gs://box/note").put_data("Hello").wait()


def test_a_session_that_has_begun_tasks_gets_a_gateway(stored: None, storage_gateway: Gateway) -> None:
    with urllib.request.urlopen(f"{storage_gateway.url}/box/note") as answer:
        assert answer.read() == b"Hello"


@pytest.fixture
def restored(storage_gateway: Gateway) -> Iterator[None]:
    """Its end comes before that of the gateway: `after` looks later."""
    yield
    assert os.environ["STORAGE_EMULATOR_HOST"] == storage_gateway.url


@pytest.fixture
def after() -> Iterator[None]:
    yield
    assert {name: os.environ.get(name) for name in VARIABLES} == BEFORE


def test_the_variables_are_restored_after_a_test(after: None, monkeypatch: pytest.MonkeyPatch, restored: None) -> None:
    pass


def test_a_rule_is_about_requests_of_sdks(storage_harness: Harness, storage_gateway: Gateway) -> None:
    storage_harness.arm("whole", fail={"httpStatus": 503})
    with pytest.raises(urllib.error.HTTPError, match="503"):
        put(storage_gateway.url, "note")
    assert put(storage_gateway.url, "note") == 200


def test_a_hold_stops_a_request(storage: Storage, storage_harness: Harness, storage_gateway: Gateway) -> None:
    storage_harness.arm("whole", hold=True)
    request = threading.Thread(target=put, args=(storage_gateway.url, "note"))
    request.start()
    while not storage_harness.settled()["held"]:
        pass
    assert not storage.reference("gs://box/note").exists()
    storage_harness.release()
    request.join()
    assert storage.reference("gs://box/note").exists()


def test_access_is_that_of_the_space(storage_harness: Harness, storage_gateway: Gateway) -> None:
    storage_harness.authorize(default="deny")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{storage_gateway.url}/v0/b/box/o/note?alt=media")
