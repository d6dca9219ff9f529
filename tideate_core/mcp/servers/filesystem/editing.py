"""Places of a text and what is to stand there: word for word where that is one place, else by whole lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits import Part, apply_parts, find_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import FileChange, language_of, unified_diff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.mcp.servers.filesystem.arguments import Edit
    from tideate_core.workspace import Source

__all__ = ["edited"]


def edited(source: Source, edits: Sequence[Edit]) -> tuple[FileChange, str, list[str]]:
    """Return the change that edits make of a text one after another, its diff, and how places were found.

    :raises UnusableAnswer: one has no place, or several; none is made then.
    """
    text, notes = source.text, list[str]()
    for number, edit in enumerate(edits, 1):
        text, note = _one(text, edit, f"edit {number}", language_of(source.path))
        notes.append(note)
    change = FileChange(source.path, "modify", source.text, text)
    return change, unified_diff(change), notes


def _one(text: str, edit: Edit, name: str, language: str) -> tuple[str, str]:
    old, new = _plain(edit.old_text), _plain(edit.new_text)
    # the last line's end is no part of the text, and may be in what is searched
    whole = f"{text}\n"
    at = whole.find(old)
    if at >= 0 and whole.find(old, at + 1) < 0:
        _refuse_left_out(new, text, name, language)
        changed = f"{whole[:at]}{new}{whole[at + len(old) :]}"
        line = whole.count("\n", 0, at) + 1
        return changed.removesuffix("\n"), f"{name} was found at line {line} exactly"
    part = Part(name, ((_lines(old), _lines(new)),))
    done = apply_parts(text.split("\n"), [part], language=language)
    return "\n".join(done.lines), str(done.places[0])


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _lines(text: str) -> tuple[str, ...]:
    """Return whole lines; the end of the last one is none of its own."""
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def _refuse_left_out(new: str, text: str, name: str, language: str) -> None:
    lines = new.split("\n")
    left_out = find_placeholder(lines, text.split("\n"), language)
    if left_out is not None:
        raise UnusableAnswer(
            f"{name} has the line {lines[left_out].strip()!r}, which stands for lines that you left out; "
            "write all of them"
        )
