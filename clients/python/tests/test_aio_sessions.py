from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import storage_rpc
from storage_rpc import (
    AsyncSnapshot,
    AsyncStorage,
    BucketMismatch,
    InvalidArgument,
    ObjectNotFound,
    PathError,
    RPCError,
    ServiceGone,
)

from .aio_support import AsyncTestCase, Ears, none_but, process_id, reaped, within
from .support import HARNESS, MIB, PATIENCE

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(storage_rpc.__file__).parent.parent)}


class SessionTests(AsyncTestCase):
    async def test_leaving_lets_tasks_end(self) -> None:
        success = Ears()
        async with AsyncStorage(root=self.directory / "root") as storage:
            process = await process_id(storage)
            path = self.large_file(size=32 * MIB)
            task = storage.reference("x").put_file(path, observe={"success": success})
        await within(reaped(process))
        self.assertEqual((success.statuses, (await task).size), (["success"], 32 * MIB))
        with self.assertRaisesRegex(ServiceGone, "The session is closed."):
            await storage.ping()

    async def test_one_that_was_not_opened(self) -> None:
        storage = AsyncStorage()
        for attempt in (storage.ping, storage.reference, lambda: storage.upload_task("x")):
            with self.assertRaisesRegex(ServiceGone, "has not been opened: use it in `async with`"):
                await within(attempt())
        await storage.close()

    async def test_an_exception_ends_the_session_without_waiting_for_tasks(self) -> None:
        for error in (ZeroDivisionError, asyncio.CancelledError):
            with self.subTest(error=error), self.assertRaises(error):
                async with AsyncStorage(command=HARNESS, root=self.directory / "root") as storage:
                    process = await process_id(storage)
                    task = await self.under_way(storage)
                    raise error
            await within(reaped(process))
            with self.assertRaises(ServiceGone):
                await task

    async def test_a_cancelled_close_leaves_no_process(self) -> None:
        before = asyncio.all_tasks()
        storage = await self.pretend("""
import os, signal
say(id=request["id"], result=os.getpid()); sys.stdout.flush(); signal.pause()
""")
        process = await within(storage.call("service/ping"))
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(storage.close(), 0.01)
        await within(reaped(process))
        await within(none_but(before))

    async def test_closing_that_is_cancelled_ends_the_callback_that_it_waits_for(self) -> None:
        before, called = asyncio.all_tasks(), asyncio.Event()
        storage = await self.open()
        process = await process_id(storage)

        async def callback(snapshot: AsyncSnapshot) -> None:
            called.set()
            await asyncio.Event().wait()

        storage.reference("a").put_data(b"x", observe={"success": callback})
        await within(called.wait())
        closing = asyncio.ensure_future(storage.close())
        await within(reaped(process))
        closing.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await within(closing)
        await within(none_but(before))

    async def test_a_close_that_is_cancelled_twice_leaves_no_process(self) -> None:
        storage = await self.pretend("""
import os, signal
signal.signal(signal.SIGTERM, lambda *_: print("SIGTERM", file=sys.stderr, flush=True))
say(id=request["id"], result=os.getpid()); sys.stdout.flush()
while True: signal.pause()
""")
        process = await within(storage.call("service/ping"))
        with patch.multiple("storage_rpc.aio.transport", PATIENCE=1), self.assertLogs("storage_rpc", "WARNING") as logs:
            closing = asyncio.ensure_future(storage.close())
            await asyncio.sleep(0)
            closing.cancel()
            while not logs.output:
                await asyncio.sleep(0.005)
            closing.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await within(closing)
        await within(reaped(process))

    async def test_a_service_that_serves_others_continues(self) -> None:
        for drain in (True, False):
            own: dict[str, Any] = {"command": [os.environ["STORAGE_RPC"]], "root": self.directory / str(drain)}
            one = AsyncStorage(**own)
            await one.open()
            other, service = await self.open(**own), await process_id(one)
            with patch.multiple("storage_rpc.aio.transport", GRACE=0, PATIENCE=PATIENCE):
                for _ in range(2):
                    await within(one.close(drain=drain))
            with self.assertRaisesRegex(ServiceGone, "The session is closed."):
                await one.ping()
            child: Any = one._connection._transport
            child._stderr.result()  # It has ended by itself: the pipes are closed.
            child._pipes.__del__()
            self.assertEqual(await process_id(other), service)
            await other.close()
            self.assertEqual(await within(child._process.wait()), 0)
            await within(reaped(service))

    async def test_closing_twice_and_from_a_callback(self) -> None:
        storage = await self.open()
        process = await process_id(storage)
        closed = asyncio.Event()

        async def close(snapshot: AsyncSnapshot) -> None:
            await storage.close()
            closed.set()

        storage.reference("x").put_data(b"x", observe={"success": close})
        await within(closed.wait())
        await storage.close()
        await within(reaped(process))

    async def test_a_service_that_is_killed(self) -> None:
        storage = await self.open()
        task = await self.under_way(storage)
        waits = [asyncio.create_task(task.wait()) for _ in range(4)]
        waits += [asyncio.create_task(storage.call("uploadTask/wait", task=task.id)) for _ in range(4)]
        iteration = aiter_of(task)
        await storage.ping()
        os.kill(process := await process_id(storage), signal.SIGKILL)
        for wait in waits:
            with self.assertRaisesRegex(ServiceGone, "ended by signal 9"):
                await within(wait)
        with self.assertRaises(ServiceGone):
            while True:
                await iteration.__anext__()
        await within(reaped(process))
        with self.assertRaises(ServiceGone) as caught:
            await within(storage.ping())
        self.assertEqual((caught.exception.status, caught.exception.name), (-signal.SIGKILL, "serviceGone"))

    async def test_a_service_that_cannot_start(self) -> None:
        self.file("root", b"in the way")
        with self.assertLogs("storage_rpc"), self.assertRaises(ServiceGone) as caught:
            await self.open()
        self.assertEqual(caught.exception.status, 1)
        self.assertIn(str(self.directory / "root"), caught.exception.stderr[-1])
        with self.assertRaisesRegex(ServiceGone, '"/no/such/program" cannot be started: No such file.*STORAGE_RPC'):
            await self.open(command=["/no/such/program"])
        with self.assertRaisesRegex(ServiceGone, "No service can be reached at /no/such/socket"):
            await self.open(socket="/no/such/socket")
        with self.assertRaises(ValueError):
            AsyncStorage(socket="/a", root="/b")

    async def test_a_task_outlives_its_session_on_a_socket(self) -> None:
        path = self.serve()
        storage = await self.open(socket=path)
        task = await self.under_way(storage)
        await storage.close()
        with self.assertRaisesRegex(ServiceGone, "closed"):
            await task
        self.assertTrue(await (await self.open(socket=path)).upload_task(await task.started()).cancel())

    async def test_calls_go_out_in_their_order(self) -> None:
        storage = await self.open()
        self.assertEqual(await storage.upload_tasks(), [])
        task = storage.reference("x").put_data(b"x")
        self.assertEqual([one.task for one in await storage.upload_tasks()], [task])

    async def test_what_begins_as_a_url_is_one_everywhere(self) -> None:
        storage = await self.open()
        for url in ("gs://b/a/c", "https://firebasestorage.googleapis.com/v0/b/b/o/a%2Fc?alt=media"):
            self.assertEqual(storage.reference(url).url, "gs://b/a/c")
            self.assertEqual(storage.reference(url, bucket="b").url, "gs://b/a/c")
            with self.assertRaises(BucketMismatch) as ours:
                storage.reference(url, bucket="other")
            with self.assertRaises(BucketMismatch) as theirs:
                await storage.call("storage/reference", url=url, bucket="other")
            self.assertEqual((str(ours.exception), ours.exception.data), (str(theirs.exception), theirs.exception.data))
        with self.assertRaises(PathError):
            storage.reference("ftp://b/a")

    async def test_references_are_those_of_the_service(self) -> None:
        storage = await self.open()
        for path in ("", "a", "/a//b/", "ä b/☃%2F", "a/../b", "#?[]*"):
            mine = storage.reference(path)
            theirs = await storage.call("storage/reference", path=path)
            self.assertEqual((mine.url, mine.name), (theirs["url"], theirs["name"]))
            for name, other in (("root", mine.root()), ("parent", mine.parent()), ("child", mine.child("c//d"))):
                params = {"path": "c//d"} if name == "child" else {}
                answer = await storage.call(f"reference/{name}", reference=mine.url, **params)
                self.assertEqual(other and other.url, answer and answer["url"])
        urls = [
            "gs://b",
            "gs://b/a%20b//c",
            "https://h:1/v0/b/b/o/a%2Fb%20c?alt=media",
            "http://h/v0/b/b",
            "https://storage.googleapis.com/b/a%20b//c+d?x#y",
            "https://STORAGE.googleapis.com:443/b",
            "http://b.storage.googleapis.com/a/b",
            "https://h/storage/v1/b/b/o/a%2Fb",
            "https://h/download/storage/v1/b/b/o/a?alt=media",
            "https://h/storage/v1/b/b/o?x",
            "https://h/upload/storage/v1/b/b/o?uploadType=media&name=a+b%2Bc",
            "https://h:1/b/a?X-Goog-Signature=x",
            "https://h/b/a?GoogleAccessId=a&Signature=x",
            "https://b.storage.googleapis.com/v0/b/c/o/d",
            "https://h/v0/b/b/o/a?Signature=x",
            "https://h/v0/b/b/o/docs%2F?alt=media",
            "https://h/v0/b/b/o/%2Fa%2F%2Fb%252F+.",
            "https://h/v0/b/b/o//",
            "https://storage.googleapis.com/b/docs/?X-Goog-Signature=x",
            "https://storage.googleapis.com/storage/v1/b/c/o/d?X-Goog-Signature=x",
            "http://localhost:1/b/a%20b?X-Amz-Signature=x",
            "https://h/storage/v1/b/b/o/d?AWSAccessKeyId=a&Signature=x",
        ]
        await self.agree(storage, urls)
        urls = [
            "ftp://b/a",
            "gs:///a",
            "https://h/b/o",
            "https://h/v0/b/b/o/%ff",
            "a",
            "https://storage.googleapis.com",
            "https://storage.googleapis.com/",
            "https://storage.googleapis.com//a",
            "https://h/b/a",
            "https://.storage.googleapis.com/a",
            "https://storage.googleapis.com.h/b/a",
            "https://u:SECRET@storage.googleapis.com/b/a",
            "https://u@b.storage.googleapis.com/a",
            "http://h/b/a?X-Goog-Signature=SECRET",
            "https://h/storage/v1/b/b/x/a",
            "https://h/upload/storage/v1/b/b/o?upload_id=SECRET",
            "https://h/download/v0/b/b/o/a",
            "https://storage.googleapis.com/b/%zz",
            "https://h/storage/v1/b",
            "https://h/storage/v1/bb/b/o/a",
            "https://h/upload/storage/v1/b/b/o?name=%2",
            "https://:443/v0/b/b",
        ]
        for url in urls:
            with self.assertRaises(PathError, msg=url) as refused:
                storage.reference_for_url(url)
            self.assertNotIn("SECRET", str(refused.exception))
            with self.assertRaises(PathError):
                await storage.call("storage/reference", url=url)
        self.assertEqual(len({storage.reference("a//b"), storage.reference("a/b"), storage.reference("c")}), 2)

    async def agree(self, storage: AsyncStorage, urls: list[str]) -> None:
        """The client parses the URLs as its service does."""
        for url in urls:
            answer = await storage.call("storage/reference", url=url)
            mine = storage.reference_for_url(url)
            self.assertEqual((mine.url, mine.object), (answer["url"], answer.get("object")), url)

    async def test_urls_of_s3_need_its_engine(self) -> None:
        urls = [
            "s3://b/a%20b//c",
            "https://b.s3.eu-central-1.amazonaws.com/a%20b//c+d?x#y",
            "https://my.b.S3.dualstack.us-east-1.amazonaws.com:443/a",
            "https://s3.b.s3-eu-west-1.amazonaws.com/v0/b/c/o/d",
            "https://b.s3.cn-north-1.amazonaws.com.cn/",
            "https://s3.amazonaws.com/b/a/",
            "https://s3-eu-west-1.amazonaws.com/v0/b/c",
        ]
        here = await self.open()
        for url, place in (
            (urls[0], 'an object or a bucket of S3: add engine="s3"; for this disk write gs://b/a%20b/c'),
            (urls[1], 'an object of Amazon S3: add engine="s3"; for this disk write gs://b/a b/c+d'),
        ):
            shown = url.partition("?")[0] + "…" * ("?" in url)
            for use in (here.reference, here.reference_for_url, here.reference("a").copy):
                with self.assertRaises(PathError) as refused:
                    use(url)
                self.assertEqual(str(refused.exception.message), f"{shown} names {place}")
        flags = ["--anonymous", "--bucket", "b"]
        amazon = await self.open(command=None, engine="s3", root=self.directory / "amazon", flags=flags)
        await self.agree(amazon, urls)
        with self.assertRaises(PathError):
            amazon.reference("https://s3.test:9000/b/a")
        flags.append("--virtual-host")
        own = self.directory / "own"
        other = await self.open(command=None, engine="s3", endpoint="https://S3.test:9000/", root=own, flags=flags)
        hosts = ["https://s3.test:9000", "https://B.s3.test:9000", "https://b.storage.googleapis.com"]
        await self.agree(other, urls + [f"{host}/{path}" for host in hosts for path in ("storage/v1/b/c/o/d", "b/a%2F/")])
        for url in ("http://s3.test:9000/b/a", "https://s3.test/b/a", "https://u@s3.test:9000/b/a", "https://s3.test:9000/"):
            with self.assertRaises(PathError, msg=url):
                other.reference(url)
            with self.assertRaises(PathError, msg=url):
                await other.call("storage/reference", url=url)

    async def test_the_end_of_a_loop_ends_the_service(self) -> None:
        program = "import asyncio, os; from storage_rpc import AsyncStorage\nasync def main():\n"
        program += f"    storage = await AsyncStorage(root={str(self.directory / 'root')!r}).open()\n"
        program += "    print((await storage.status()).pid, flush=True)\n"
        for end in ("os.kill(os.getpid(), 9)", "os._exit(0)", "raise SystemExit(0)", "return"):
            with self.subTest(end=end):
                code = f"{program}    {end}\nasyncio.run(main())"
                ended = await asyncio.create_subprocess_exec(
                    *[sys.executable, "-c", code],
                    env=ENVIRONMENT,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                output, _ = await within(ended.communicate())
                await within(gone(int(output)))


class FakeServiceTests(AsyncTestCase):
    """What a service rarely does, from one that does it immediately."""

    async def test_a_call_that_is_cancelled(self) -> None:
        storage = await self.pretend("""
cancel = json.loads(input())
say(id=json.loads(input())["id"], result=[request["id"], cancel["method"], cancel["params"]["id"]])
sys.stdout.flush()
sys.stdin.read()
""")
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(storage.ping(), 0.01)
        number, method, cancelled = await within(storage.call("service/ping"))
        self.assertEqual((method, cancelled), ("$/cancelRequest", number))

    async def test_an_answer_to_one_that_was_cancelled_meanwhile(self) -> None:
        storage = await self.pretend("""
say(id=request["id"], result="late"); sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message: say(id=message["id"], result="pong"); sys.stdout.flush()
""")
        request = storage._connection.submit("service/ping", {}, str)
        while request.number is None:
            await asyncio.sleep(0)
        request.answer.cancel()
        self.assertEqual(await within(storage.ping()), "pong")

    async def test_output_that_is_not_a_message(self) -> None:
        for words in ("Hello!", "[1]", '{"a":'):
            with self.subTest(words=words):
                storage = await self.pretend(f"print({words!r}, flush=True); sys.stdin.read()")
                with self.assertRaisesRegex(ServiceGone, "no message"):
                    await within(storage.ping())

    async def test_one_that_ends_with_words(self) -> None:
        storage = await self.pretend("sys.exit('the disk is full')")
        with self.assertLogs("storage_rpc"), self.assertRaises(ServiceGone) as caught:
            await within(storage.ping())
        self.assertEqual(caught.exception.message, "The service ended with status 1: the disk is full")

    async def test_one_that_says_much_on_stderr(self) -> None:
        storage = await self.pretend("""
for _ in range(40): sys.stderr.write("x" * 50000 + "\\n")
say(id=request["id"], result="pong"); sys.stdout.flush(); sys.stdin.read()
""")
        with self.assertLogs("storage_rpc", "WARNING") as logs:
            self.assertEqual(await within(storage.ping()), "pong")
            await storage.close()
        self.assertEqual(len(logs.output), 40)

    async def test_one_that_does_not_read(self) -> None:
        storage = await self.pretend("import signal; signal.pause()")
        storage._connection.core.max_message_bytes = None
        tasks = [storage.reference("x").put_data(b"x" * MIB) for _ in range(50)]
        waiting = asyncio.create_task(tasks[-1].wait())
        await asyncio.sleep(0)
        transport: Any = storage._connection._transport.input.transport
        self.assertLess(transport.get_write_buffer_size(), 2 * MIB)
        with patch("storage_rpc.aio.transport.PATIENCE", 0.01):
            await within(storage.close(drain=False))
        with self.assertRaises(ServiceGone):
            await waiting

    async def test_one_that_only_closes_its_output(self) -> None:
        storage = await self.pretend("os = __import__('os'); sys.stdout.close(); os.close(1); sys.stdin.read()")
        with patch("storage_rpc.aio.transport.GRACE", 0):
            for _ in range(2):
                with self.assertRaisesRegex(ServiceGone, "has closed its output"):
                    await within(storage.ping())
        await within(storage.close())
        child: Any = storage._connection._transport
        self.assertEqual(await within(child._process.wait()), 0)

    async def test_tokens_are_fetched(self) -> None:
        async def later(kind: str, reason: str) -> tuple[str, float]:
            return kind, 5.0

        answers: list[tuple[Any, Any]] = [
            (lambda kind, reason: f"{kind} {reason}", {"result": "idToken expired"}),
            (later, {"result": {"token": "idToken", "expiresIn": 5.0}}),
            (None, {"error": {"code": -32601, "message": 'There is no method "auth/refreshToken".'}}),
        ]
        for callback, expected in answers:
            storage = await self.pretend("""
say(id="ask", method="auth/refreshToken", params={"kind": "idToken", "reason": "expired"}); sys.stdout.flush()
say(id=request["id"], result=json.loads(input())); sys.stdout.flush(); sys.stdin.read()
""", on_refresh_token=callback)
            said = await within(storage.call("service/ping"))
            self.assertEqual(said, {"jsonrpc": "2.0", "id": "ask", **expected})

    async def test_data_that_is_too_long_for_a_message(self) -> None:
        storage = await self.open()
        storage._connection.core.max_message_bytes = 1000
        with self.assertRaisesRegex(ValueError, "put_file"):
            await storage.reference("x").put_data(b"x" * 1000)
        self.assertEqual(await storage.ping(), "pong")


class CallTests(AsyncTestCase):
    async def test_lists_urls_and_settings(self) -> None:
        storage = await self.open()
        for name in ("a", "b/c", "b/d", "e"):
            await storage.reference(name).put_data(name)
        everything = await storage.reference().list_all()
        self.assertEqual([one.full_path for one in (*everything.prefixes, *everything.items)], ["b", "a", "e"])
        page = await storage.reference().list(max_results=1)
        self.assertIsNotNone(page.page_token)
        rest = await storage.reference().list(page_token=page.page_token)
        self.assertEqual([one.full_path for one in (*rest.prefixes, *rest.items)], ["b", "e"])
        await storage.reference(object="b//").put_data("")
        [exact] = (await storage.reference("b").list_all(exact=True)).prefixes[-1:]
        self.assertEqual((exact, exact.full_path), (storage.reference(object="b//"), "b"))
        await exact.delete()
        self.assertEqual(storage.reference(object="a"), storage.reference("a"))
        url = await storage.reference("a").download_url()
        self.assertEqual(storage.reference_for_url(url), storage.reference("a"))
        self.assertNotEqual(await storage.reference("a").revoke_download_url(), url)
        await storage.reference("a").delete()
        with self.assertRaises(ObjectNotFound):
            await storage.reference("a").get_metadata()
        settings = await storage.update_settings(max_upload_retry_time=30)
        self.assertEqual((await storage.get_settings(), settings.max_upload_retry_time), (settings, 30))
        await storage.set_token("secret", expires_in=3600)
        with self.assertRaises(InvalidArgument) as caught:
            await storage.set_token("se cret")
        self.assertEqual((caught.exception.code, caught.exception.name), (-13050, "invalidArgument"))
        with self.assertRaises(RPCError) as refused:
            await storage.call("no/such")
        self.assertEqual((refused.exception.code, refused.exception.name), (-32601, "methodNotFound"))


def aiter_of(task: Any) -> Any:
    return task.__aiter__()


async def gone(process: int) -> None:
    """Returns when the process has ended, even if it has not been reaped yet."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while ") Z" not in Path(f"/proc/{process}/stat").read_text():
            await asyncio.sleep(0.005)
