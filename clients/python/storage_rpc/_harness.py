# Rendered from protocol/harness.json by protocol/render.py: edit that, not this.
"""The values of the harness, as on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Union

from ._types import State, TokenKind

if TYPE_CHECKING:
    from typing_extensions import NotRequired

ErrorName = Literal[
    "unknown",
    "objectNotFound",
    "bucketNotFound",
    "projectNotFound",
    "quotaExceeded",
    "unauthenticated",
    "unauthorized",
    "retryLimitExceeded",
    "nonMatchingChecksum",
    "downloadSizeExceeded",
    "cancelled",
    "invalidArgument",
    "bucketMismatch",
    "internalError",
    "pathError",
    "preconditionFailed",
]
"""The name of an error."""


class Who(TypedDict):
    """With uid."""

    uid: str


class AccessRule(TypedDict):
    """Who may do something with some objects."""

    prefix: NotRequired[str]
    """The beginning of `gs://` URLs; all by default. The URL of a list is that of the folder, with a slash at its
    end.
    """
    operation: NotRequired[Literal["get", "list", "create", "update", "delete", "*"]]
    """`create` and `update` are uploads, and `update` is a change of metadata, too; all by default."""
    who: Literal["anybody", "signedIn", "owner"] | Who
    """`signedIn` is every caller with a token; a `uid` is its `sub` or `user_id`."""


Operation = Literal[
    "open",
    "send",
    "query",
    "whole",
    "copy",
    "move",
    "fetch",
    "getMetadata",
    "updateMetadata",
    "delete",
    "list",
    "getData",
    "downloadURL",
    "revokeDownloadURL",
]
"""A request to the engine. `open`, `send` and `query` are steps of an upload in chunks, `whole` is an upload of one
request, which with the harness has at most 64 KiB, `copy` and `move` are the request or the requests of such a task;
its reference is the new object. On a remote engine `open` comes before them. `fetch` is one attempt of a download.
"""


class Failure(TypedDict, total=False):
    """What a failing call tells."""

    error: ErrorName
    """The name of an error; by default that of httpStatus on a remote engine, else `unknown`."""
    httpStatus: int
    message: str
    serverResponse: str
    retryable: bool
    """By default true for the statuses 408, 429 and from 500 on."""
    retryAfter: float
    """Seconds."""


class Ending(TypedDict, total=False):
    """`fail`: the engine is not called, and the failure is the answer. `lose`: the engine executes the call, and the
    failure replaces its answer; the next `query` finds an upload that has ended.
    """

    fail: Failure
    lose: Failure


class Hold(TypedDict):
    """A call that waits until it is released."""

    hold: str
    """Its id."""
    rule: str
    """The rule that holds it."""
    on: Operation
    reference: str
    """A `gs://` URL."""
    task: NotRequired[str]
    """The id of the task."""
    at: NotRequired[int]
    """The byte at which the step begins."""


class Entry(TypedDict):
    """A call to the engine that has ended."""

    number: int
    """From 1 on."""
    at: str
    """When it ended (RFC 3339)."""
    on: Operation
    reference: str
    """A `gs://` URL."""
    task: NotRequired[str]
    """The id of the task."""
    bytes: NotRequired[list[int]]
    """The positions of the first byte of the step, and of the byte after its last one. Both are the first position
    for a download that has failed.
    """
    outcome: str
    """`ok`, the name of an error, or `aborted` by a pause or a cancellation."""
    rule: NotRequired[str]
    """The rule that was applied."""


class Expectation1(TypedDict):
    """With count."""

    count: int


class Expectation2(TypedDict, total=False):
    """With atLeast and atMost."""

    atLeast: int
    atMost: int


class Where(TypedDict, total=False):
    """The calls that a rule applies to."""

    reference: str
    task: str
    at: int
    nth: int
    times: int | None
    rule: str


class DisarmResult(TypedDict):
    """The answer to `disarm`."""

    fired: Mapping[str, int]
    """How often each rule was applied, by its name."""
    unfired: list[str]
    """The rules that were never applied."""


class ClockResult(TypedDict):
    """The answer to `clock`."""

    now: str
    """Its time of day (RFC 3339)."""
    stands: bool
    """It moves only when this method moves it."""
    sleeping: int
    """How many tasks and operations wait for a moment."""


class Resting(TypedDict):
    """With task and at."""

    task: str
    at: str
    """RFC 3339."""


class SettledResult(TypedDict):
    """The answer to `settled`."""

    tasks: Mapping[State, int]
    held: list[Hold]
    resting: list[Resting]
    """The tasks that wait before a retry, and until when."""


class SpaceResult(TypedDict):
    """The answer to `space`."""

    space: str
    """Its name."""
    socket: str
    """The path of a Unix socket whose connections are in the space."""
    isNew: bool
    gateway: NotRequired[str]
    """Host and port of its gateway, as `FIREBASE_STORAGE_EMULATOR_HOST` has them; absent where it has none."""


class SeedResult(TypedDict):
    """The answer to `seed`."""

    objects: int
    bytes: int


class Generated(TypedDict):
    """With reference and count and size."""

    reference: str
    count: int
    size: int
    """Bytes."""


class SaveResult(TypedDict):
    """The answer to `save`."""

    snapshot: str
    objects: int
    bytes: int


class Demanded(TypedDict):
    """A caller without one of these tokens is refused: the service sends auth/refreshToken with `refused`, then fails
    with -13020.
    """

    accept: list[str]
    kind: NotRequired[TokenKind]


Expectation = Union[list[str], Expectation1, Expectation2]
"""The outcomes of all entries in their order (`ok`, `aborted`, names of errors), or how many entries there are."""

Operations = Union[Operation, Literal["*"], Sequence[Operation]]
"""One operation, several, or all."""
