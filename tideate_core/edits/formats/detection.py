"""Detect the format of edits in a model's answer and call its parser; read files in named fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits.fences import fenced_blocks
from tideate_core.edits.formats.blocks import has_blocks, parse_blocks
from tideate_core.edits.formats.diffs import has_diff, has_patch, parse_diff, parse_patch
from tideate_core.edits.formats.file_edits import FileEdit, path_above, path_in
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import Fit, fit_of_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NEAR = 2
"""Lines above a block that may name its file."""
_FORMATS: tuple[tuple[Callable[[str], bool], Callable[[str], list[FileEdit]]], ...] = (
    (has_patch, parse_patch),
    (has_blocks, parse_blocks),
    (has_diff, parse_diff),
)


def read_edits(answer: str, *, known: str = "", language: str = "") -> list[FileEdit]:
    """Return the edits of an answer in blocks, a patch or a diff; empty for another format.

    :param known: the edited text; format marks that it contains are ignored.
    :param language: the text's language: a code block in it is the whole text, even beside a diff.
    :raises UnusableAnswer: the edits are incomplete.
    """
    for has, parse in _FORMATS:
        if has(answer) and not has(known):
            if parse is parse_diff and _has_code(answer, language):
                continue
            return parse(answer)
    return []


def _has_code(answer: str, language: str) -> bool:
    if language in {"", "diff"}:
        return False
    blocks = fenced_blocks(answer.split("\n"))
    return any(
        block.info
        and fit_of_tag(block.info, language)[1] is Fit.EXACT
        and not has_diff("\n".join(block.lines))
        for block in blocks
    )


def read_files(answer: str) -> list[FileEdit]:
    """Return the whole files in an answer, each in a fenced block that names its file.

    :raises UnusableAnswer: a block is unclosed or unnamed, or the answer has none.
    """
    lines = answer.replace("\r\n", "\n").split("\n")
    edits: list[FileEdit] = []
    after = 0
    for block in fenced_blocks(lines):
        above: Sequence[str] = lines[max(after, block.start - _NEAR) : block.start]
        path = path_in(block.info) or path_above(above)
        if not block.closed:
            raise UnusableAnswer(
                f"the code block of {path or 'a file'} is not closed, so the answer was cut off"
            )
        if not path:
            raise UnusableAnswer("a code block names no file; write its path on the line before the block")
        edits.append(FileEdit(path, "modify", text=block.lines))
        after = block.end
    if not edits:
        raise UnusableAnswer("it holds no edit of a file; answer in the form that was asked for")
    return edits
