# Rendered from aio/harness.py by protocol/render.py: edit that, not this.
"""The harness of a service that was started with `--harness`, for threads. Values are as on the wire."""

from __future__ import annotations

from typing import Any

from .wire import given
from ._session import Session


class Harness:
    """Lets a test say what goes wrong, where it stops, what time it is, and ask what happened.

    protocol/harness.md describes every param.
    """

    def __init__(self, session: Session[Any]) -> None:
        self._session = session

    def arm(
        self,
        on: str | list[str],
        *,
        reference: str | None = None,
        task: str | None = None,
        at: int | None = None,
        nth: int | None = None,
        times: int | None = 1,
        rule: str | None = None,
        **do: Any,
    ) -> str:
        """Arms a rule, and returns its name. `do` is one effect; `times=None` means every call.

        >>> storage.harness.arm("send", nth=3, fail={"error": "unauthorized"})
        >>> storage.harness.arm("send", at=1 << 20, hold=True)
        """
        params = given(on=on, reference=reference, task=task, at=at, nth=nth, rule=rule)
        result = self._call("harness/arm", **params, times=times, do=do)
        return str(result["rule"])

    def disarm(self, rule: str | None = None) -> Any:
        """Removes one rule, or all. Returns how often each has struck, and which never did."""
        return self._call("harness/disarm", **given(rule=rule))

    def release(self, *, hold: str | None = None, rule: str | None = None, **do: Any) -> int:
        """Lets one hold, those of a rule, or all go on; with `fail` or `lose` they end so. Returns how many."""
        result = self._call("harness/release", **given(hold=hold, rule=rule, do=do or None))
        return int(result["released"])

    def clock(
        self,
        *,
        at: str | None = None,
        advance: float | None = None,
        to_next: bool | None = None,
        run: str | None = None,
    ) -> Any:
        """Stops, moves or runs the clock. Returns its time, and how many sleep on it."""
        return self._call("harness/clock", **given(at=at, advance=advance, toNext=to_next, run=run))

    def settled(self) -> Any:
        """Returns when nothing happens any more unless somebody does something."""
        return self._call("harness/settled")

    def journal(
        self,
        on: str | list[str] | None = None,
        *,
        reference: str | None = None,
        task: str | None = None,
        since: int | None = None,
        expect: Any = None,
        wait: bool | None = None,
    ) -> list[Any]:
        """What the engine was asked, and how that ended. Raises RPCError with -13900 where `expect` does not hold."""
        params = given(on=on, reference=reference, task=task, since=since, expect=expect, wait=wait)
        result = self._call("harness/journal", **params)
        return list(result["entries"])

    def _call(self, method: str, timeout: float | None = None, **params: Any) -> Any:
        return self._session._ask(method, params, lambda result: result, timeout)
