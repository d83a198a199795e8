from __future__ import annotations

import concurrent.futures
import logging
import os
import signal
import subprocess
import sys
import threading
import types
import unittest.mock
from pathlib import Path
from typing import Any

import storage_rpc
from storage_rpc import AsyncStorage, ObjectNotFound, Reference, RPCError, ServiceGone, Snapshot, Storage
from storage_rpc._program import program
from storage_rpc.errors import VERSION, is_older

from .support import MIB, PATIENCE, Heard, StorageTestCase, pid


class SessionTests(StorageTestCase):
    def test_two_sessions_on_a_socket(self) -> None:
        path = self.serve()
        with self.start(socket=path) as one, self.start(socket=path) as other:
            self.assertEqual(pid(one), pid(other))
            one.reference("x").put_data(b"shared").wait(PATIENCE)
            self.assertEqual(other.reference("x").get_metadata().size, 6)
        with self.assertRaises(ServiceGone):
            one.call("service/ping")
        self.assertEqual(self.start(socket=path).call("service/ping"), "pong")

    def test_a_session_is_traced(self) -> None:
        self.start(trace=self.directory / "a.trace").close()
        with unittest.mock.patch.dict(os.environ, {"STORAGE_RPC_TRACE": str(self.directory / "b.trace")}):
            self.start(root=self.directory / "other").close()
        for name in ("a.trace", "b.trace"):
            self.assertIn('"initialize"', (self.directory / name).read_text("utf-8"))
        wrong: list[dict[str, Any]] = [{"shared": True}, {"socket": "/x"}]
        for options in wrong:
            with self.assertRaisesRegex(ValueError, "trace"):
                Storage(trace="x", **options)

    def test_the_error_for_a_root_in_use_says_how_to_share_it(self) -> None:
        told = self.assertLogs("storage_rpc")
        with told, self.assertRaisesRegex(ServiceGone, f"in use by process {pid(self.storage)}.* shared=True, in each"):
            self.start()

    def test_the_error_for_a_flag_names_the_argument(self) -> None:
        why = r"--endpoint is for .*\. In Python, engine and endpoint are arguments of the session\.$"
        with self.assertLogs("storage_rpc"), self.assertRaisesRegex(ServiceGone, why):
            self.start(command=[program()], endpoint="http://x")

    def test_the_error_for_a_shared_service_with_other_bounds_says_only_that(self) -> None:
        command = [program(), "--max-tasks", "7"]
        with self.start(command=[program()], shared=True) as storage:
            why = "has --max-tasks [0-9]+, not 7; [^;]* ends that one$"
            with self.assertLogs("storage_rpc"), self.assertRaisesRegex(ServiceGone, why):
                self.start(command=command, shared=True)
            storage.stop()

    def test_the_error_with_gevent_says_what_works(self) -> None:
        patched = types.SimpleNamespace(is_module_patched=lambda name: name == "threading")
        with unittest.mock.patch.dict(sys.modules, {"gevent.monkey": patched}):
            with self.assertRaisesRegex(RuntimeError, r"^gevent .* Storage\(socket=PATH\)"):
                self.start()
            self.assertEqual(self.start(socket=self.serve()).ping(), "pong")

    def test_the_error_in_another_kind_of_event_loop_says_what_works(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "^No event loop of asyncio"):
            AsyncStorage(root=self.directory).open().send(None)

    def test_an_upload_outlives_its_session_on_a_socket(self) -> None:
        path = self.serve()
        self._storage = self.start(socket=path)
        task = self.running()
        self.storage.close()
        with self.assertRaisesRegex(ServiceGone, "closed"):
            task.wait(PATIENCE)
        self.assertTrue(self.start(socket=path).upload_task(task.id).cancel())

    def test_closing_lets_uploads_end(self) -> None:
        success = Heard()
        with self.storage as storage:
            process = pid(storage)
            path = self.large_file(size=32 * MIB)
            task = storage.reference("x").put_file(path, observe={"success": success})
        self.assert_reaped(process)
        self.assertEqual(success.statuses, ["success"])
        self.assertEqual(task.wait().size, 32 * MIB)
        self.assertEqual(self.start().reference("x").get_metadata().size, 32 * MIB)

    def test_an_exception_ends_the_session_without_waiting_for_uploads(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.storage as storage:
            process = pid(storage)
            task = self.running("x")
            raise ZeroDivisionError
        self.assert_reaped(process)
        with self.assertRaises(ServiceGone):
            task.wait(PATIENCE)
        with self.assertRaises(ObjectNotFound):
            self.start().reference("x").get_metadata()

    def test_a_service_that_serves_others_continues(self) -> None:
        for drain in (True, False):
            own = {"command": [os.environ["STORAGE_RPC"]], "root": self.directory / str(drain)}
            one = self.start(**own)
            other, service = self.start(**own), pid(one)
            with unittest.mock.patch.multiple("storage_rpc.transport", GRACE=0, PATIENCE=PATIENCE):
                for _ in range(2):
                    one.close(drain=drain)
            with self.assertRaisesRegex(ServiceGone, "The session is closed."):
                one.ping()
            self.assertEqual(pid(other), service)
            other.close()
            child: Any = one._connection._transport
            child._stderr.join(PATIENCE)
            self.assert_reaped(service)
            self.assertEqual(child._process.returncode, 0)

    def test_closing_twice_and_from_a_callback(self) -> None:
        process = pid(self.storage)
        closed = threading.Event()

        def close(snapshot: Snapshot) -> None:
            snapshot.task._storage.close()
            closed.set()

        self.storage.reference("x").put_data(b"x", observe={"success": close})
        self.assertTrue(closed.wait(PATIENCE))
        self.storage.close()
        self.assert_reaped(process)
        with self.assertRaisesRegex(ServiceGone, "The session is closed."):
            self.storage.reference("x")

    def test_a_service_that_is_killed(self) -> None:
        task = self.running()
        failure = Heard()
        task.observe("failure", failure)
        process = pid(self.storage)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            waits = [threads.submit(task.wait, PATIENCE) for _ in range(4)]
            waits += [threads.submit(self.storage.call, "uploadTask/wait", task=task.id) for _ in range(4)]
            os.kill(process, signal.SIGKILL)
            for wait in waits:
                with self.assertRaisesRegex(ServiceGone, "ended by signal 9"):
                    wait.result(PATIENCE)
        self.assert_reaped(process)
        with self.assertRaises(ServiceGone) as caught:
            self.storage.reference("x")
        self.assertEqual(caught.exception.status, -signal.SIGKILL)
        self.assertEqual(failure.snapshots, [])

    def test_a_service_that_cannot_start(self) -> None:
        self.file("root", b"in the way")
        with self.assertLogs("storage_rpc"), self.assertRaises(ServiceGone) as caught:
            self.start()
        self.assertEqual(caught.exception.status, 1)
        self.assertIn(str(self.directory / "root"), caught.exception.message)
        self.assertTrue(caught.exception.stderr)

    def test_a_missing_program_and_a_missing_socket(self) -> None:
        with self.assertRaisesRegex(ServiceGone, '"/no/such/program" cannot be started: No such file.*STORAGE_RPC'):
            Storage(command=["/no/such/program"])
        with self.assertRaisesRegex(ServiceGone, "No service can be reached at /no/such/socket"):
            Storage(socket="/no/such/socket")
        with self.assertRaises(ValueError):
            Storage(socket="/a", root="/b")

    def test_the_end_of_the_program_ends_the_child_and_keeps_the_upload(self) -> None:
        path = self.large_file(size=8 * MIB)
        program = f"from storage_rpc import Storage; Storage(root={str(self.directory / 'root')!r})"
        program += f".reference('x').put_file({str(path)!r})"
        environment = {**os.environ, "PYTHONPATH": str(Path(storage_rpc.__file__).parent.parent)}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=PATIENCE)
        self.assertEqual(self.start().reference("x").get_metadata().size, 8 * MIB)


