from __future__ import annotations

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import storage_rpc
from storage_rpc import ObjectNotFound
from storage_rpc.__main__ import main

from .support import MIB, PATIENCE, StorageTestCase

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(storage_rpc.__file__).parent.parent)}
COMMAND = [sys.executable, "-m", "storage_rpc"]


class CommandTests(StorageTestCase):
    def run_command(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [*COMMAND, *map(str, words)]
        return subprocess.run(command, env=ENVIRONMENT, text=True, timeout=PATIENCE, **options)

    def test_put_and_metadata(self) -> None:
        root = self.directory / "root"
        path = self.file("space.jpg", b"x" * 3 * MIB)
        put = self.run_command("put", path, "images/space.jpg", "--root", root, "--bucket", "b")
        self.assertEqual(put.returncode, 0, put.stderr)
        self.assertIn("full_path: images/space.jpg\n", put.stdout)
        self.assertRegex(put.stderr, r"3\.0 MiB of 3\.0 MiB \(100%\)(, \d+\.\d [KMG]iB/s, 0:00 left)?\n$")
        self.assertNotIn("\r", put.stderr)
        metadata = self.run_command("metadata", "gs://b/images/space.jpg", "--root", root)
        self.assertEqual((metadata.returncode, metadata.stdout, metadata.stderr), (0, put.stdout, ""))

    def test_sharing(self) -> None:
        root = self.directory / "root"
        self._storage = self.start(socket=self.serve())
        put = self.run_command("put", self.file("a", b"x"), "gs://b/x", "--root", root, "--shared")
        self.assertEqual(put.returncode, 0, put.stderr)
        self.assertEqual(self.storage.reference("gs://b/x").get_data(1), b"x")

    def test_preconditions(self) -> None:
        root = self.directory / "root"
        path = self.file("space.jpg", b"x")
        first = self.run_command("put", path, "x", "--root", root, "--if-generation-match", 0)
        self.assertEqual(first.returncode, 0, first.stderr)
        generation = first.stdout.split("generation: ")[1].split("\n")[0]
        for flag in ("--if-generation-match", "--if-metageneration-match"):
            refused = self.run_command("put", path, "x", "--root", root, flag, 0)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertIn(f"generation {generation}, metageneration 1", refused.stderr)
        again = self.run_command("put", path, "x", "--root", root, "--if-generation-match", generation)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_bar_on_a_terminal(self) -> None:
        terminal, end = pty.openpty()
        path = self.file("space.jpg", b"x" * MIB)
        put = self.run_command("put", path, "x", "--root", self.directory / "root", stderr=end)
        os.close(end)
        shown = read_all(terminal).decode()
        os.close(terminal)
        self.assertEqual(put.returncode, 0)
        self.assertRegex(shown, r"\r(\x1b\[32m)?\[#+\](\x1b\[0m)? 100%  1\.0 MiB of 1\.0 MiB")

    def test_failures(self) -> None:
        missing = self.run_command("put", "/no/such", "x", "--root", self.directory / "root")
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        self.assertIn("/no/such", missing.stderr)
        nobody = self.run_command("metadata", "x", "--socket", "/no/such/socket")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("No service can be reached at /no/such/socket", nobody.stderr)

    def test_usage(self) -> None:
        negative = ["put", "a", "b", "--if-generation-match=-1"]
        usages = [[], ["put", "a"], ["take", "a", "b"], ["put", "a", "b", "--what"], negative]
        usages += [["metadata", "x", "--socket", "a", *flags] for flags in (["--root", "b"], ["--shared"])]
        for words in usages:
            with self.subTest(words=words), contextlib.redirect_stderr(io.StringIO()) as said:
                with self.assertRaises(SystemExit) as ended:
                    main(words)
                self.assertEqual(ended.exception.code, 64)
                self.assertIn("usage: python3 -m storage_rpc", said.getvalue())
        self.assertEqual(self.run_command("--help").returncode, 0)

    def test_ctrl_c_pauses_and_the_same_command_resumes(self) -> None:
        path = self.serve()
        self._storage = self.start(socket=path)
        self.small_chunks()
        self.hold_at(MIB)
        file = self.large_file()
        put = subprocess.Popen(
            [*COMMAND, "put", str(file), "x", "--socket", path],
            env=ENVIRONMENT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=heed_interrupts,
        )
        assert put.stderr
        self.assertIn("%", put.stderr.readline())
        os.killpg(put.pid, signal.SIGINT)
        stdout, stderr = put.communicate(timeout=PATIENCE)
        self.assertEqual((put.returncode, stdout), (130, ""))
        self.assertTrue(stderr.endswith("storage_rpc: paused; the same command resumes the upload\n"), stderr)
        [task] = self.storage.upload_tasks()
        self.storage.harness.disarm()
        again = self.run_command("put", os.path.relpath(file), "gs://default-bucket//x", "--socket", path)
        self.assertTrue(again.stderr.startswith(f"resuming {os.path.relpath(file)}\n"), again.stderr)
        self.assertEqual([(one.task.id, one.state) for one in self.storage.upload_tasks()], [(task.task.id, "success")])


def read_all(terminal: int) -> bytes:
    """What its other end has written before it was closed; Linux reports that end by EIO."""
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            shown += part
    return shown


def heed_interrupts() -> None:
    """What starts the tests may have made them ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
