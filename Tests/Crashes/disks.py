"""Disks that really are full, or may not be written, and a root that is taken away; needs to be allowed to mount."""
import contextlib
import shutil
import subprocess

from checks import Outcome
from scenarios import CHUNK, LARGE, SMALL, SMALL2, Delete, List, Put, Scenario
from service import Failure, Gone, Service, url
from worlds import leaks, observe


@contextlib.contextmanager
def mounted(place, *words):
    """Something mounted, or None where that is not allowed."""
    done = subprocess.run(["mount", *words, place], stderr=subprocess.DEVNULL)
    try:
        yield None if done.returncode else place
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "--lazy", place], check=True)


def fails(service, stage, step, *names):
    """Whether it fails; that has to be with a good answer."""
    try:
        step.call(service, stage.work)
    except Failure as problem:
        if problem.data["name"] not in names or str(stage.root) not in problem.message:
            raise AssertionError(f"that is no good answer: {problem}") from None
        service.call("service/ping")
        return True
    return False


def expect(truth, word):
    if not truth:
        raise AssertionError(word)


def full(stage):
    """Fills the disk with small and large objects, and with a file of another program. All of them can be deleted,
    before a restart and after one; then it goes on."""
    stage.root.mkdir()
    with mounted(stage.root, "-t", "tmpfs", "-o", "size=5m,mode=700", "none") as disk:
        if disk is None:
            return "not allowed to mount"
        with Service(stage.program, stage.root) as service:
            done = {}
            for data in LARGE, SMALL:
                for number in range(1000):
                    step = Put(f"{len(data)}-{number}", data)
                    if fails(service, stage, step, "quotaExceeded"):
                        break
                    done[step.path] = data
                else:
                    raise AssertionError("the disk never was full")
            there = {path: object.data for path, object in observe(service, stage.out).objects.items()}
            expect(there == done, "something else is there than what was a success")
            for path in list(done)[::2]:
                take_the_rest(disk)
                Delete(path).call(service, stage.work)
        with Service(stage.program, stage.root) as service:
            for path in list(done)[1::2]:
                take_the_rest(disk)
                Delete(path).call(service, stage.work)
            expect(not observe(service, stage.out).objects, "something is there still")
            (stage.root / "filler").unlink()
            stage.use(service)
            stage.settle(service)
            service.end()
        expect(not (flaw := leaks(stage.root)), flaw)


def take_the_rest(disk):
    with open(disk / "filler", "ab", buffering=0) as filler:
        for size in 1 << 16, 1 << 12:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(size))


def ends(stage):
    """Ends tasks on a full disk, kills the service, makes room: no task moves again, and what is new stays."""
    stage.root.mkdir()
    with mounted(stage.root, "-t", "tmpfs", "-o", "size=4m,mode=700", "none") as disk:
        if disk is None:
            return "not allowed to mount"
        source = stage.work / "in" / "source"
        source.write_bytes(LARGE * 3)
        with Service(stage.program, stage.root) as service:
            service.call("storage/updateSettings", uploadChunkSizeBytes=CHUNK)
            tasks = []
            for name in "cancelled", "failed":
                started = service.call("reference/putFile", reference=url(name), file=str(source))
                tasks.append(started["task"])
                service.call("uploadTask/pause", task=started["task"])
            fill(stage.root / "filler")
            service.call("uploadTask/cancel", task=tasks[0])
            fill(stage.root / "filler")
            service.call("uploadTask/resume", task=tasks[1])
            try:
                service.call("uploadTask/wait", task=tasks[1])
                raise AssertionError("the upload found room")
            except Failure as failure:
                expect(failure.data["name"] == "quotaExceeded", f"it failed with {failure}")
            fill(stage.root / "filler")
            service.kill()
        # On the full disk, and once there is room.
        for has_room in False, True:
            if has_room:
                (stage.root / "filler").unlink()
            with Service(stage.program, stage.root, None, "--tasks", "resume") as service:
                states = {task["task"]: task["state"] for task in service.call("uploadTask/list")["tasks"]}
                expect([states[task] for task in tasks] == ["cancelled", "failed"], f"the tasks are {states}")
                if has_room:
                    for name in "cancelled", "failed":
                        Put(name, SMALL).call(service, stage.work)
                service.kill()
        with Service(stage.program, stage.root, None, "--tasks", "resume") as service:
            for name in "cancelled", "failed":
                expect(service.data(name) == SMALL, f"{name} was replaced")
            stage.settle(service)
            expect(not (flaw := leaks(stage.root)), flaw)


def fill(path):
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def read_only(stage):
    """A service that has it open goes on; one that starts says why it cannot."""
    stage.root.mkdir()
    with Service(stage.program, stage.root) as service:
        Put("a", LARGE).call(service, stage.work)
        List("").call(service, stage.work)
        # The service has the mount below open.
        with mounted(stage.root, "--bind", str(stage.root)) as disk:
            if disk is None:
                return "not allowed to mount"
            subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
            expect(service.data("a") == LARGE, "what was there is another")
            with Service(stage.program, stage.root) as another:
                status, errors = another.end()
            expect(status == 1 and str(stage.root) in errors and "Read-only" in errors, f"a start was {status}: {errors}")
        stage.use(service)


def removed(stage):
    stage.root.mkdir()
    with Service(stage.program, stage.root) as service:
        Put("a", SMALL).call(service, stage.work)
        shutil.rmtree(stage.root)
        for step in Put("b", LARGE), Put("b", SMALL2), List(""):
            expect(fails(service, stage, step, "unknown"), f"{step.method} went well")
        service.call("service/ping")
        status, errors = service.end()
        expect(status == 0, f"the end was {status}: {errors}")


CHECKS = {"full": full, "ends": ends, "read-only": read_only, "removed": removed}


def check(stage, mode, points):
    stage.prepare()
    stage.fresh()
    try:
        skipped = CHECKS[mode](stage)
        yield Outcome(f"skipped, {skipped}" if skipped else mode)
    except (AssertionError, Failure, Gone) as problem:
        yield Outcome(mode, f"{type(problem).__name__}: {problem}")


SCENARIO = Scenario("root on a disk", [])
MODES = dict.fromkeys(CHECKS, check)
