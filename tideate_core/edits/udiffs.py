"""Unified diffs as models write them: with wrong line numbers, without counts, without a file's header."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.edits.fences import split_at_fences
from tideate_core.edits.hunks import added_lines, counts_of, read_hunks
from tideate_core.edits.naming import path_in
from tideate_core.edits.parts import FileEdit
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["has_diff", "parse_diff"]

_GIT = "diff --git "
_NOWHERE = "/dev/null"
_HEADER = ("index ", "old mode ", "new mode ", "new file mode ", "similarity index ", "dissimilarity index ")

_MODE = re.compile(r"(?:(?:old|new|new file|deleted file) mode|index [0-9a-f]+\.\.[0-9a-f]+) (?P<mode>\d+)")
_TEXT_MODES = ("100644", "100755")


@dataclass(slots=True)
class _Section:
    """One file's part of a diff."""

    old: str = ""
    new: str = ""
    moved: bool = False
    deleted: bool = False
    body: list[str] = field(default_factory=list)


def has_diff(answer: str) -> bool:
    """Whether an answer tries to be a diff."""
    return _start(answer.split("\n")) is not None


def parse_diff(answer: str) -> list[FileEdit]:
    """Return what the diffs of an answer want; what stands before them and after their fences is left out.

    :raises UnusableAnswer: it is not complete, or it cannot be told whether it is.
    """
    edits: list[FileEdit] = []
    regions = split_at_fences(answer.replace("\r\n", "\n").split("\n"))
    for number, (lines, ended) in enumerate(regions):
        start = _start(lines)
        if start is None:
            continue
        if not ended:
            while lines and not lines[-1]:
                lines.pop()  # the end of the answer
            # regions outside of fences and inside take turns
            _refuse_open_end(lines[start:], in_fence=number % 2 == 1)
        edits += [_edit(section) for section in _sections(lines[start:])]
    if not edits:
        raise UnusableAnswer("the diff has no changes; write hunks of lines that begin with a blank, - or +")
    return edits


def _start(lines: Sequence[str]) -> int | None:
    """Return where a diff begins among other lines."""
    for at, line in enumerate(lines):
        if _is_pair(lines, at, in_body=False) or line.startswith((_GIT, "@@ ")) or line.rstrip() == "@@":
            return at
    return None


def _is_pair(lines: Sequence[str], at: int, *, in_body: bool) -> bool:
    """Whether a file is named here by two lines; a removed ``-- x`` before an added ``++ y`` looks alike."""
    if not lines[at].startswith("--- ") or at + 1 >= len(lines) or not lines[at + 1].startswith("+++ "):
        return False
    after = next((line for line in lines[at + 2 : at + 4] if line.strip()), "@@")
    return after.startswith("@@" if in_body else ("@@", "+", "-", " ", _GIT))


def _refuse_open_end(lines: Sequence[str], *, in_fence: bool) -> None:
    """Turn down a diff that no fence ends, unless its last hunk has all the lines that it says."""
    if in_fence:
        raise UnusableAnswer("the diff's fence is not closed, so the answer seems to be cut off")
    heads = [at for at, line in enumerate(lines) if line.startswith("@@")]
    if not heads and not any(line.startswith(("+", "-")) for line in lines):
        return  # files are only moved
    last = heads[-1] if heads else 0
    said = counts_of(lines[last])
    rows = lines[last + 1 :]
    old = sum(not row.startswith(("+", "\\")) for row in rows)
    new = sum(not row.startswith(("-", "\\")) for row in rows)
    if said is None or old < said[0] or new < said[1]:
        raise UnusableAnswer(
            "it cannot be told whether the diff was cut off; put all of it into one fenced code block"
        )


def _sections(lines: Sequence[str]) -> list[_Section]:
    sections: list[_Section] = []
    in_body, at = False, 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_GIT):
            sections.append(_named_by_git(line))
            in_body = False
        elif _is_pair(lines, at, in_body=in_body):
            if in_body or not sections:
                sections.append(_Section())
            sections[-1].old, sections[-1].new = _paths(line[4:], lines[at + 1][4:])
            in_body, at = True, at + 1
        elif not sections or in_body or not _read_header(sections[-1], line):
            sections = sections or [_Section()]
            sections[-1].body.append(line)
            in_body = True
        at += 1
    return sections


def _named_by_git(line: str) -> _Section:
    old, _, new = line[len(_GIT) :].partition(" b/")
    return _Section(old.removeprefix("a/"), new)


def _read_header(section: _Section, line: str) -> bool:
    if line.startswith(("rename from ", "rename to ")):
        section.moved = True
        name = line.split(" ", 2)[2].strip()
        section.old, section.new = (name, section.new) if "from" in line[:12] else (section.old, name)
        return True
    if mode := _MODE.fullmatch(line.rstrip()):
        _refuse_mode(mode["mode"], section)
    if line.startswith(("GIT binary patch", "Binary files ")):
        raise UnusableAnswer(f"the diff has no text for {section.new or section.old}; only texts are edited")
    if line.startswith("deleted file mode"):
        section.deleted = True
        return True
    return line.startswith(_HEADER)


def _refuse_mode(mode: str, section: _Section) -> None:
    if mode not in _TEXT_MODES:
        name = section.new or section.old
        raise UnusableAnswer(
            f"the diff gives {name} the mode {mode}; links, submodules and permissions are not made"
        )


def _paths(old: str, new: str) -> tuple[str, str]:
    one, other = (text.split("\t")[0].strip().strip('"') for text in (old, new))
    if one == _NOWHERE or one.startswith("a/"):
        other = other.removeprefix("b/") if one.startswith("a/") or other.startswith("b/") else other
        return one.removeprefix("a/"), other
    return (one, other)


def _edit(section: _Section) -> FileEdit:
    if section.deleted or section.new == _NOWHERE:
        return FileEdit(section.old, "delete")
    if section.old == _NOWHERE:
        return FileEdit(section.new, "create", text=added_lines(section.body, section.new))
    if section.moved:
        changes = any(line.startswith(("+", "-")) for line in section.body)
        parts = read_hunks(section.body, section.old) if changes else ()
        return FileEdit(section.old, "move", parts, move_to=section.new)
    path = section.new if path_in(section.new) or section.new == section.old else ""
    return FileEdit(path, "modify", read_hunks(section.body, path))
