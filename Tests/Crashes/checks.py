"""What is done to a service while it does a scenario, and what has to hold afterwards."""
import dataclasses
import errno
import os
import pathlib
import shutil
import time

import power
from faults import (
    CHANGE, EVERY_OTHER, FAIL, FILL, FROM_THEN_ON, HALVE, KILL_AFTER, KILL_BEFORE, LOOK, ONCE, OPEN, READ, SYNC, TEAR, WRITE,
    Faults)
from scenarios import FIRST, LARGE, SMALL, TREE, Delete, Get, List, Put, PutFile, Update
from service import TIMEOUT, Failure, Gone, Service
from worlds import Between, World, is_part, leaks, observe, plans, stray_plans, unneeded

CHANGES = CHANGE | WRITE | SYNC


@dataclasses.dataclass
class Outcome:
    place: str
    flaw: str = ""


class Stage:
    """A scenario, and the directory in which it happens again and again."""

    def __init__(self, program, library, place, scenario):
        self.program, self.library, self.place, self.scenario = program, library, place, scenario
        self.work, self.template = place / "work", place / "template"
        self.root, self.out = self.work / scenario.root, self.work / "out"

    def set_up(self, service):
        if self.scenario.chunk:
            service.call("storage/updateSettings", uploadChunkSizeBytes=self.scenario.chunk)

    def prepare(self):
        for name in "in", "out":
            (self.template / name).mkdir(parents=True)
        sources = {str(len(data)): data for data in (SMALL, LARGE)} | {f"tree/{name}": data for name, data in TREE.items()}
        for directory, files in ("in", sources), ("out", self.scenario.files):
            for name, data in files.items():
                file = self.template / directory / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        self.world = World({}, self.scenario.files)
        root = self.template / "root"
        if self.scenario.before:
            with Service(self.program, root) as service:
                for step in self.scenario.before:
                    step.call(service, self.template)
                self.world = observe(service, self.template / "out")
                self.settle(service, root)
                service.end()
        if self.scenario.prepare:
            self.scenario.prepare(root)

    def fresh(self):
        """Everything as it was; sources keep their inodes."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.template / "out", self.out)
        shutil.copytree(self.template / "in", self.work / "in", copy_function=os.link)
        if self.scenario.before:
            shutil.copytree(self.template / "root", self.root)
        return Faults(self.library, self.place, self.work)

    def restore(self, state):
        """Makes root and files what a disk held."""
        changed = self.work / pathlib.Path(self.scenario.root).parts[0], self.out
        for directory in changed:
            shutil.rmtree(directory, ignore_errors=True)
        for path, data in state.items():
            if path.startswith(tuple(map(str, changed))):
                os.mkdir(path, 0o700) if data is None else pathlib.Path(path).write_bytes(data)

    def start(self, faults, **orders):
        """A service to which that happens from its start on, or from when it is ready, as the scenario wants."""
        if self.scenario.at_start:
            faults.set(**orders)
        service = Service(self.program, self.root, faults.environment)
        if not self.scenario.at_start:
            be_ready(service)
            faults.set(**orders)
        return service

    def settle(self, service, root=None):
        """Waits until what nobody needs is removed, or the process is gone."""
        end = time.monotonic() + TIMEOUT
        while service.process.poll() is None and unneeded(root or self.root):
            if time.monotonic() > end:
                raise AssertionError("what nobody needs is not removed")
            time.sleep(0.001)

    def check(self, worlds, resumes, doing=None, told=0, loses_writes=False):
        """What is wrong after a crash in which one of the worlds should have come about, the last if all went on.

        What of tasks was cut off is resumed, or cancelled; then nothing may be left of it. `doing` is the step that was
        cut off; if it is one over many names, so many of them were told to be done.
        """
        partial = [Between(worlds[0], worlds[1], told)] if doing and not doing.is_one and len(worlds) > 1 else []
        with Service(self.program, self.root) as service:
            if partial and (flaw := partial[0].difference(observe(service, self.out))):
                return f"at the restart {flaw}"
            if found := settle_tasks(service, resumes, doing, loses_writes, self.work):
                # The plan of a folder is not synced: without power an earlier one may be there.
                if len(worlds) == 1 and not (loses_writes and found == {"folderTask"}):
                    return "a task whose end was told is there again"
                worlds = worlds[-1:] if resumes else worlds + partial
                self.settle(service)
            elif loses_writes:
                # The plan may not be there, or know of nothing.
                worlds = worlds + partial
            if forget_failed(service):
                self.settle(service)
            if flaw := self.judge(service, worlds):
                return flaw
            self.use(service)
            known = plans(service)
            status, errors = service.end()
        if status != 0 or errors:
            return f"status {status} at the next end: {errors}"
        if flaw := stray_plans(self.root, known):
            return flaw
        parts = [file.name for file in self.out.rglob("*") if is_part(file)]
        return f"parts stay behind: {parts}" if parts else ""

    def judge(self, service, worlds):
        seen = observe(service, self.out)
        differences = [world.difference(seen) for world in worlds]
        if all(differences):
            return ", and ".join(differences)
        return leaks(self.root)

    def use(self, service):
        """Every operation works."""
        again = [
            Put("again/a", SMALL), PutFile("again/b", LARGE), Put("again/a", LARGE), Put("again/b", SMALL),
            Update("again/a", FIRST, {}), List("again"), Get("again/a", "again"), Delete("again/a"), Delete("again/b")]
        for step in again:
            step.call(service, self.work)
        if (self.out / "again").read_bytes() != LARGE:
            raise AssertionError("a download after it has other bytes")
        (self.out / "again").unlink()


def be_ready(service):
    """Waits until database and tasks of before are read."""
    service.call("reference/listAll", reference="gs://bucket")
    service.call("uploadTask/list")


def settle_tasks(service, resumes, doing=None, loses_writes=False, work=None):
    """Ends the tasks that a crash has left; tells of which kinds there were some."""
    found = set()
    for kind in "uploadTask", "downloadTask", "folderTask":
        for snapshot in service.call(f"{kind}/list")["tasks"]:
            if snapshot["state"] in ("success", "failed", "cancelled"):
                continue
            found.add(kind)
            task = snapshot["task"]
            if snapshot["state"] != "paused":
                raise AssertionError(f"a task of before is {snapshot['state']}")
            service.call(f"{kind}/{'resume' if resumes else 'cancel'}", task=task)
            if resumes and snapshot.get("origin") == "stream":
                doing.go_on(service, task, loses_writes)
            if resumes:
                try:
                    wait(service, kind, task)
                except Failure as failure:
                    # Without power all files are other ones than those that the plan knows.
                    if not loses_writes or "was changed meanwhile" not in failure.message:
                        raise
                    doing.call(service, work)
    return found


def wait(service, kind, task):
    try:
        service.call(f"{kind}/wait", task=task)
    except Failure as failure:
        # The files of a scenario are written when its task begins; without power all are new. A retry removes them.
        if "was changed since this task began" not in failure.message:
            raise
        service.call(f"{kind}/retry", task=task)
        service.call(f"{kind}/wait", task=task)


def forget_failed(service):
    """Forgets the tasks over folders that could be retried, and keep parts of files for that. How many there were."""
    failed = [each["task"] for each in service.call("folderTask/list")["tasks"] if each["state"] == "failed"]
    for task in failed:
        service.call("folderTask/forget", task=task)
    return len(failed)


# MARK: - Killed


def killed(stage, mode, points):
    action, kinds, resumes = {
        "kill-after": (KILL_AFTER, CHANGES, True), "kill-before": (KILL_BEFORE, CHANGES, False),
        "torn": (TEAR, WRITE, True)}[mode]
    stage.prepare()
    for at in points:
        faults = stage.fresh()
        worlds, answered = [stage.world], 0
        stage.scenario.forget()
        try:
            with stage.start(faults, kinds=kinds, action=action, at=at) as service:
                try:
                    stage.set_up(service)
                    for step in stage.scenario.steps:
                        worlds.append(step.after(worlds[-1]))
                        answer = step.call(service, stage.work)
                        worlds[-1] = step.learn(worlds[-1], answer)
                        answered += 1
                    stage.settle(service)
                except Gone:
                    pass
                status, errors = service.end()
            if faults.hits == 0:
                return
            doing = stage.scenario.steps[answered] if answered < len(stage.scenario.steps) else None
            told = doing.told_before(0) if doing and not doing.is_one else 0
            flaw = f"status {status}: {errors}" if status != -9 else stage.check(worlds[answered:], resumes, doing, told)
        except Exception as error:
            flaw = f"{type(error).__name__}: {error}"
        yield Outcome(f"{at} {faults.hit()[0]}", flaw)


# MARK: - Faults

FAULTS = {
    "enospc": (errno.ENOSPC, CHANGES, FROM_THEN_ON),
    "enospc-once": (errno.ENOSPC, CHANGES, ONCE),
    "edquot": (errno.EDQUOT, CHANGES, FROM_THEN_ON),
    "eio": (errno.EIO, CHANGES | OPEN | READ | LOOK, FROM_THEN_ON),
    "eio-once": (errno.EIO, CHANGES | OPEN | READ | LOOK, ONCE),
    "erofs": (errno.EROFS, CHANGE | WRITE, FROM_THEN_ON),
    "eacces": (errno.EACCES, CHANGE | OPEN | LOOK, FROM_THEN_ON),
    "emfile": (errno.EMFILE, OPEN, FROM_THEN_ON),
}
# What SQLite says instead of the system's words.
CAUSES = ["database or disk is full", "disk I/O error", "unable to open database file", "attempt to write a readonly", "the file may not be written"]


def faulty(stage, mode, points):
    error, kinds, pattern = FAULTS[mode]
    stage.prepare()
    for at in points:
        faults = stage.fresh()
        try:
            flaw = endure(stage, faults, dict(kinds=kinds, action=FAIL, error=error, pattern=pattern, at=at))
        except (AssertionError, Failure, Gone) as problem:
            flaw = f"{type(problem).__name__}: {problem}"
        if faults.hits == 0:
            return
        yield Outcome(f"{at} {faults.hit()[0]}", flaw)


def endure(stage, faults, orders):
    """What is wrong with how the service takes the fault."""
    with stage.start(faults, **orders) as service:
        try:
            if stage.scenario.at_start:
                be_ready(service)
        except (Failure, Gone) as problem:
            if not faults.hits:
                raise
            flaw = isinstance(problem, Failure) and blame(problem.message, orders["error"], stage)
            # One that cannot open its root ends with a word about it; one that can goes on.
            status, errors = service.end()
            faults.stop()
            if status == 1 and errors.count("\n") == 1:
                flaw = flaw or blame(errors, orders["error"], stage)
            elif status != 0 or isinstance(problem, Gone):
                flaw = flaw or f"ended with status {status}: {errors}"
            return flaw or stage.check([stage.world], False)
        return endure_steps(stage, service, faults, orders["error"])


def endure_steps(stage, service, faults, error):
    world = stage.world
    stage.set_up(service)
    for step in stage.scenario.steps:
        after = step.after(world)
        try:
            answer = step.call(service, stage.work)
        except Failure as failure:
            faults.stop()
            if flaw := misfit(failure, error, stage):
                return flaw
            service.call("service/ping")
            seen = observe(service, stage.out)
            differences = [each.difference(seen) for each in (world, after, *parts_of(step, world, after))]
            if all(differences):
                return f"after {failure}: {', and '.join(differences)}"
            # The name of a download is there before it is sure that it stays.
            if differences[0] and step.is_one and not isinstance(step, Get):
                return f"done all the same: {failure}"
            answer = step.call(service, stage.work)
        world = step.learn(after, answer)
    faults.stop()
    difference = world.difference(observe(service, stage.out))
    if difference:
        return difference
    status, errors = service.end()
    if status != 0:
        return f"status {status} at the end: {errors}"
    # Only one that the machine did not let be removed may stay.
    for part in filter(is_part, stage.out.rglob("*")):
        if not {f"unlink {part.name}", f"open {part.parent.name}"} & set(faults.hit()):
            return f"{part.name} stays behind"
        part.unlink()
    return stage.check([world], False)


def parts_of(step, before, after):
    """What may be there of a step that was stopped."""
    return [] if step.is_one else [Between(before, after)]


def misfit(failure, error, stage):
    """Why that is no good answer to the fault."""
    fitting = {"unknown"}
    if error in (errno.ENOSPC, errno.EDQUOT):
        fitting = {"quotaExceeded"} | ({"unknown"} if failure.data.get("file") else set())
    if error in (errno.EROFS, errno.EACCES):
        fitting.add("unauthorized")
    if failure.data.get("name") not in fitting:
        return f"another code should be there: {failure.data.get('name')} {failure}"
    return blame(failure.message, error, stage)


def blame(text, error, stage):
    if str(stage.work) not in text:
        return f"names no path: {text}"
    if not any(cause in text for cause in [os.strerror(error), *CAUSES]):
        return f"names no cause: {text}"
    return ""


# MARK: - On a full disk


def filled(stage, mode, points):
    stage.prepare()
    for at in points:
        faults = stage.fresh()
        try:
            flaw = outlast(stage, faults, at)
        except (AssertionError, Failure, Gone) as problem:
            flaw = f"{type(problem).__name__}: {problem}"
        if faults.hits == 0:
            return
        yield Outcome(f"{at} {faults.hit()[0]}", flaw)


def outlast(stage, faults, at):
    """What is wrong with how the service takes a disk that gets full: what is there can be read and deleted,
    by this process or by the next one."""
    orders = dict(kinds=CHANGES, action=FILL, error=errno.ENOSPC, pattern=FROM_THEN_ON, at=at)
    with stage.start(faults, **orders) as service:
        try:
            be_ready(service)
            world, has_failed = go_on_while_there_is_room(stage, service)
        except (Failure, Gone):
            if stage.scenario.before or not faults.hits:
                raise
            # A root that never was cannot be made.
            status, errors = service.end()
            faults.stop()
            flaw = blame(errors, errno.ENOSPC, stage) if status == 1 else f"ended with status {status}: {errors}"
            return flaw or stage.check([stage.world], False)
        if at % 2:
            flaw = empty(stage, service, world)
            if flaw:
                return flaw
            world = World({}, world.files)
        if has_failed:
            service.end()  # not killed, as it may still be removing what it had
    with Service(stage.program, stage.root, faults.environment) as service:
        if flaw := empty(stage, service, world):
            return f"after a restart {flaw}"
        status, errors = service.end()
        if status != 0:
            return f"status {status} at the end: {errors}"
    faults.stop()
    return stage.check([World({}, world.files)], False)


def go_on_while_there_is_room(stage, service):
    world = stage.world
    stage.set_up(service)
    for step in stage.scenario.steps:
        try:
            answer = step.call(service, stage.work)
        except Failure as failure:
            if flaw := misfit(failure, errno.ENOSPC, stage):
                raise AssertionError(flaw) from None
            seen = observe(service, stage.out)
            is_partial = any(not part.difference(seen) for part in parts_of(step, world, step.after(world)))
            return seen if is_partial else world, True
        world = step.learn(step.after(world), answer)
    return world, False


def empty(stage, service, world):
    if difference := world.difference(observe(service, stage.out)):
        return difference
    for path in world.objects:
        Delete(path).call(service, stage.work)
    return World({}, world.files).difference(observe(service, stage.out))


# MARK: - Nothing to notice


def hindered(stage, mode, points):
    action, kinds, pattern = {
        "eintr": (FAIL, OPEN | READ | WRITE, ONCE), "eintr-every": (FAIL, OPEN | READ | WRITE, EVERY_OTHER),
        "short": (HALVE, READ | WRITE, ONCE), "short-every": (HALVE, READ | WRITE, FROM_THEN_ON)}[mode]
    stage.prepare()
    for at in points if pattern == ONCE else [1]:
        faults = stage.fresh()
        orders = dict(kinds=kinds, action=action, error=errno.EINTR, pattern=pattern, at=at)
        try:
            flaw = endure(stage, faults, orders)
        except (AssertionError, Failure, Gone) as problem:
            flaw = f"{type(problem).__name__}: {problem}"
        if faults.hits == 0:
            return
        yield Outcome(f"{at} {faults.hit()[0]}", flaw)


# MARK: - Without power


def powerless(stage, mode, points):
    stage.prepare()
    faults = stage.fresh()
    disk = power.Disk(stage.work)
    worlds, answers = [stage.world], []
    stage.scenario.forget()
    faults.set(kinds=CHANGES, keeps_data=True)
    with Service(stage.program, stage.root, faults.environment) as service:
        be_ready(service)
        begin = 0 if stage.scenario.at_start else faults.count
        stage.set_up(service)
        for step in stage.scenario.steps:
            worlds.append(step.after(worlds[-1]))
            step.faults = faults
            answer = step.call(service, stage.work)
            worlds[-1] = step.learn(worlds[-1], answer)
            answers.append(faults.count)
        stage.settle(service)
        service.end()
    notes = sorted(power.read_notes(faults.notes), key=lambda note: note[0])
    known, followed = set(), 0
    for at in points:
        number = begin + at
        if number > notes[-1][0]:
            return
        while followed < len(notes) and notes[followed][0] <= number:
            disk.follow(notes[followed][1])
            followed += 1
        answered = sum(1 for count in answers if count <= number)
        last = notes[followed - 1][1]
        doing = stage.scenario.steps[answered] if answered < len(stage.scenario.steps) else None
        told = doing.told_before(number) if doing and not doing.is_one else 0
        flaw = outlive(stage, disk, worlds, answered, doing, told, at, known)
        yield Outcome(f"{at} {last[0]} {os.path.basename(last[5])}", flaw)


def doubly_faulty(stage, mode, points):
    """A call fails, the client repeats its request, and then the power fails."""
    def live(faults, at):
        world = stage.world
        with failing_once(stage, faults, at) as service:
            for step in stage.scenario.steps:
                step.goes_on = True
                after = step.after(world)
                try:
                    answer = step.call(service, stage.work)
                except Failure:
                    answer = step.call(service, stage.work)
                finally:
                    step.goes_on = False
                world = step.learn(after, answer)
            service.end()
        return world

    return outlived(stage, points, live)


def killed_before(stage, mode, points):
    """A start is killed, the next one goes on, and then the power fails."""
    def live(faults, at):
        faults.set(CHANGES, KILL_AFTER, at, keeps_data=True)
        with Service(stage.program, stage.root, faults.environment) as service:
            try:
                be_ready(service)
            except Gone:
                pass
        world = stage.world
        if faults.hits == 0:
            return world  # The call would be one of the next start.
        with Service(stage.program, stage.root, faults.environment) as service:
            be_ready(service)
            for step in stage.scenario.steps:
                world = step.learn(step.after(world), step.call(service, stage.work))
            service.end()
        return world

    return outlived(stage, points, live)


def outlived(stage, points, live):
    """The power fails after `live`, which returns what is acknowledged. Ends with the first point that no call reaches."""
    stage.prepare()
    for at in points:
        faults = stage.fresh()
        disk = power.Disk(stage.work)
        stage.scenario.forget()
        try:
            world = live(faults, at)
            for note in notes(faults):
                disk.follow(note)
            flaw = outlive(stage, disk, [world], 0, None, 0, at, set())
        except (AssertionError, Failure, Gone) as problem:
            flaw = f"{type(problem).__name__}: {problem}"
        if faults.hits == 0:
            return
        hit = next(note for note in notes(faults) if note[0].startswith("!"))
        yield Outcome(f"{at} {hit[0][1:]} {os.path.basename(hit[5])}", flaw)


def failing_once(stage, faults, at):
    """A service in which a call fails: one of its start, where that is what is looked at. A start that fails is repeated."""
    first = at if stage.scenario.at_start else 0
    faults.set(CHANGES, FAIL, first, errno.ENOSPC, keeps_data=True)
    service = Service(stage.program, stage.root, faults.environment)
    try:
        be_ready(service)
    except (Failure, Gone):
        service.kill()
        service = Service(stage.program, stage.root, faults.environment)
        be_ready(service)
    stage.set_up(service)
    if not stage.scenario.at_start:
        begin = faults.count
        faults.set(CHANGES, FAIL, begin + at, errno.ENOSPC, keeps_data=True, count=begin)
    return service


def notes(faults):
    return [note for _, note in sorted(power.read_notes(faults.notes), key=lambda note: note[0])]


def outlive(stage, disk, worlds, answered, doing, told, seed, known):
    flaws = []
    for name, state in disk.states(seed):
        if (key := (answered, told, power.digest(state))) in known:
            continue
        known.add(key)
        stage.restore(state)
        # A source that was spooled is not the same file any more.
        resumes = seed % 2 == 1 and not any("/spool/" in path for path in state)
        try:
            flaw = stage.check(worlds[answered:answered + 2], resumes, doing, told, loses_writes=True)
        except (AssertionError, Failure, Gone) as problem:
            flaw = f"{type(problem).__name__}: {problem}"
        if flaw:
            flaws.append(f"{name}: {flaw}")
    return "; ".join(flaws)


MODES = {
    **dict.fromkeys(("kill-after", "kill-before", "torn"), killed), "power": powerless, "enospc-power": doubly_faulty,
    "kill-power": killed_before, "filled": filled,
    **dict.fromkeys(FAULTS, faulty), **dict.fromkeys(("eintr", "eintr-every", "short", "short-every"), hindered),
}
