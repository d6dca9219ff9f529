"""Records of staged edits: of a text only the lines that change."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from tideate_core.workspace import Hunk, apply_hunks, diff_lines, lines_of

__all__ = ["RecordedFile", "RecordedText", "recorded_text", "text_of_record"]

RecordedText: TypeAlias = "str | list[dict[str, Any]] | None"
"""A whole text, the hunks that lead to it, or None where there is to be no file."""


class RecordedFile(TypedDict, total=False):
    """The part of an exported change that is about one file."""

    shown: str
    """Digest of the text that a model was shown."""
    before: str | None
    """The text that was read before the first change of the file; only with that change."""
    now: RecordedText
    """The text that is wanted, by the one that the export before led to."""
    moved_from: str
    """The file was there when it was read."""
    bytes_to: str
    """The new path of a file that is no text; empty if it is deleted."""


def recorded_text(before: str | None, now: str | None) -> RecordedText:
    """Return how one text becomes the other, in few characters."""
    if before is None or now is None:
        return now
    return [hunk.as_json() for hunk in diff_lines(lines_of(before), lines_of(now))]


def text_of_record(before: str | None, record: RecordedText) -> str | None:
    """Return the text that `recorded_text` tells of.

    :raises EditConflict: it was made for another text.
    """
    if record is None or isinstance(record, str):
        return record
    hunks = [Hunk(one["start"], tuple(one["old"]), tuple(one["new"])) for one in record]
    return "\n".join(apply_hunks(lines_of(before), hunks))
