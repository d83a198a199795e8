from __future__ import annotations

import urllib.error
import urllib.request

from storage_rpc import BucketNotFound, Cancelled, ObjectNotFound, QuotaExceeded, RPCError, StorageError, Unauthorized

from .aio_support import AsyncTestCase
from .support import MIB, StorageTestCase


class HarnessTests(StorageTestCase):
    def test_an_upload_stops_at_a_byte_and_is_let_go(self) -> None:
        storage, harness = self.storage, self.storage.harness
        rule = harness.arm("send", at=2 * MIB, hold=True)
        task = storage.reference("film.mov").put_file(self.large_file(size=5 * MIB))
        self.assertEqual([(hold["rule"], hold["at"]) for hold in harness.settled()["held"]], [(rule, 2 * MIB)])
        self.assertEqual(task.snapshot().progress.fraction_completed, 0.4)
        self.assertEqual(harness.release(rule=rule), 1)
        task.wait()
        self.assertEqual(harness.disarm(), {"fired": {rule: 1}, "unfired": []})

    def test_misspelled_options_are_refused(self) -> None:
        harness = self.storage.harness
        with self.assertRaisesRegex(TypeError, "fial"):
            harness.arm("send", fial={"error": "unauthorized"})  # type: ignore[call-overload]
        with self.assertRaisesRegex(RPCError, "sned"):
            harness.arm("sned", hold=True)  # type: ignore[call-overload]
        with self.assertRaisesRegex(StorageError, "unauthorised"):
            harness.arm("send", fail={"error": "unauthorised"})  # type: ignore[call-overload]
        with self.assertRaisesRegex(RPCError, "do"):
            harness.arm("send")  # type: ignore[call-overload]
        with self.assertRaisesRegex(RPCError, "who"):
            harness.authorize([{"prefix": "gs://b/", "who": "nobody"}])  # type: ignore[typeddict-item]

    def test_an_expectation_that_does_not_hold_is_an_error(self) -> None:
        storage = self.storage
        storage.reference("a").put_data("x").wait()
        self.assertEqual([entry["on"] for entry in storage.harness.journal(expect=["ok"])], ["whole"])
        with self.assertRaisesRegex(RPCError, "Expected ok, ok, found ok") as raised:
            storage.harness.journal(expect=["ok", "ok"])
        self.assertEqual(raised.exception.code, -13900)

    def test_objects_are_seeded_saved_and_come_back(self) -> None:
        storage, harness = self.storage, self.storage.harness
        film = self.large_file(size=MIB)
        note = storage.reference("note.txt")
        seeded = harness.seed({note: "Hello", "gs://films/a.mov": film, storage.reference("b"): bytes(2)})
        self.assertEqual(seeded, {"objects": 3, "bytes": MIB + 7})
        self.assertEqual(harness.save("three")["objects"], 3)
        note.delete()
        harness.arm("*", times=None, fail={"error": "unauthorized"})
        harness.reset("three")
        self.assertEqual(note.get_data(max_size=MIB), b"Hello")
        harness.reset()
        with self.assertRaises(ObjectNotFound):
            note.get_metadata()

    def test_a_space_has_objects_of_its_own(self) -> None:
        test = self.storage
        space = test.harness.space("w1", buckets=["default-bucket"], quota=10, keep=True)
        self.assertEqual((space["space"], space["isNew"]), ("w1", True))
        program = self.start(socket=space["socket"])
        program.reference("note.txt").put_data("Hello").wait()
        self.assertEqual(test.reference("note.txt").get_data(max_size=MIB), b"Hello")
        with self.assertRaises(QuotaExceeded):
            program.reference("other.txt").put_data("Hello, you").wait()
        with self.assertRaises(BucketNotFound):
            program.reference("gs://films/a").get_metadata()
        self.assertEqual(test.harness.space("main")["isNew"], False)
        self.assertEqual(test.reference("").list_all().items, ())

    def test_a_space_has_a_gateway_where_a_test_says_who_may_do_what(self) -> None:
        harness = self.storage.harness
        base = f"http://{harness.space(gateway=True)['gateway']}/v0/b/default-bucket/o"
        urllib.request.urlopen(f"{base}?name=private/x", b"Hello").close()
        harness.authorize([{"prefix": "gs://default-bucket/private/", "who": "owner"}])
        with self.assertRaisesRegex(urllib.error.HTTPError, "403"):
            urllib.request.urlopen(f"{base}/private%2Fx?alt=media")
        owner = urllib.request.Request(f"{base}/private%2Fx?alt=media", headers={"Authorization": "Bearer owner"})
        with urllib.request.urlopen(owner) as answer:
            self.assertEqual(answer.read(), b"Hello")


class AsyncHarnessTests(AsyncTestCase):
    async def test_the_clock_stands_while_a_task_rests(self) -> None:
        storage = await self.open()
        harness = storage.harness
        await harness.clock(at="2026-01-01T00:00:00Z")
        await harness.arm("whole", fail={"httpStatus": 503})
        task = storage.reference("a").put_data("x")
        (resting,) = (await harness.settled())["resting"]
        self.assertEqual((await harness.clock(to_next=True))["now"], resting["at"])
        self.assertEqual((await task).size, 1)

    async def test_every_call_fails_until_the_rule_is_disarmed(self) -> None:
        storage = await self.open()
        rule = await storage.harness.arm("whole", times=None, fail={"error": "unauthorized"})
        for _ in range(2):
            with self.assertRaises(Unauthorized):
                await storage.reference("a").put_data("x")
        self.assertEqual((await storage.harness.disarm(rule))["fired"], {rule: 2})
        await storage.reference("a").put_data("x")

    async def test_a_reset_ends_what_waits(self) -> None:
        storage = await self.open()
        harness = storage.harness
        self.assertEqual((await harness.space(seed=7))["space"], "space-1")
        generated = await harness.seed(generate={"reference": "gs://default-bucket/{n}.jpg", "count": 20, "size": 100})
        self.assertEqual(generated, {"objects": 20, "bytes": 2000})
        await harness.save("photos")
        await harness.arm("whole", hold=True)
        task = storage.reference("a").put_data("x")
        await harness.settled()
        await harness.reset("photos")
        with self.assertRaises(Cancelled):
            await task.wait()
        self.assertEqual(len((await storage.reference("").list_all()).items), 20)
        self.assertEqual(await storage.upload_tasks(), [])
