"""Records of staged edits: of a text, only the lines that change."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from tideate_core.workspace import Hunk, apply_hunks, diff_lines, lines_of

__all__ = ["RecordedFile", "RecordedText", "recorded_text", "text_of_record"]

RecordedText: TypeAlias = "str | list[dict[str, Any]] | None"
"""A whole text, the hunks that lead to it, or None if the file does not exist."""


class RecordedFile(TypedDict, total=False):
    """Part of an exported change about one file."""

    shown: str
    """Digest of the text shown to a model."""
    before: str | None
    """Original text of the file; only in its first change."""
    now: RecordedText
    """The new text, relative to that of the last export."""
    moved_from: str
    """Path of the file when it was read."""
    bytes_to: str
    """New path of a binary file; empty if it is deleted."""


def recorded_text(before: str | None, now: str | None) -> RecordedText:
    """Return a compact record of the change from one text to another."""
    if before is None or now is None:
        return now
    return [hunk.as_json() for hunk in diff_lines(lines_of(before), lines_of(now))]


def text_of_record(before: str | None, record: RecordedText) -> str | None:
    """Return the new text of a record made by `recorded_text`.

    :raises EditConflict: the record was made for another text.
    """
    if record is None or isinstance(record, str):
        return record
    hunks = [Hunk(one["start"], tuple(one["old"]), tuple(one["new"])) for one in record]
    return "\n".join(apply_hunks(lines_of(before), hunks))
