"""Holds the client to the contract, and its two faces to each other."""

from __future__ import annotations

import ast
import inspect
import os
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, get_args

import storage_rpc
from storage_rpc import (
    AsyncFolderTask,
    AsyncReference,
    AsyncStorage,
    AsyncUploadTask,
    FolderTask,
    Reference,
    Storage,
    UploadTask,
)
from storage_rpc._methods import Method
from storage_rpc.aio.harness import AsyncHarness
from storage_rpc.errors import VERSION
from storage_rpc.harness import Harness

from .support import StorageTestCase

PACKAGE = Path(storage_rpc.__file__).parent
THREADS_ONLY = {"settings", "from_wire", "name", "url", "warnings", "bucket", "full_path", "default_bucket"}
ASYNCIO_ONLY = {"open", "started"}

FACES: list[tuple[type[Any], type[Any]]] = [
    (Storage, AsyncStorage),
    (Reference, AsyncReference),
    (UploadTask, AsyncUploadTask),
    (FolderTask, AsyncFolderTask),
    (Harness, AsyncHarness),
]


def names(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def executed(module: ast.Module) -> Iterator[ast.AST]:
    """What exists when the module runs: what is for type checkers alone does not."""
    for one in module.body:
        if not (isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"):
            yield from ast.walk(one)


def module_at(path: Path) -> Path:
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class ContractTests(StorageTestCase):
    def test_the_methods_are_those_of_the_service(self) -> None:
        storage = self.start(command=None)
        self.assertEqual(list(get_args(Method)), storage.call("initialize")["methods"])
        self.assertEqual(storage.discover()["info"]["title"], "storage-rpc")
        self.assertEqual((storage.ping(), storage.status().engine), ("pong", "embedded"))
        build = next(metric for metric in storage.metrics() if metric["name"] == "storage_rpc_build_info")
        self.assertEqual(build["samples"][0]["labels"]["engine"], "embedded")

    def test_the_version_is_that_of_the_package_and_of_the_service(self) -> None:
        self.assertIn(f'\nversion = "{VERSION}"\n', (PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
        self.assertEqual(self.storage.status().version, VERSION)

    def test_what_is_asked_for_by_hand_is_one_of_them(self) -> None:
        harness = self.storage.call("initialize")["methods"]
        known = {*harness, "auth/refreshToken", "storage/changed"}
        for path in PACKAGE.rglob("*.py"):
            asked = re.findall(r'"(\w+/\w+)"', path.read_text("utf-8"))
            self.assertEqual({name for name in asked if not name.startswith("image/")} - known, set(), path.name)

    def test_both_faces_have_the_same_names(self) -> None:
        for threads, asyncio in FACES:
            self.assertEqual(names(threads) - THREADS_ONLY, names(asyncio) - THREADS_ONLY - ASYNCIO_ONLY)

    def test_both_faces_take_the_same_arguments(self) -> None:
        for threads, asyncio in FACES:
            for name in names(asyncio) & names(threads) - {"id", "kind", "harness"} - THREADS_ONLY:
                ours, theirs = (set(inspect.signature(getattr(kind, name)).parameters) for kind in (threads, asyncio))
                self.assertEqual(ours - {"timeout"}, theirs - {"timeout"}, name)

    def test_descriptions_speak_python(self) -> None:
        for kind in (Reference, AsyncReference, Storage, UploadTask, FolderTask):
            text = pydoc.plain(pydoc.render_doc(kind))
            self.assertNotRegex(text, r"-13\d{3}|\w+T\b'|maxSize\b(?!:)|\bnull\b", kind.__name__)
        text = pydoc.plain(pydoc.render_doc(Reference))
        for said in ("-> 'Listing'", "-> 'UploadTask'", "larger than max_size", "is DownloadSizeExceeded"):
            self.assertIn(said, text)

    def test_without_the_program_the_tests_fail(self) -> None:
        environment = {**os.environ, "STORAGE_RPC": "/no/such/program"}
        command = [sys.executable, "-m", "unittest", "-q", "tests.test_references"]
        run = subprocess.run(command, env=environment, cwd=PACKAGE.parent, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("STORAGE_RPC does not name the program", run.stderr)

    def test_no_modules_import_each_other_in_a_circle(self) -> None:
        imports = {}
        for path in PACKAGE.rglob("*.py"):
            here = path.relative_to(PACKAGE.parent).with_suffix("").parts
            imports[path] = [
                PACKAGE.parent.joinpath(*here[: len(here) - one.level], *(one.module or alias.name).split("."))
                for one in executed(ast.parse(path.read_text("utf-8")))
                if isinstance(one, ast.ImportFrom) and one.level
                for alias in one.names
            ]
        TopologicalSorter(
            {path: {module_at(one) for one in imported} for path, imported in imports.items()}
        ).prepare()  # Raises CycleError.

    def test_the_core_is_small(self) -> None:
        self.assertLess(len((PACKAGE / "_core.py").read_text("utf-8").splitlines()), 200)
