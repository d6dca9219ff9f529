"""The question of a review, its changes and their new syntax errors, as a front end shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.decisions import file_name
from tideate_core.gates import new_errors
from tideate_core.util.escaping import label
from tideate_core.workspace import change_note, language_of, text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.gates import SyntaxProblem
    from tideate_core.workspace import FileChange

__all__ = ["compare_and_check", "new_errors_of", "places_of_errors", "question_about", "shown_change"]


def question_about(changes: Sequence[FileChange]) -> str:
    """Return the question whether changes are to be made."""
    if len(changes) > 1:
        return f"Apply changes to {len(changes)} files?"
    change = changes[0]
    if change.is_of_no_file:
        count = len(change.hunks[0].new)
        return f"Open the new text in a buffer ({count} line{'' if count == 1 else 's'})?"
    name = label(change.path) or "the buffer"
    lines = (
        f"+{sum(len(hunk.new) for hunk in change.hunks)} -{sum(len(hunk.old) for hunk in change.hunks)} lines"
    )
    if change.action == "move" and change.after != change.before:
        return f"Move {name} to {label(change.move_to)}, and change it ({lines})?"
    if change.whole:
        return f"{change.action.capitalize()} {name}?"
    return f"Apply the change to {name} ({lines})?"


def shown_change(change: FileChange) -> dict[str, Any]:
    """Return what a front end shows of a change."""
    shape: dict[str, Any] = {"path": change.path, "action": change.action, "filetype": change.filetype}
    if change.move_to:
        shape["move_to"] = change.move_to
    shape["before"] = change.before or ""  # by it hunks are found again in a buffer that was changed since
    if change.buffer is not None:
        shape |= {"buffer": change.buffer, "digest": text_digest(shape["before"])}
    if note := change_note(change):
        shape["note"] = note
    if change.images is not None:
        shape |= {"whole": True, "images": [image.state.digest for image in change.images]}
        if change.is_of_mode:
            shape["mode"] = [f"100{image.state.mode:o}" for image in change.images]
        elif change.before is change.after is None:
            shape["binary"] = True
    # of a move those that change the text on the way; there are none of one that is only moved
    shape["hunks"] = [] if change.action == "delete" else [hunk.as_json() for hunk in change.hunks]
    return shape


def compare_and_check(changes: Sequence[FileChange]) -> list[str]:
    """Do what takes long on a large text, off the loop: the comparison (kept) and the syntax."""
    for change in changes:
        _ = change.hunks
    return [problem for change in changes for problem in new_errors_of(change)]


def new_errors_of(change: FileChange) -> list[str]:
    """Return the new syntax errors of a change, with their places."""
    where = change.move_to or file_name(change)
    return [f"{where}:{problem.line}:{problem.column}: {problem.message}" for problem in _problems(change)]


def _problems(change: FileChange) -> list[SyntaxProblem]:
    if change.after is None or change.after == change.before:
        return []
    language = language_of(change.move_to or change.path, change.filetype)
    return new_errors(language, change.before or "", change.after)


def places_of_errors(changes: Sequence[FileChange]) -> list[dict[str, Any]]:
    """Return the new syntax errors of files as entries of the quickfix list."""
    from tideate_core.toolchain import Failure

    named = [(change.move_to or change.path, change) for change in changes]
    return [
        Failure(name, problem.line, problem.column, problem.message, tool="syntax").as_json()
        for name, change in named
        if name
        for problem in _problems(change)
    ]
