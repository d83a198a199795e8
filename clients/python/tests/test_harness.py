from __future__ import annotations

from storage_rpc import RPCError, Unauthorized

from .aio_support import AsyncTestCase
from .support import HARNESS, MIB, StorageTestCase


class HarnessTests(StorageTestCase):
    def test_an_upload_stops_at_a_byte_and_is_let_go(self) -> None:
        storage = self.start(command=HARNESS)
        harness = storage.harness
        rule = harness.arm("send", at=2 * MIB, hold=True)
        task = storage.reference("film.mov").put_file(self.large_file(size=5 * MIB))
        self.assertEqual([(hold["rule"], hold["at"]) for hold in harness.settled()["held"]], [(rule, 2 * MIB)])
        self.assertEqual(task.snapshot().progress.fraction_completed, 0.4)
        self.assertEqual(harness.release(rule=rule), 1)
        task.wait()
        self.assertEqual(harness.disarm(), {"fired": {rule: 1}, "unfired": []})

    def test_an_expectation_that_does_not_hold_is_an_error(self) -> None:
        storage = self.start(command=HARNESS)
        storage.reference("a").put_data("x").wait()
        self.assertEqual([entry["on"] for entry in storage.harness.journal(expect=["ok"])], ["whole"])
        with self.assertRaisesRegex(RPCError, "Expected ok, ok, found ok") as raised:
            storage.harness.journal(expect=["ok", "ok"])
        self.assertEqual(raised.exception.code, -13900)


class AsyncHarnessTests(AsyncTestCase):
    async def test_the_clock_stands_while_a_task_rests(self) -> None:
        storage = await self.open(command=HARNESS)
        harness = storage.harness
        await harness.clock(at="2026-01-01T00:00:00Z")
        await harness.arm("whole", fail={"httpStatus": 503})
        task = storage.reference("a").put_data("x")
        (resting,) = (await harness.settled())["resting"]
        self.assertEqual((await harness.clock(to_next=True))["now"], resting["at"])
        self.assertEqual((await task).size, 1)

    async def test_every_call_fails_until_the_rule_is_disarmed(self) -> None:
        storage = await self.open(command=HARNESS)
        rule = await storage.harness.arm("whole", times=None, fail={"error": "unauthorized"})
        for _ in range(2):
            with self.assertRaises(Unauthorized):
                await storage.reference("a").put_data("x")
        self.assertEqual((await storage.harness.disarm(rule))["fired"], {rule: 2})
        await storage.reference("a").put_data("x")
