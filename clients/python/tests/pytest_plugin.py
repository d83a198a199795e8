"""Tests of the plugin for pytest. They are those of pytest: `clients/test-harness` runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE = 60  # seconds; a safety net
OLD = os.environ.get("OLD_PYTEST")
"""A Python with a pytest and a pluggy of long ago."""

HELD = """
    storage_harness.arm("whole", rule="gate", hold=True)
    storage.reference("a").put_data("x").wait({})
"""
SAID = ["gate holds whole gs://default-bucket/a at 0", "harness.release() lets them go."]


def command(folder: Path, body: str, *flags: str, python: str = sys.executable) -> list[str]:
    test = folder / "test_it.py"
    test.write_text(f"TRIES = []\n\n\ndef test_it(storage, storage_harness):\n{body}", encoding="utf-8")
    return [python, "-m", "pytest", "-p", "no:cacheprovider", *flags, str(test)]


def run(folder: Path, body: str, *flags: str, **options: str) -> str:
    done = subprocess.run(
        command(folder, body, *flags, **options), cwd=folder, timeout=PATIENCE, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def test_the_program_may_be_on_the_path_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "storage-rpc").symlink_to(os.path.realpath(os.environ["STORAGE_RPC"]))
    monkeypatch.delenv("STORAGE_RPC")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "1 passed" in run(tmp_path, "    assert storage.ping() == 'pong'\n")


def test_a_failure_shows_the_calls_that_are_held(tmp_path: Path) -> None:
    assert "\n".join(SAID) in run(tmp_path, HELD.format(0.1))


def test_a_rule_that_never_struck_is_a_failure_after_a_rerun_too(tmp_path: Path) -> None:
    pytest.importorskip("pytest_rerunfailures")
    body = "    storage_harness.arm('send', rule='never', hold=True)\n    TRIES.append(1)\n    assert len(TRIES) > 1\n"
    shown = run(tmp_path, body, "--reruns", "1")
    assert "Rules that never struck: never" in shown and "1 passed, 1 error, 1 rerun" in shown


@pytest.mark.parametrize(
    "call",
    [
        'storage.reference("none").get_metadata()',
        'storage.reference("a").put_file("/no/such").wait()',
        'storage_harness.arm("nothing")',
    ],
)
def test_a_failure_shows_the_line_of_the_test_and_not_the_client(tmp_path: Path, call: str) -> None:
    shown = run(tmp_path, f"    {call}\n")
    assert f">       {call}" in shown and "test_it.py:5: " in shown and "storage_rpc/" not in shown, shown
    assert "storage_rpc/" in run(tmp_path, f"    {call}\n", "--full-trace")


def test_a_test_that_hangs_prints_what_holds_it(tmp_path: Path) -> None:
    given = command(tmp_path, HELD.format(""), "-o", "storage_rpc_notice=0.1")
    pipe = subprocess.PIPE
    with subprocess.Popen(given, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr
        told = ["test_it.py::test_it still runs:", *SAID]
        assert [process.stderr.readline() for _ in told] == [f"storage-rpc: {line}\n" for line in told]
        process.send_signal(signal.SIGINT)
        shown, again = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in shown, (process.returncode, again)
    assert again.splitlines()[: len(told)] == [f"storage-rpc: {line}" for line in told]


@pytest.mark.skipif(OLD is None, reason="OLD_PYTEST names no Python")
def test_an_old_pytest_will_do(tmp_path: Path) -> None:
    assert OLD
    assert "1 passed" in run(tmp_path, "    assert storage.ping() == 'pong'\n", python=OLD)
    assert "\n".join(SAID) in run(tmp_path, HELD.format(0.1), python=OLD)
