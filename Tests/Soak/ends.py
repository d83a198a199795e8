"""What must hold when all has ended and all clients but one are gone."""
import base64
import collections
import hashlib
import os
import sqlite3

import promises
from service import until

MOST = 20000  # tasks of each kind that are still known after their end
GROWTH = 32 * 1024  # KiB that memory may differ by
THREADS = {  # the limit of each pool of threads
    "downloads": 24, "files": 16, "bytes": 16, "send file": 8, "md5": 4, "patterns": 4, "verify": 2, "folders": 2,
    "spool": 2, "streams": 2, "spaces": 2, "store": 1, "reading": 1, "index": 1, "loop": 1, "messages": 1,
    "large messages": 1, "answers": 1, "free memory": 1, "clean": 1, "room": 1, "sockets": 1}
OTHERS = 4 + 3 * os.cpu_count()  # the main thread, and those of Swift and Dispatch


def check(service, ledger, listed, measured):
    keep = ledger.promises.check
    for kind, tasks in listed.items():
        known = {task["task"] for task in tasks}
        told = sorted((each for each in ledger.tasks.values() if each.kind == kind), key=lambda each: each.order or 0)
        for each in told if len(told) <= MOST else told[-MOST // 2 :]:
            is_known, what = each.id in known, f"{kind} {each.id}: {each.end}"
            if is_known or not each.may_be_forgotten:  # else who asked for that may have left before the answer
                keep(promises.TASKS, each.end and is_known, f"{what}, known: {is_known}")
            keep(promises.TASKS, not (each.is_forgotten and is_known), f"{what}, forgotten and known")
    states = collections.Counter(task["state"] for tasks in listed.values() for task in tasks)
    status = service.call("service/status")
    counted = {state: count for state, count in status["tasks"].items() if count}
    keep(promises.COUNTS, counted == states and status["connections"] == 1, f"{status} for {states}")
    for name, (generation, md5) in ledger.newest.items():
        stored(service, ledger, keep, name, generation, md5)
    for file in (ledger.place / "fetched").iterdir():
        md5 = base64.b64encode(hashlib.md5(file.read_bytes()).digest()).decode()
        keep(promises.FILES, md5 in ledger.whole, f"{file.name}: {file.stat().st_size} bytes")
    (old, _, memory), (new, threads, grown) = measured
    keep(promises.DESCRIPTORS, new == old, f"{old} at first, then {new}")
    others = sum(count for name, count in threads.items() if name not in THREADS)
    is_limited = all(threads[name] <= limit for name, limit in THREADS.items()) and others <= OTHERS
    keep(promises.THREADS, is_limited, f"{dict(threads)}")
    keep(promises.MEMORY, grown <= memory + GROWTH, f"{memory} KiB at first, then {grown}")
    root(service.root, keep)
    keep(promises.END, (end := service.end()) == (0, ""), end)


def stored(service, ledger, keep, name, generation, md5):
    url = f"gs://b/{name}"
    answer = service.answer("reference/getMetadata", reference=url)
    if "error" in answer:
        keep(promises.OBJECTS, url in ledger.deleted, f"{name} is lost: {answer}")
        return
    metadata = answer["result"]
    is_newest = int(metadata["generation"]) == generation and metadata["md5Hash"] == md5
    keep(promises.OBJECTS, is_newest or int(metadata["generation"]) > generation, f"{name} is old: {metadata}")
    data = base64.b64decode(service.call("reference/getData", reference=url, maxSize=1 << 24)["data"])
    is_whole = data == ledger.whole[metadata["md5Hash"]].bytes and metadata["md5Hash"] in ledger.stored[name]
    keep(promises.OBJECTS, is_whole, f"{name} is not whole: {metadata}")


def root(place, keep):
    def surplus():
        database = sqlite3.connect(f"file:{place}/storage.sqlite3?mode=ro", uri=True)
        wanted = dict(database.execute("SELECT CAST(file AS TEXT), size FROM objects WHERE file NOT NULL"))
        (bodies,), = database.execute("SELECT count(*) FROM bodies")
        (small,), = database.execute("SELECT count(*) FROM objects WHERE file IS NULL AND size > 0")
        database.close()
        there = {file.name: file.stat().st_size for file in (place / "objects").iterdir()}
        # The empty ones are made ahead.
        there = {name: size for name, size in there.items() if size > 0 or name in wanted}
        spooled = list((place / "spool").iterdir()) if (place / "spool").exists() else []
        return [sorted(there.items() ^ wanted.items()), spooled, bodies - small]
    keep(promises.ROOT, until(lambda: not any(surplus()[:2])), f"too much or too little: {surplus()}")