class FakeServiceTests(StorageTestCase):
    """What a service rarely does, from one that does it immediately."""

    def test_an_event_right_behind_the_answer(self) -> None:
        storage = self.fake("""
place = {"bucket": "b", "fullPath": "x", "name": "x", "url": "gs://b/x"}
progress = {"completedUnitCount": 0, "totalUnitCount": 0, "fractionCompleted": 1}
task = {"task": "t", "state": "success", "progress": progress, "reference": place, "metadata": {"size": 5}}
say(id=request["id"], result={**task, "status": "resume", "observers": {"success": "1", "failure": "2"}})
say(method="uploadTask/event", params={"handle": "1", "snapshot": {**task, "status": "success"}})
sys.stdout.flush()
sys.stdin.read()
""")
        task = Reference("b", "x", "x", "gs://b/x", (), None, storage).put_data(b"12345")
        self.assertEqual(task.wait(PATIENCE).size, 5)

    def test_other_messages_of_the_service(self) -> None:
        storage = self.fake("""
say(method="news"); say(id=99, result=1); print()
say(method="uploadTask/event", params={"handle": "unheard"})
say(id=None, error={"code": -32700, "message": "no JSON"})
say(id=request["id"], result="pong")
sys.stdout.flush()
sys.stdin.read()
""")
        with self.assertLogs("storage_rpc", "ERROR"):
            self.assertEqual(storage.call("service/ping"), "pong")

    def test_output_that_is_not_a_message(self) -> None:
        for words in ("Hello!", "[1]", '{"a":'):
            with self.subTest(words=words):
                storage = self.fake(f"print({words!r}, flush=True); sys.stdin.read()")
                with self.assertRaisesRegex(ServiceGone, "no message"):
                    storage.call("service/ping")

    def test_a_program_that_is_no_service(self) -> None:
        for program, message in (
            ("echo three >&2; printf 'one\\ntwo\\n'", "What the service said is no message: one\ntwo\nthree"),
            ("printf 'no end'", "The service ended with status 0.\nno end"),
            ("printf 'one\\ntwo\\n' >&2; exit 3", "The service ended with status 3: one\ntwo"),
        ):
            with self.assertLogs("storage_rpc") as logs, self.assertRaises(ServiceGone) as caught:
                logging.getLogger("storage_rpc").info("at least this")
                Storage(command=["sh", "-c", program])
            self.assertEqual(caught.exception.message, message)
        with self.assertRaises(ServiceGone) as caught:
            Storage(command=["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' '\\33'; echo"])
        self.assertLess(len(caught.exception.message), 2000)
        self.assertNotIn("\33", caught.exception.message)

    def test_an_older_service_that_lacks_a_method(self) -> None:
        program = """
for number in (-32601, -32602):
    say(id=request["id"], error={"code": number, "message": "no"}); sys.stdout.flush()
    request = json.loads(input())
"""
        storage = self.fake(program)
        with self.assertRaises(RPCError) as caught:
            storage.reference("x")
        older = f'The service, storage-rpc 0.0.9, is older than this client, {VERSION}, and has no method "storage/reference".'
        self.assertEqual((caught.exception.code, caught.exception.message), (-32601, older))
        with self.assertRaisesRegex(RPCError, "^no$"):
            storage.reference("x")
        with self.assertRaisesRegex(RPCError, 'There is no method "service/wash"'):
            self.storage.call("service/wash")
        versions = ("0.0.9", "0.1"), ("0.9", "0.10.0"), ("0.1.0-beta", "0.1.0"), ("1.0", "0.9"), ("unknown", "1")
        self.assertEqual([is_older(*each) for each in versions], [True, True, False, False, False])

    def test_an_answer_that_does_not_come(self) -> None:
        storage = self.fake("""
cancel = json.loads(input())
say(id=json.loads(input())["id"], result=[request["id"], cancel["method"], cancel["params"]["id"]])
sys.stdout.flush()
sys.stdin.read()
""")
        with self.assertRaisesRegex(TimeoutError, "service/ping was not answered within 0.01 seconds"):
            storage.call("service/ping", timeout=0.01)
        number, method, cancelled = storage.call("service/ping")
        self.assertEqual((method, cancelled), ("$/cancelRequest", number))

    def test_one_that_ends_with_words(self) -> None:
        storage = self.fake("sys.exit('the disk is full')")
        with self.assertLogs("storage_rpc"), self.assertRaises(ServiceGone) as caught:
            storage.call("service/ping")
        self.assertEqual(caught.exception.status, 1)
        self.assertEqual(caught.exception.stderr, ("the disk is full",))
        self.assertEqual(caught.exception.message, "The service ended with status 1: the disk is full")

    def test_one_that_says_much_on_stderr(self) -> None:
        storage = self.fake("""
for _ in range(40): sys.stderr.write("x" * 50000 + "\\n")
say(id=request["id"], result="pong"); sys.stdout.flush(); sys.stdin.read()
""")
        with self.assertLogs("storage_rpc", "WARNING") as logs:
            self.assertEqual(storage.ping(timeout=PATIENCE), "pong")
            storage.close()
        self.assertEqual(len(logs.output), 40)

    def test_one_that_refuses(self) -> None:
        storage = self.fake("""
say(id=request["id"], error={"code": -1, "message": "no"})
sys.stdout.flush()
sys.stdin.read()
""")
        with self.assertRaises(RPCError) as caught:
            storage.call("service/ping")
        self.assertEqual((caught.exception.code, caught.exception.name), (-1, "rpcError"))
