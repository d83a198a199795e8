"""What a client hears of tasks: each event against all that came before it."""
import promises
import seat
from values import TERMINAL


class Seat(seat.Seat):
    def event(self, params, kind):
        handle, snapshot = params["handle"], params["snapshot"]
        task, observer = self.ledger.note(snapshot, kind), self.observers.get(handle)
        self.check(promises.ORDER, observer and observer.task is task, f"{handle} of {task.id} was not told of yet")
        if observer is None:
            return
        status = observer.status
        self.check(promises.REMOVED, not observer.is_removed, f"{handle} was removed, and hears {status}")
        self.check(promises.VALUES, snapshot["status"] == status, f"{handle} for {status} hears {snapshot}")
        observer.count += 1
        if status in TERMINAL:
            self.check(promises.TERMINAL, observer.count == 1, f"{handle} of {task.id} hears {status} again")
            self.ends.add(task.id)
        else:
            self.check(promises.TERMINAL, task.id not in self.ends, f"{handle} of {task.id} hears {status} at last")
        if status == "progress":
            self.progress(task, observer, snapshot["progress"])

    def progress(self, task, observer, progress):
        completed, total = progress["completedUnitCount"], progress["totalUnitCount"]
        if task.kind == "download":  # the object may be another one now, and smaller
            observer.floor = min(observer.floor, total)
        self.check(promises.PROGRESS, observer.floor <= completed, f"{task.id}: {observer.floor}, then {progress}")
        observer.floor = completed
        is_still = task.id in self.still and self.still[task.id] == task.resumes
        self.check(promises.STILL, not is_still, f"{task.id} goes on: {progress}")

    def missing(self):
        """Observers that are to hear of the end of their task, and have not yet."""
        return [
            (handle, each.task.id, each.status) for handle, each in self.observers.items()
            if each.status in TERMINAL and not each.count and not each.is_leaving
            and each.task.end and (each.task.end == "success") == (each.status == "success")]

    def settled(self):
        for handle, task, status in self.missing():
            self.check(promises.TERMINAL, False, f"{handle} of {task} never heard {status}")
        for id, observers in self.of_task.items():
            ends = [each for each in observers if each.status in TERMINAL and each.count]
            self.check(promises.TERMINAL, len({each.status for each in ends}) <= 1, f"{id} ended in two ways")
