"""The Python client's face for threads, from that for asyncio: the same modules without `async` and `await`."""

import re

MODULES = ("harness.py", "reference.py", "storage.py", "streams.py", "tasks.py")
TIMEOUT = "timeout: float | None = None"
RULES = (
    (r"\bfrom \.\.", "from ."),
    (r"\bStopAsync|\bAsync(?=[A-Z])", lambda match: match[0][:-5]),
    (r"\basync (?=def|for|with)", ""),
    (r"__a(iter|next|enter|exit)__", r"__\1__"),
    (r"\basyncio(\.Event|\n)", r"threading\1"),
    (r"\b_from_wire\b", "from_wire"),
    (r"for asyncio\b", "for threads"),
    (r"\(await (.*(?:_file\(.*?\)|task))\)\.", r"\1.wait()."),  # an example that awaits a task
    (r"\bawait ", ""),
    (r"def (snapshot|(?:upload|download|folder)_tasks)\(self\)", rf"def \1(self, *, {TIMEOUT})"),
    (r"def wait\(self\)", rf"def wait(self, {TIMEOUT})"),
    (r"self\.task\.wait\(\)", "self.task.wait(timeout)"),
    (r"(states: .* = None)\)", rf"\1, *, {TIMEOUT})"),
    (r"(max_results: int = 1000)\)", rf"\1, *, {TIMEOUT})"),
    (r"(max_results: int)\n", rf"\1, {TIMEOUT}\n"),
    (r"(self, method: str)", rf"\1, {TIMEOUT}"),
    (r"(metadata: bool \| None = None)\n", rf"\1, *, {TIMEOUT}\n"),
    (r"(exact: bool \| None = None)\) -> It", rf"\1, *, {TIMEOUT}) -> It"),
    (r"(metadata: bool \| None)\n", r"\1, timeout: float | None\n"),
    (r"(_pages\(exact, \w+, \w+)\)", r"\1, timeout)"),
    (r"(\(exact, recursive|recursive=recursive)\)", r"\1, timeout=timeout)"),
    (r"_pages\(\)", "_pages(timeout=timeout)"),
    (r"(\(type\(self\)\)|Task, max_results|page\(kind\)|_to_items|lambda result: result)\)\n", r"\1, timeout)\n"),
)
DIFFERENCES = (  # between the descriptions of both
    (
        r"part of all tasks\.\n\n.*`wait` only waits\.\n",
        "part of all tasks. All methods may be called from any thread, and from callbacks.\n",
    ),
    (
        r"    \.\.\.     for snapshot in ([^\n]*)\(\"space.jpg\"\):\n[^\n]*\n",
        r'    ...     \1("space.jpg", on_progress=print).wait()' + "\n",
    ),
    (
        r"    All calls must come .*?\"storage_rpc\"\.\n",
        "    All calls may come from any thread, and from callbacks; callbacks run one at a time, on a thread of the\n"
        '    session. What the service writes to stderr goes to the logger "storage_rpc".\n',
    ),
)


def threads(name, page):
    for pattern, replacement in RULES:
        page = re.sub(pattern, replacement, page)
    for pattern, replacement in DIFFERENCES:
        page = re.sub(pattern, replacement, page, flags=re.DOTALL)
    return f"# Rendered from aio/{name} by protocol/render.py: edit that, not this.\n" + page


def render(folder):
    return {name: threads(name, (folder / "aio" / name).read_text(encoding="utf-8")) for name in MODULES}
