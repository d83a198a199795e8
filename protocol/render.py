#!/usr/bin/env python3
"""Renders what can be said from openrpc.json and harness.json: reference.md, harness.md, the errors in README.md, and the clients' tables and types.

With --check it writes nothing, and exits with 1 where any of it is stale.
"""

import json
import sys
from pathlib import Path

from rendering import markdown, node, python, python_faces, python_harness, swift

HERE = Path(__file__).resolve().parent


def pages():
    """The text of each file that is rendered."""
    document = json.loads((HERE / "openrpc.json").read_text(encoding="utf-8"))
    readme = HERE / "README.md"
    harness = json.loads((HERE / "harness.json").read_text(encoding="utf-8"))
    texts = {
        HERE / "harness.md": markdown.harness(harness, document),
        HERE / "reference.md": markdown.reference(document, readme.read_text(encoding="utf-8")),
        readme: markdown.with_errors(readme.read_text(encoding="utf-8"), document),
    }
    for language, folder in ((python, "clients/python/storage_rpc"), (node, "clients/node")):
        folder = HERE.parent / folder
        texts.update((folder / name, text) for name, text in language.render(document, folder).items())
    folder = HERE.parent / "clients/swift/StorageRPC/Rendered"
    texts.update((folder / name, text) for name, text in swift.render(document, harness).items())
    folder = HERE.parent / "clients/python/storage_rpc"
    texts.update((folder / name, text) for name, text in python_faces.render(folder).items())
    texts.update((folder / name, text) for name, text in python_harness.render(document, harness).items())
    return texts


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage: render.py [--check]")
    texts = pages()
    stale = [page for page, text in texts.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    if not sys.argv[1:]:
        for page in stale:
            page.write_text(texts[page], encoding="utf-8")
    elif stale:
        names = " and ".join(str(page.relative_to(HERE.parent)) for page in stale)
        sys.exit(f"{names} must be rendered anew: run python3 protocol/render.py")


if __name__ == "__main__":
    main()
