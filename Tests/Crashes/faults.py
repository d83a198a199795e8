"""The library that stands between the program and the system, and what it is told to do."""
import mmap
import os
import pathlib
import shutil
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

CHANGE, WRITE, SYNC, OPEN, READ, LOOK = (1 << bit for bit in range(6))
PASS, KILL_BEFORE, KILL_AFTER, TEAR, FAIL, HALVE, FILL = range(7)
ONCE, FROM_THEN_ON, EVERY_OTHER = range(3)


def compile(place):
    compiler = shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        raise SystemExit("There is neither clang nor cc.")
    library = place / "faults.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Wno-empty-body", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, HERE / "faults.c"], check=True)
    return library


class Faults:
    """Shared with the one process that is started with `environment`."""

    LAYOUT = "IIIIQQQIq"

    def __init__(self, library, place, below):
        self.notes = place / "notes"
        self.notes.unlink(missing_ok=True)
        control = place / "control"
        control.write_bytes(bytes(struct.calcsize(self.LAYOUT)))
        with open(control, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.environment = {
            **os.environ, "LD_PRELOAD": str(library), "FAULTS_BELOW": str(below), "FAULTS_CONTROL": str(control),
            "FAULTS_NOTES": str(self.notes),
        }

    def set(self, kinds=0, action=PASS, at=0, error=0, pattern=ONCE, keeps_data=False, count=0):
        """From now on the `at`-th call of those kinds, counted from `count`, is the one; with 0 they are but counted."""
        struct.pack_into(self.LAYOUT, self.memory, 0, kinds, action, error, pattern, at, count, 0, keeps_data, 0)

    def stop(self):
        """Nothing happens any more; what was counted stays."""
        struct.pack_into("I", self.memory, 4, PASS)

    @property
    def count(self):
        return struct.unpack_from(self.LAYOUT, self.memory)[5]

    @property
    def hits(self):
        return struct.unpack_from(self.LAYOUT, self.memory)[6]

    def hit(self):
        """The calls that were hit: name and file."""
        lines = [line.split(b"\t") for line in self.notes.read_bytes().split(b"\n")]
        return [
            f"{parts[1][1:].decode()} {os.path.basename(parts[6].decode())}"
            for parts in lines if len(parts) > 6 and parts[1].startswith(b"!")]
