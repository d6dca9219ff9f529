"""Patches between ``*** Begin Patch`` and ``*** End Patch``, as many models are trained to write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits.hunks import added_lines, read_hunks
from tideate_core.edits.parts import FileEdit
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["has_patch", "parse_patch"]

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
_FILES = (_ADD, _UPDATE, _DELETE)


def has_patch(answer: str) -> bool:
    """Whether an answer tries to be such a patch."""
    return any(line.startswith((_BEGIN, *_FILES)) for line in answer.split("\n"))


def parse_patch(answer: str) -> list[FileEdit]:
    """Return what the patches of an answer want; what stands outside of them is left out.

    :raises UnusableAnswer: it is not complete, or changes nothing.
    """
    edits: list[FileEdit] = []
    section: list[str] | None = None
    for line in answer.replace("\r\n", "\n").split("\n"):
        if line.startswith(_END):
            edits += [_edit(section)] if section else []
            section = None
        elif line.startswith(_FILES):
            edits += [_edit(section)] if section else []
            section = [line]
        elif section is not None and not line.startswith(_BEGIN):
            section.append(line)
    if section is not None:
        raise UnusableAnswer(f"the patch does not end with {_END}, so the answer seems to be cut off")
    if not edits:
        raise UnusableAnswer(f"the patch names no file; write {_UPDATE} and the path before its changes")
    return edits


def _edit(section: Sequence[str]) -> FileEdit:
    head = next(kind for kind in _FILES if section[0].startswith(kind))
    path = section[0][len(head) :].strip()
    body = list(section[1:])
    if head == _ADD:
        return FileEdit(path, "create", text=added_lines(body, path))
    if head == _DELETE:
        if any(line.strip() for line in body):
            raise UnusableAnswer(f"the patch deletes {path} and also has lines for it; do one of them")
        return FileEdit(path, "delete")
    if body and body[0].startswith(_MOVE):
        target = body.pop(0)[len(_MOVE) :].strip()
        changes = any(line.startswith(("+", "-")) for line in body)
        return FileEdit(path, "move", read_hunks(body, path) if changes else (), move_to=target)
    return FileEdit(path, "modify", read_hunks(body, path))
