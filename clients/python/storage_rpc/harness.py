# Rendered from aio/harness.py by protocol/render.py: edit that, not this.
"""The harness of a service that was started with `--harness`, for threads. Values are as on the wire."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, overload

from ._changes import glob
from ._files import local_path
from ._harness import (
    AccessRule,
    ClockResult,
    Demanded,
    DisarmResult,
    Entry,
    Expectation,
    Failure,
    Generated,
    Operations,
    SaveResult,
    SeedResult,
    SettledResult,
    SpaceResult,
    Where,
)
from .wire import given, place, source
from .reference import Reference
from ._session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Content = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]
"""Bytes, a text, or the path of a local file."""


class Harness:
    """Lets a test say what goes wrong, where it stops, what time it is, and ask what happened.

    protocol/harness.md describes every param.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @overload
    def arm(self, on: Operations, *, fail: Failure, **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, lose: Failure, **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, hold: Literal[True], **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, corrupt: Literal[True], **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, delay: float, **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, rate: int, **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, demand: Demanded, **where: Unpack[Where]) -> str: ...
    @overload
    def arm(self, on: Operations, *, exit: int, **where: Unpack[Where]) -> str: ...
    def arm(
        self,
        on: Operations,
        *,
        reference: str | None = None,
        task: str | None = None,
        at: int | None = None,
        nth: int | None = None,
        times: int | None = 1,
        rule: str | None = None,
        fail: Failure | None = None,
        lose: Failure | None = None,
        hold: bool | None = None,
        corrupt: bool | None = None,
        delay: float | None = None,
        rate: int | None = None,
        demand: Demanded | None = None,
        exit: int | None = None,
    ) -> str:
        """Arms a rule with one effect, `fail` to `exit`, and returns its name. `times=None` means every call.

        >>> storage.harness.arm("send", nth=3, fail={"error": "unauthorized"})
        >>> storage.harness.arm("send", at=1 << 20, hold=True)
        """
        do = given(
            fail=fail, lose=lose, hold=hold, corrupt=corrupt, delay=delay, rate=rate, demand=demand, exit=exit
        )
        params = given(on=on, reference=reference, task=task, at=at, nth=nth, rule=rule)
        result = self._call(dict, "harness/arm", **params, times=times, do=do)
        return str(result["rule"])

    def disarm(self, rule: str | None = None) -> DisarmResult:
        """Removes one rule, or all. Returns how often each has struck, and which never did."""
        return self._call(DisarmResult, "harness/disarm", **given(rule=rule))

    def release(
        self,
        *,
        hold: str | None = None,
        rule: str | None = None,
        fail: Failure | None = None,
        lose: Failure | None = None,
    ) -> int:
        """Lets one hold, those of a rule, or all go on; with `fail` or `lose` they end so. Returns how many."""
        do = given(fail=fail, lose=lose) or None
        result = self._call(dict, "harness/release", **given(hold=hold, rule=rule, do=do))
        return int(result["released"])

    def clock(
        self,
        *,
        at: str | None = None,
        advance: float | None = None,
        to_next: bool | None = None,
        run: Literal["real", "skip"] | None = None,
    ) -> ClockResult:
        """Stops, moves or runs the clock. Returns its time, and how many sleep on it."""
        return self._call(ClockResult, "harness/clock", **given(at=at, advance=advance, toNext=to_next, run=run))

    def settled(self) -> SettledResult:
        """Returns when the service is idle until the next request."""
        return self._call(SettledResult, "harness/settled")

    def journal(
        self,
        on: Operations | None = None,
        *,
        reference: str | None = None,
        task: str | None = None,
        since: int | None = None,
        expect: Expectation | None = None,
        wait: bool | None = None,
    ) -> list[Entry]:
        """What the engine was asked, and how that ended. Raises RPCError with -13900 where `expect` does not hold."""
        params = given(on=on, reference=reference, task=task, since=since, expect=expect, wait=wait)
        result = self._call(dict, "harness/journal", **params)
        return list(result["entries"])

    def space(
        self,
        name: str | None = None,
        *,
        seed: int | None = None,
        buckets: list[str] | None = None,
        quota: int | None = None,
        keep: bool | None = None,
        gateway: bool | None = None,
    ) -> SpaceResult:
        """Enters the space of that name, or a new one, whose objects, tasks, rules, clock and ids are its own.

        Returns its name, the socket whose clients are in it, whether it is new, and with `gateway` the host and port to
        which SDKs go.
        """
        params = given(space=name, seed=seed, buckets=buckets, quota=quota, keep=keep, gateway=gateway)
        return self._call(SpaceResult, "harness/space", **params)

    def authorize(
        self, rules: Iterable[AccessRule] = (), *, default: Literal["allow", "deny"] = "allow"
    ) -> None:
        """Says who may do what through the gateway of the space; the first rule that fits counts.

        >>> storage.harness.authorize([{"prefix": "gs://b/private/", "who": {"uid": "alice"}}])
        """
        self._call(dict, "harness/authorize", rules=[dict(rule) for rule in rules], default=default)

    @overload
    def seed(self, objects: Mapping[Reference | str, Content]) -> SeedResult: ...
    @overload
    def seed(
        self, *, directory: str | os.PathLike[str], into: Reference | str | None = None
    ) -> SeedResult: ...
    @overload
    def seed(self, *, generate: Generated) -> SeedResult: ...
    def seed(
        self,
        objects: Mapping[Reference | str, Content] | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        into: Reference | str | None = None,
        generate: Generated | None = None,
    ) -> SeedResult:
        """Stores objects without tasks, rules and events, all or none. Returns how many, and their bytes.

        >>> storage.harness.seed({storage.reference("a.txt"): "Hello", "gs://photos/b.png": Path("b.png")})
        >>> storage.harness.seed(directory="fixtures", into="gs://photos/2026")
        >>> storage.harness.seed(generate={"reference": "gs://photos/{n}", "count": 10_000, "size": 100})
        """
        params = given(
            objects=None if objects is None else [seeded(reference, content) for reference, content in objects.items()],
            directory=None if directory is None else local_path(directory),
            into=None if into is None else place(into),
            generate=generate,
        )
        return self._call(SeedResult, "harness/seed", **params)

    def save(self, snapshot: str) -> SaveResult:
        """Keeps the current objects for `reset`, when nothing moves. Returns how many, and their bytes."""
        return self._call(SaveResult, "harness/save", snapshot=snapshot)

    def reset(self, snapshot: str | None = None) -> None:
        """Restarts, from a snapshot or without objects: without tasks and rules, with the first ids and times."""
        self._call(dict, "harness/reset", **given(snapshot=snapshot))

    def wait_for(self, pattern: str, *, within: float = 30) -> Reference:
        """Returns an object whose path fits the pattern, once there is one: `**` fits anything, `*` all but a slash.

        Raises `TimeoutError` after so many seconds. The pattern is of the default bucket, or begins with `gs://BUCKET/`.

        >>> (storage.harness.wait_for("uploads/**")).name
        'a.txt'
        """
        bucket, path = split(pattern, self._session.default_bucket)
        end, wanted = time.monotonic() + within, glob(path)
        root = Reference.from_wire(
            self._session, {"bucket": bucket, "fullPath": "", "name": "", "url": f"gs://{bucket}/"}
        )
        with root.changes() as changes:
            found = listed(root, wanted)
            while found is None:
                try:
                    change = changes.next(max(0, end - time.monotonic()))
                except TimeoutError:
                    raise TimeoutError(f"No object fits {pattern!r} after {within} seconds.") from None
                if change is not None and change.change == "missed":
                    found = listed(root, wanted)
                elif change is not None and change.change != "deleted" and wanted.fullmatch(change.reference.full_path):
                    found = change.reference
        return found

    def _call(self, kind: type[T], method: str, **params: Any) -> T:
        return self._session._ask(method, params, lambda result: cast("T", result))


def split(pattern: str, bucket: str) -> tuple[str, str]:
    """The bucket and the path of a pattern."""
    if not pattern.startswith("gs://"):
        return bucket, pattern
    bucket, _, path = pattern[len("gs://") :].partition("/")
    return bucket, path


def listed(root: Reference, wanted: re.Pattern[str]) -> Reference | None:
    """The first object whose path fits."""
    for item in root.walk():
        if wanted.fullmatch(item.full_path):
            return item
    return None


def seeded(reference: Reference | str, content: Content) -> dict[str, Any]:
    if isinstance(content, os.PathLike):
        return {"reference": place(reference), "file": local_path(content)}
    return {"reference": place(reference), **source(content)}
