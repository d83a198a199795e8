from __future__ import annotations

import io
import unittest

from storage_rpc import ServiceGone, Storage
from storage_rpc.testing import StorageTestCase as TestCase
from storage_rpc.testing import describe

from .support import PATIENCE, StorageTestCase


class Examples(TestCase):
    """Run by the tests below."""

    def first(self) -> None:
        self.storage.reference("note").put_data(b"x").wait()
        with Storage(socket=self.socket) as program:
            self.assertEqual(program.reference("note").get_data(1), b"x")

    def second(self) -> None:
        self.assertEqual(self.storage.reference("").list_all().items, ())

    def unfired(self) -> None:
        self.harness.arm("send", rule="never", hold=True)

    def ended(self) -> None:
        self.harness.arm("whole", exit=9)
        with self.assertRaises(ServiceGone):
            self.storage.reference("note").put_data(b"x").wait()


def run(*names: str) -> unittest.TestResult:
    return unittest.TextTestRunner(io.StringIO()).run(unittest.TestSuite(map(Examples, names)))


class TestingTests(StorageTestCase):
    def test_each_test_has_a_space_and_the_service_starts_again(self) -> None:
        result = run("first", "second", "ended", "second")
        self.assertEqual((result.testsRun, result.failures + result.errors), (4, []))

    def test_a_rule_that_never_struck_fails_its_test(self) -> None:
        ((_, text),) = run("unfired").failures
        self.assertIn("Rules that never struck: never", text)

    def test_a_description_names_what_holds(self) -> None:
        harness, reference = self.storage.harness, self.storage.reference("a")
        reference.put_data("x").wait(PATIENCE)
        harness.arm("delete", rule="never", hold=True)
        harness.arm("whole", rule="gate", hold=True)
        task = reference.put_data("x")
        self.assertEqual(
            describe(self.storage).splitlines(),
            [
                "1 whole gs://default-bucket/a ok",
                "gate holds whole gs://default-bucket/a at 0",
                "harness.release() lets them go.",
                "rule never never struck",
            ],
        )
        task.cancel()
