"""Texts of values, for `str`."""

from __future__ import annotations


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
