"""Parser of models' unified diffs and ``*** Begin Patch`` patches; line numbers are not trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.edits.fences import split_at_fences
from tideate_core.edits.formats.file_edits import FileEdit, Part, path_in
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

_GIT = "diff --git "
_FIRST_SIGNS = frozenset("-@d")
"""First characters of lines that begin a diff."""
_NOWHERE = "/dev/null"
_HEADER = ("index ", "old mode ", "new mode ", "new file mode ", "similarity index ", "dissimilarity index ")
_MODE = re.compile(r"(?:(?:old|new|new file|deleted file) mode|index [0-9a-f]+\.\.[0-9a-f]+) (?P<mode>\d+)")
_TEXT_MODES = ("100644", "100755")

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
_FILES = (_ADD, _UPDATE, _DELETE)

_COUNTS = re.compile(r"@@+ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@+")
_NO_PLACE = re.compile(r"[-+\d, .…@]*")
_END_OF_FILE = "*** End of File"


@dataclass(slots=True)
class _FileSection:
    old: str = ""
    new: str = ""
    moved: bool = False
    deleted: bool = False
    body: list[str] = field(default_factory=list)


def has_diff(answer: str) -> bool:
    """Tell whether an answer attempts a diff."""
    marked = any(mark in answer for mark in ("@@", "--- ", _GIT))
    return marked and _diff_start(answer.split("\n")) is not None


def parse_diff(answer: str) -> list[FileEdit]:
    """Return the edits of an answer's diffs, ignoring prose before them and after their fences.

    :raises UnusableAnswer: the diff is, or may be, incomplete.
    """
    edits: list[FileEdit] = []
    regions = split_at_fences(answer.replace("\r\n", "\n").split("\n"))
    for number, (lines, ended) in enumerate(regions):
        start = _diff_start(lines)
        if start is None:
            continue
        if not ended:
            while lines and not lines[-1]:
                lines.pop()  # the answer's trailing newlines
            # regions outside and inside of fences alternate
            _refuse_open_end(lines[start:], in_fence=number % 2 == 1)
        edits += [_edit_of_section(section) for section in _read_sections(lines[start:])]
    if not edits:
        raise UnusableAnswer("the diff has no changes; write hunks of lines that begin with a blank, - or +")
    return edits


def _diff_start(lines: Sequence[str]) -> int | None:
    """Return the number of the line that begins a diff."""
    for at, line in enumerate(lines):
        if line[:1] not in _FIRST_SIGNS:
            continue
        if _is_pair(lines, at, in_body=False) or line.startswith((_GIT, "@@ ")) or line.rstrip() == "@@":
            return at
    return None


def _is_pair(lines: Sequence[str], at: int, *, in_body: bool) -> bool:
    """Tell whether two lines are a file header; a removed ``-- x`` before an added ``++ y`` looks alike."""
    if not lines[at].startswith("--- ") or at + 1 >= len(lines) or not lines[at + 1].startswith("+++ "):
        return False
    after = next((line for line in lines[at + 2 : at + 4] if line.strip()), "@@")
    return after.startswith("@@" if in_body else ("@@", "+", "-", " ", _GIT))


def _refuse_open_end(lines: Sequence[str], *, in_fence: bool) -> None:
    """Reject a diff without a closing fence, unless its last hunk has all the lines it announces."""
    if in_fence:
        raise UnusableAnswer("the diff's fence is not closed, so the answer seems to be cut off")
    heads = [at for at, line in enumerate(lines) if line.startswith("@@")]
    if not heads and not any(line.startswith(("+", "-")) for line in lines):
        return  # moves only
    last = heads[-1] if heads else 0
    said = _counts_of(lines[last])
    rows = lines[last + 1 :]
    old = sum(not row.startswith(("+", "\\")) for row in rows)
    new = sum(not row.startswith(("-", "\\")) for row in rows)
    if said is None or old < said[0] or new < said[1]:
        raise UnusableAnswer(
            "it cannot be told whether the diff was cut off; put all of it into one fenced code block"
        )


def _read_sections(lines: Sequence[str]) -> list[_FileSection]:
    sections: list[_FileSection] = []
    in_body, at = False, 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_GIT):
            sections.append(_git_section(line))
            in_body = False
        elif _is_pair(lines, at, in_body=in_body):
            if in_body or not sections:
                sections.append(_FileSection())
            sections[-1].old, sections[-1].new = _paths(line[4:], lines[at + 1][4:])
            in_body, at = True, at + 1
        elif not sections or in_body or not _read_header(sections[-1], line):
            sections = sections or [_FileSection()]
            sections[-1].body.append(line)
            in_body = True
        at += 1
    return sections


def _git_section(line: str) -> _FileSection:
    old, _, new = line[len(_GIT) :].partition(" b/")
    return _FileSection(old.removeprefix("a/"), new)


def _read_header(section: _FileSection, line: str) -> bool:
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


def _refuse_mode(mode: str, section: _FileSection) -> None:
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


def _edit_of_section(section: _FileSection) -> FileEdit:
    if section.deleted or section.new == _NOWHERE:
        return FileEdit(section.old, "delete")
    if section.old == _NOWHERE:
        return FileEdit(section.new, "create", text=_added_lines(section.body, section.new))
    if section.moved:
        changes = any(line.startswith(("+", "-")) for line in section.body)
        parts = _read_hunks(section.body, section.old) if changes else ()
        return FileEdit(section.old, "move", parts, move_to=section.new)
    path = section.new if path_in(section.new) or section.new == section.old else ""
    return FileEdit(path, "modify", _read_hunks(section.body, path))


def has_patch(answer: str) -> bool:
    """Tell whether an answer attempts a ``*** Begin Patch`` patch."""
    return "*** " in answer and any(line.startswith((_BEGIN, *_FILES)) for line in answer.split("\n"))


def parse_patch(answer: str) -> list[FileEdit]:
    """Return the edits of an answer's patches, ignoring text outside them.

    :raises UnusableAnswer: the patch is incomplete or empty.
    """
    edits: list[FileEdit] = []
    section: list[str] | None = None
    for line in answer.replace("\r\n", "\n").split("\n"):
        if line.startswith(_END):
            edits += [_edit_of_patch(section)] if section else []
            section = None
        elif line.startswith(_FILES):
            edits += [_edit_of_patch(section)] if section else []
            section = [line]
        elif section is not None and not line.startswith(_BEGIN):
            section.append(line)
    if section is not None:
        raise UnusableAnswer(f"the patch does not end with {_END}, so the answer seems to be cut off")
    if not edits:
        raise UnusableAnswer(f"the patch names no file; write {_UPDATE} and the path before its changes")
    return edits


def _edit_of_patch(section: Sequence[str]) -> FileEdit:
    head = next(kind for kind in _FILES if section[0].startswith(kind))
    path = section[0][len(head) :].strip()
    body = list(section[1:])
    if head == _ADD:
        return FileEdit(path, "create", text=_added_lines(body, path))
    if head == _DELETE:
        if any(line.strip() for line in body):
            raise UnusableAnswer(f"the patch deletes {path} and also has lines for it; do one of them")
        return FileEdit(path, "delete")
    if body and body[0].startswith(_MOVE):
        target = body.pop(0)[len(_MOVE) :].strip()
        changes = any(line.startswith(("+", "-")) for line in body)
        return FileEdit(path, "move", _read_hunks(body, path) if changes else (), move_to=target)
    return FileEdit(path, "modify", _read_hunks(body, path))


@dataclass(slots=True)
class _Hunk:
    anchors: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    at_end: bool = False

    def part(self, name: str) -> Part:
        old, new = _side(self.rows, "-"), _side(self.rows, "+")
        return Part(name, ((old, new),), tuple(self.anchors), self.at_end)


def _read_hunks(lines: Sequence[str], of: str) -> tuple[Part, ...]:
    """Return the parts of one file's section, ignoring line numbers and counts.

    :param of: the file, for messages.
    :raises UnusableAnswer: the section changes nothing.
    """
    hunks = [_Hunk()]
    for line in lines:
        if line.startswith("@@"):
            if hunks[-1].rows:
                hunks.append(_Hunk())
            if heading := _heading(line):
                hunks[-1].anchors.append(heading)
        elif line.rstrip() == _END_OF_FILE:
            hunks[-1].at_end = True
        elif not line.startswith("\\"):
            if hunks[-1].at_end:
                hunks.append(_Hunk())
            hunks[-1].rows.append(line)
    changing = [hunk for hunk in hunks if any(row[:1] in {"+", "-"} for row in hunk.rows)]
    if not changing:
        raise UnusableAnswer(f"the patch changes nothing in {of or 'the file'}: no line begins with + or -")
    tail = f" of {of}" if of else ""
    return tuple(hunk.part(f"hunk {number}{tail}") for number, hunk in enumerate(changing, 1))


def _added_lines(lines: Sequence[str], of: str) -> tuple[str, ...]:
    """Return the text of a file that a patch adds.

    :raises UnusableAnswer: a line does not begin with ``+``.
    """
    rows = [line for line in lines if not line.startswith(("@@", "\\")) and line.rstrip() != _END_OF_FILE]
    while rows and not rows[-1]:
        rows.pop()
    wrong = next((row for row in rows if not row.startswith("+")), None)
    if wrong is not None:
        raise UnusableAnswer(f"the patch adds {of}, but its line {wrong!r} does not begin with +")
    return tuple(row[1:] for row in rows)


def _counts_of(heading: str) -> tuple[int, int] | None:
    """Return the old and new line counts of a hunk header, None without counts."""
    match = _COUNTS.match(heading)
    return (int(match[1] or 1), int(match[2] or 1)) if match else None


def _heading(line: str) -> str:
    match = _COUNTS.match(line)
    text = (line[match.end() :] if match else line.lstrip("@")).strip().removesuffix("@@").strip()
    return "" if _NO_PLACE.fullmatch(text) else text


def _side(rows: Sequence[str], sign: str) -> tuple[str, ...]:
    """Return the old (``-``) or the new (``+``) lines; lines without a sign are context."""
    other = "+" if sign == "-" else "-"
    kept = (row for row in rows if not row.startswith(other))
    return tuple(row[1:] if row[:1] in {" ", sign} else row for row in kept)
