"""What must hold, how often it was looked at, and where it did not hold."""
import collections

ANSWERS = "every request gets exactly one answer"
VALUES = "answers are those to what was asked"
ORDER = "an observer's first event comes after the answer that made it"
PROGRESS = "progress never falls and never passes the total"
TERMINAL = "exactly one terminal event, and nothing after it"
REMOVED = "a removed observer hears nothing"
STILL = "after a pause all is still"
FINAL = "an end stays what it was"
CONNECTIONS = "connections live as long as their clients want"
TASKS = "no task is lost, and all end"
COUNTS = "the status counts what is there"
OBJECTS = "objects read back whole, and are the last that were stored"
FILES = "downloads are whole, and nothing lies beside them"
ROOT = "the root holds what objects need"
DESCRIPTORS = "descriptors are as many as before"
THREADS = "threads are no more than the pools allow"
MEMORY = "memory does not grow with messages"
HOSTILE = "attacks are refused by name, and harm nobody else"
END = "SIGTERM ends it with 0 and nothing on stderr"
ALL = [
    ANSWERS, VALUES, ORDER, PROGRESS, TERMINAL, REMOVED, STILL, FINAL, CONNECTIONS, TASKS, COUNTS, OBJECTS, FILES,
    ROOT, DESCRIPTORS, THREADS, MEMORY, HOSTILE, END]


class Promises:
    def __init__(self):
        self.kept, self.broken = collections.Counter(), collections.defaultdict(list)

    def check(self, name, holds, flaw):
        if holds:
            self.kept[name] += 1
        else:
            self.broken[name].append(flaw)

    def tell(self):
        """One line for each promise; one that was never put to the test is not kept. How many are not."""
        failed = 0
        for name in ALL:
            flaws = self.broken[name]
            failed += bool(flaws) or not self.kept[name]
            print(f"{name}: {self.kept[name]} of {self.kept[name] + len(flaws)}", *flaws[:5], sep="\n    ")
        print(f"{len(ALL) - failed} passed, {failed} failed")
        return failed
