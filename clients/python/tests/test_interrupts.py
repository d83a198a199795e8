"""What becomes of the tasks of a program that ends early, and of one that is run again. The engine is another service, whose
harness holds each upload after its first MiB."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
import unittest.mock
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import storage_rpc
from storage_rpc import AsyncStorage, AsyncUploadTask, Storage, UploadTask, _session
from storage_rpc._face import happened
from storage_rpc._program import command_line
from storage_rpc._tasks import moves
from storage_rpc.aio import _session as aio_session
from storage_rpc.connection import result_of

from .aio_support import within
from .support import MIB, PATIENCE, StorageTestCase

SIZE = 16 * MIB
CLIENT = Path(storage_rpc.__file__).parent.parent
EXAMPLE = [sys.executable, str(CLIENT / "example.py")]
WITHOUT_WITH = """
from storage_rpc import Storage
Storage().reference("x").put_file("film.mov").wait()
"""


class InterruptTestCase(StorageTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.endpoint = "http://" + self.storage.harness.space(gateway=True)["gateway"]
        self.hold_at(MIB)
        self.film = self.large_file("film.mov", SIZE)

    @property
    def options(self) -> dict[str, Any]:
        program = [os.environ["STORAGE_RPC"], "serve"]
        return {"command": program, "root": self.directory / "own", "engine": "gcs", "endpoint": self.endpoint}

    def wait_until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def wait_for_hold(self) -> None:
        self.wait_until(lambda: self.storage.harness.settled()["held"])

    def begin(self, storage: Storage) -> UploadTask:
        """An upload that is held."""
        task = storage.reference("x").put_file(self.film, key="film")
        self.wait_for_hold()
        return task

    def state(self, storage: Storage, task: UploadTask | AsyncUploadTask) -> str:
        return storage.upload_task(str(task.id)).snapshot().state

    def start_program(self, *command: str) -> subprocess.Popen[str]:
        """A program in the directory of the test, whose services have the engine of the test."""
        service = self.directory / "service"
        words = [os.environ["STORAGE_RPC"], "--engine", "gcs", "--endpoint", self.endpoint, "--root", str(self.directory / "own")]
        service.write_text(f'#!/bin/sh\nexec "{words[0]}" {" ".join(words[1:])} "$@"\n', encoding="utf-8")
        service.chmod(0o755)
        environment = {**os.environ, "STORAGE_RPC": str(service), "PYTHONPATH": str(CLIENT)}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=self.directory, env=environment, stdout=pipe, stderr=pipe, text=True)
        self.addCleanup(process.communicate, timeout=PATIENCE)
        self.addCleanup(process.kill)
        return process


class ProgramTests(InterruptTestCase):
    def test_the_example_resumes_after_an_interrupt_and_a_kill(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                self.hold_at(MIB)
                command = [*EXAMPLE, "film.mov", f"films/{number}.mov"]
                first = self.start_program(*command)
                self.wait_for_hold()
                first.send_signal(number)
                said = first.communicate(timeout=PATIENCE)[1]
                self.assertEqual(first.returncode, 130 if number == signal.SIGINT else -number)
                if number == signal.SIGINT:
                    self.assertTrue(said.endswith("paused; the same command resumes the upload\n"), said)
                self.storage.harness.disarm()
                again = self.start_program(*command)
                out, said = again.communicate(timeout=PATIENCE)
                self.assertEqual(again.returncode, 0, said)
                self.assertTrue(said.startswith("resuming film.mov\n"), said)
                self.assertIn(f"films/{number}.mov: {SIZE} bytes", out)

    def test_a_program_without_with_ends_when_it_is_interrupted(self) -> None:
        program = self.start_program(sys.executable, "-c", WITHOUT_WITH)
        self.wait_for_hold()
        program.send_signal(signal.SIGINT)
        self.assertIn("KeyboardInterrupt", program.communicate(timeout=PATIENCE)[1])
        with self.start(**self.options) as storage:
            self.assertEqual([task.state for task in storage.upload_tasks()], ["paused"])


class WaitTests(unittest.TestCase):
    def test_an_interrupt_just_before_a_wait_ends_it(self) -> None:
        waits: list[Callable[[], object]] = [
            lambda: result_of(concurrent.futures.Future[None]()),
            lambda: result_of(concurrent.futures.Future[None](), PATIENCE),
            lambda: happened(threading.Event(), None),
        ]
        for wait in waits:
            # It marks the interrupt as the signal does, and wakes no thread that sleeps.
            thread = threading.Thread(target=_thread.interrupt_main)
            with self.assertRaises(KeyboardInterrupt):
                thread.start()
                wait()
            thread.join()

    def test_a_wait_lasts_until_its_result_or_its_timeout(self) -> None:
        future: concurrent.futures.Future[int] = concurrent.futures.Future()
        for timeout in (0, 0.01, 0.6):
            with self.assertRaises(concurrent.futures.TimeoutError):
                result_of(future, timeout)
            self.assertFalse(happened(threading.Event(), timeout))
        future.set_exception(TimeoutError("its own"))
        with self.assertRaisesRegex(TimeoutError, "its own"):
            result_of(future)


class SessionTests(InterruptTestCase):
    def serve_engine(self) -> Storage:
        """A session with a service that other sessions reach at `self.socket`."""
        self.socket = self.directory / "socket"
        return self.start(**self.options, flags=["--log-level", "error", "--stdio", "--socket", str(self.socket)])

    def test_an_engine_and_its_endpoint(self) -> None:
        with self.start(**self.options, flags=["--uploads-at-once", "2"]) as storage:
            self.assertEqual(storage.status().engine, "gcs")
            self.assertEqual(storage.get_settings().uploads_at_once, 2)
            storage.reference("x").put_data(b"x").wait(PATIENCE)
        self.assertEqual(self.storage.reference("x").get_data(1), b"x")

    def test_a_private_session_pauses_its_tasks_also_in_the_service_of_another_client(self) -> None:
        own = {"command": [os.environ["STORAGE_RPC"]], "root": self.directory / "shared"}
        large = self.large_file(size=8 << 30)
        other, one = self.start(**own), self.start(**own)
        self.assertEqual(one.status().pid, other.status().pid)
        task = one.reference("x").put_file(large)
        one.close(drain=False)
        self.wait_until(lambda: self.state(other, task) == "paused")

    def test_the_tasks_of_a_session_pause_with_it_and_a_key_resumes_them(self) -> None:
        other = self.serve_engine()
        one = self.start(socket=self.socket, pauses_tasks=True)
        task = self.begin(one)
        self.assertFalse(task.continued)
        one.close(drain=False)
        self.wait_until(lambda: self.state(other, task) == "paused")
        self.storage.harness.disarm()
        again = self.start(socket=self.socket).reference("x").put_file(self.film, key="film")
        self.assertEqual((again.id, again.continued), (task.id, True))
        self.assertEqual(again.wait(PATIENCE).size, SIZE)

    def test_they_continue_otherwise(self) -> None:
        other = self.serve_engine()
        one = self.start(socket=self.socket)
        task = self.begin(one)
        one.close(drain=False)
        self.wait_until(lambda: other.status().connections == 1)
        self.assertEqual(self.state(other, task), "running")

    def test_closing_waits_for_the_running_tasks(self) -> None:
        other = self.serve_engine()
        one = self.start(socket=self.socket, pauses_tasks=True)
        task = self.begin(one)
        with unittest.mock.patch.object(_session, "moves", self.releasing()):
            one.close()
        self.assertEqual(self.state(other, task), "success")

    def test_an_interrupt_of_that_wait_pauses_them(self) -> None:
        other = self.serve_engine()
        one = self.start(socket=self.socket, pauses_tasks=True)
        task = self.begin(one)
        with unittest.mock.patch.object(_session, "moves", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                one.close()
        self.wait_until(lambda: self.state(other, task) == "paused")

    def test_closing_waits_for_no_paused_task(self) -> None:
        self.serve_engine()
        one = self.start(socket=self.socket, pauses_tasks=True)
        self.assertTrue(self.begin(one).pause())
        one.close()

    def releasing(self) -> Callable[[Any], bool]:
        """What `moves` is, after it has let the uploads go on."""

        def look(snapshot: Any, original: Callable[[Any], bool] = moves) -> bool:
            self.storage.harness.disarm()
            return original(snapshot)

        return look

    def run_async(self, body: Callable[[AsyncUploadTask], Awaitable[object]]) -> None:
        """Runs a coroutine with an upload that is held, in a session whose tasks pause with it."""

        async def run() -> None:
            async with AsyncStorage(socket=self.socket, pauses_tasks=True) as storage:
                self.task = storage.reference("x").put_file(self.film, key="film")
                await within(self.task.started())
                await asyncio.get_running_loop().run_in_executor(None, self.wait_for_hold)
                await body(self.task)

        asyncio.run(run())

    def test_with_asyncio_a_cancellation_pauses_them(self) -> None:
        other = self.serve_engine()

        async def cancelled(task: AsyncUploadTask) -> None:
            self.assertFalse(task.continued)
            waiting = asyncio.ensure_future(task.wait())
            asyncio.get_running_loop().call_soon(waiting.cancel)
            await waiting

        with self.assertRaises(asyncio.CancelledError):
            self.run_async(cancelled)
        self.wait_until(lambda: self.state(other, self.task) == "paused")

    def test_with_asyncio_closing_waits_for_the_running_tasks(self) -> None:
        other = self.serve_engine()
        with unittest.mock.patch.object(aio_session, "moves", self.releasing()):
            self.run_async(lambda task: asyncio.sleep(0))
        self.assertEqual(self.state(other, self.task), "success")


class ArgumentTests(unittest.TestCase):
    def test_the_command_line(self) -> None:
        given: dict[str, Any] = {"engine": "s3", "endpoint": "https://s3.example.com", "flags": ["--region", "eu"]}
        words = command_line(["program"], "/r", False, **given)
        self.assertEqual(words, ["program", "--root", "/r", "--engine", "s3", "--endpoint", given["endpoint"], "--region", "eu"])

    def test_what_is_refused(self) -> None:
        wrong: Any = "gs"
        for kind in (Storage, AsyncStorage):
            with self.assertRaisesRegex(ValueError, "There is no engine 'gs'; there are embedded, firebase, gcs, s3."):
                kind(engine=wrong)
            with self.assertRaisesRegex(TypeError, "flags must be a list of words"):
                kind(flags="--region eu")
            with self.assertRaisesRegex(ValueError, "A service on a socket runs already, so engine, flags would"):
                kind(socket="/s", engine="s3", flags=["--path-style"])
