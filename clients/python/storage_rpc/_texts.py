"""Texts of values, for `str`."""

from __future__ import annotations

from typing import Any


class ProgressText:
    """Shows progress as bytes and percent."""

    completed_unit_count: int
    total_unit_count: int
    fraction_completed: float

    def __str__(self) -> str:
        percent = int(self.fraction_completed * 100)
        return f"{self.completed_unit_count} of {self.total_unit_count} bytes ({percent} %)"


class SnapshotText:
    """Shows a snapshot as path, state, progress and error."""

    def __str__(self) -> str:
        values = vars(self)
        why = f": {values['error']}" if values["error"] else ""
        if values["retry"]:
            why = f"; waits for attempt {values['retry'].attempt}: {values['retry'].error}"
        return f"{values['reference'].full_path}: {values['state']}, {values['progress']}{why}"


class FolderText:
    """Shows a snapshot of a task over a folder as path, state, progress, files and error."""

    def __str__(self) -> str:
        values = vars(self)
        why = f": {values['error']}" if values["error"] else ""
        where = values["reference"].full_path or values["reference"].bucket
        return f"{where}: {values['state']}, {values['progress']}, {counted(values['files'])}{why}"


def counted(files: Any) -> str:
    """The files of a task over a folder."""
    parts = [f"{files.completed + files.unchanged} of {files.total} files"] if files.total else []
    parts += [f"{files.deleted} of {files.to_delete} deleted"] if files.to_delete else []
    parts += [f"{getattr(files, kind)} {kind}" for kind in ("refused", "failed") if getattr(files, kind)]
    return ", ".join(parts) or "no files"
