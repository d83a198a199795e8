"""A small command: `python3 -m storage_rpc put FILE REFERENCE`."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .errors import StorageError
from .progress import ProgressBar
from .reference import Reference
from .storage import Storage
from .values import Metadata


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def version(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return number


def parser() -> Parser:
    options = Parser(add_help=False)
    options.add_argument("--socket", metavar="PATH", help="use the service on this socket instead of starting one")
    options.add_argument("--root", metavar="DIR", help="the root of the service")
    options.add_argument("--shared", action="store_true", help="use the service that all clients of the root share")
    options.add_argument("--bucket", metavar="NAME", help="the bucket of a REFERENCE that is a path")
    whole = Parser(prog="python3 -m storage_rpc", description="Storage, from the command line.")
    commands = whole.add_subparsers(dest="command", required=True, metavar="put|metadata")
    resumes = "Ctrl-C, which ends the command with status 130, and a kill pause the upload; the same command resumes it."
    put = commands.add_parser("put", parents=[options], help="upload a file", description=f"Uploads a file. {resumes}")
    put.add_argument("file", metavar="FILE")
    for name in ("generation", "metageneration"):
        put.add_argument(
            f"--if-{name}-match", type=version, metavar="N", help=f"only if the object has this {name}; 0: only if there is none"
        )
    metadata = commands.add_parser("metadata", parents=[options], help="show the metadata of an object")
    for command in (put, metadata):
        command.add_argument("reference", metavar="REFERENCE", help="gs://BUCKET/PATH, or a PATH")
    return whole


def put(reference: Reference, options: argparse.Namespace) -> Metadata:
    """Uploads. Ctrl-C and a kill pause the upload, and the same command resumes it."""
    conditions = options.if_generation_match, options.if_metageneration_match
    request = (os.path.abspath(options.file), reference.bucket, reference.full_path, reference.object, *conditions)
    with ProgressBar() as bar:
        task = reference.put_file(
            options.file,
            if_generation_match=options.if_generation_match,
            if_metageneration_match=options.if_metageneration_match,
            key="storage_rpc put " + hashlib.sha256(repr(request).encode()).hexdigest(),
        )
        if task.continued:
            print(f"resuming {options.file}", file=sys.stderr)
        task.observe("progress", bar)
        return task.wait()


def show(metadata: Metadata) -> None:
    for field in dataclasses.fields(metadata):
        value = getattr(metadata, field.name)
        if field.name == "custom_metadata":
            for key in value:
                print(f"{field.name}.{key}: {value[key]}")
        elif value is not None:
            print(f"{field.name}: {value}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 done, 1 failed, 130 interrupted; an invalid command line exits with 64."""
    options = parser().parse_args(arguments)
    if options.socket and (options.root or options.shared):
        parser().error("--root and --shared are not for a service on a socket")
    try:
        with Storage(
            socket=options.socket, root=options.root, shared=options.shared, bucket=options.bucket, pauses_tasks=True
        ) as storage:
            reference = storage.reference(options.reference)
            show(put(reference, options) if options.command == "put" else reference.get_metadata())
        return 0
    except (StorageError, TimeoutError, ValueError) as error:
        print(f"storage_rpc: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        paused = "paused; the same command resumes the upload" if options.command == "put" else "interrupted"
        print(f"storage_rpc: {paused}", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
