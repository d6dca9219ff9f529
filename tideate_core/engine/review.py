"""Review of changes: shown, reduced to what the person accepts, checked, applied."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, StrictInt, ValidationError

from tideate_core.errors import InvalidInput, StepFailed, WorkspaceError
from tideate_core.gates import new_errors
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import Declined
from tideate_core.workspace import (
    FileChange,
    apply_hunks,
    executable_changes,
    language_of,
    text_digest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents import StagedFiles
    from tideate_core.engine.selected_text import Subject
    from tideate_core.workflows import PersonAccess, StepContext
    from tideate_core.workspace import AppliedChanges

__all__ = ["ask_for_review", "review_and_apply", "review_lines", "write_changes", "write_staged"]

MOST_ASKED: Final = 3
"""A front end whose answers cannot be used is asked no more often."""
UNUSABLE: Final = "the answer to the review cannot be used"


async def review_and_apply(step: StepContext, changes: Sequence[FileChange]) -> list[FileChange]:
    """Ask for a review and write what was accepted, all of it or nothing.

    Files that are open in an editor are saved, so that they go with the others on disk, too; one that had
    unsaved changes of the person's is not.

    :raises Declined: nothing was accepted.
    :raises WorkspaceError: the changes could not be written; nothing was.
    """
    accepted, applied = await _review(step, changes)
    if applied is not None:
        await run_uncancelled(_save_open_files(step, applied))
    return accepted


async def _review(
    step: StepContext, changes: Sequence[FileChange]
) -> tuple[list[FileChange], AppliedChanges | None]:
    """Do all of it but the saving."""
    wanted = [change for change in changes if change.action != "modify" or change.before != change.after]
    if not wanted:
        step.notice("the answer changes nothing")
        return [], None
    problems = await asyncio.to_thread(_compare_and_check, wanted)
    step.gate("syntax", problems)
    accepted = await _ask(step, wanted, problems)
    if accepted != wanted:  # a part of a change is another text
        problems = await asyncio.to_thread(_compare_and_check, accepted)
    await _override(step, problems)
    return accepted, await write_changes(step, accepted)


async def _save_open_files(step: StepContext, applied: AppliedChanges) -> None:
    unsaved = []
    for path, modified in applied.open_files.items():
        if modified:
            unsaved.append(path)
            continue
        try:
            await step.workspace.save([path])
        except WorkspaceError as error:  # its buffer is changed all the same
            step.notice(str(error), level="warn")
    if unsaved:
        step.notice(
            f"not saved, because of other unsaved changes (`:wa` saves): {', '.join(unsaved)}", level="warn"
        )


async def write_staged(step: StepContext, staged: StagedFiles) -> list[str]:
    """Ask for a review of staged edits, write what was accepted, and return the names of these files.

    :raises Declined: there are edits, and none was accepted.
    :raises WorkspaceError: they could not be written; nothing was.
    """
    changes = await step.workspace.attach(staged.changes())
    if not changes:
        return []
    return [change.move_to or change.path for change in await review_and_apply(step, changes)]


async def review_lines(
    step: StepContext, subject: Subject, start: int, end: int, new: list[str]
) -> tuple[dict[str, Any], list[FileChange]]:
    """Have new lines reviewed and written in place of others; return the step's result, and what was written.

    :param start: of the lines that they replace, 0-based and half open.
    """
    buffer = subject.buffer
    after = [*subject.lines[:start], *new, *subject.lines[end:]]
    change = FileChange(
        path=subject.path,
        action="modify",
        before=buffer.text,
        after="\n".join(after),
        buffer=buffer.number,
        tick=buffer.tick,
        filetype=buffer.filetype,
    )
    written, _ = await _review(step, [change])
    return {"response": "\n".join(new), "files": [change.path for change in written]}, written


async def ask_for_review(step: StepContext, changes: list[FileChange]) -> list[FileChange]:
    """Return what the person accepts of changes; whether that may be written is for the caller to say.

    :raises Declined: nothing was accepted.
    """
    return await _ask(step, changes, await asyncio.to_thread(_compare_and_check, changes))


async def _ask(step: StepContext, wanted: list[FileChange], problems: list[str]) -> list[FileChange]:
    message = _question(wanted)
    try:
        await step.workspace.stage(wanted)
    except WorkspaceError as error:  # shown all the same: what a model made is not lost
        reason = str(error).partition(";")[0]
        step.notice(f"as things are this change cannot be written: {reason}", level="warn")
    executed = await executable_changes(step.workspace, wanted)
    for _ in range(MOST_ASKED):
        decision = await step.confirm(
            "review",
            message,
            details="\n".join(f"- new syntax error: {problem}" for problem in problems),
            payload={"files": [_shown(change) for change in wanted], "demonstration": step.demonstration},
            executed=executed,
        )
        if not decision.accepted:
            raise Declined(decision.reason)
        try:
            accepted = _accepted(wanted, decision.value)
        except InvalidInput as error:
            # what a model made is not lost by a front end's mistake
            unusable = str(error)
            message = f"{unusable}.\n{_question(wanted)}"
            continue
        if not accepted:
            raise Declined("no change was accepted")
        return accepted
    raise StepFailed(f"{unusable}; nothing was written")


async def _override(step: PersonAccess, problems: list[str]) -> None:
    if not problems:
        return
    listed = "\n".join(f"- {problem}" for problem in problems)
    decision = await step.confirm(
        "override",
        f"The change brings {len(problems)} new syntax error{'' if len(problems) == 1 else 's'}. "
        "Write it anyway?",
        details=listed,
    )
    if not decision.accepted:
        if decision.by != "user":
            raise StepFailed(f"the change brings new syntax errors; nothing was written:\n{listed}")
        raise Declined("the change brings new syntax errors")


async def write_changes(step: StepContext, changes: list[FileChange]) -> AppliedChanges:
    """Apply, and revert it where the run is cancelled meanwhile; tell which files other tools run."""
    executed = await executable_changes(step.workspace, changes)
    workspace = step.workspace
    writing = workspace.apply(changes, execution_id=step.execution_id)
    applied = await run_uncancelled(writing, workspace.revert)
    step.changed([change.move_to or change.path or f"buffer {change.buffer}" for change in changes], executed)
    return applied


class _Verdict(BaseModel):
    """The accepted part of one file."""

    path: str | None = None
    accepted: list[StrictInt]


class _Verdicts(BaseModel):
    files: list[_Verdict]


def _accepted(changes: list[FileChange], value: Any) -> list[FileChange]:
    """Return the changes as they were accepted.

    :raises InvalidInput: the answer is none to these changes.
    """
    if value is None:
        return changes
    try:
        verdicts = _Verdicts.model_validate(value).files
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{UNUSABLE}: {where or 'it'}: {first['msg'].lower()}") from error
    if len(verdicts) != len(changes):
        raise InvalidInput(f"{UNUSABLE}: it is about {len(verdicts)} files, and {len(changes)} were shown")
    for change, verdict in zip(changes, verdicts, strict=True):
        _check(change, verdict)
    pairs = zip(changes, verdicts, strict=True)
    return [kept for change, verdict in pairs if (kept := _reduced(change, set(verdict.accepted)))]


def _check(change: FileChange, verdict: _Verdict) -> None:
    """Refuse what is not about a change.

    :raises InvalidInput: another file is named, or a hunk that is none of its.
    """
    name = change.path or "the buffer"
    if verdict.path is not None and verdict.path != change.path:
        raise InvalidInput(f"{UNUSABLE}: it names {verdict.path} where {name} was shown")
    count = len(change.hunks) if change.action == "modify" else 1
    unknown = [index for index in verdict.accepted if not 0 <= index < count]
    if unknown:
        hunks = f"hunk{'' if count == 1 else 's'}"
        raise InvalidInput(f"{UNUSABLE}: {name} has {count} {hunks}, and number {unknown[0]} was accepted")


def _reduced(change: FileChange, accepted: set[int]) -> FileChange | None:
    if not accepted:
        return None
    if change.action != "modify" or change.before is None:
        return change
    hunks = change.hunks
    if len(accepted) == len(hunks):
        return change
    return replace(change, after="\n".join(apply_hunks(change.before.split("\n"), hunks, accepted)))


def _compare_and_check(changes: Sequence[FileChange]) -> list[str]:
    """Do what takes long on a large text, off the loop: the comparison (kept) and the syntax."""
    for change in changes:
        _ = change.hunks
    return [problem for change in changes for problem in _new_errors(change)]


def _new_errors(change: FileChange) -> list[str]:
    if change.after is None or change.after == change.before:
        return []
    name = change.move_to or change.path
    language = language_of(name, change.filetype)
    where = name or "the buffer"
    return [
        f"{where}:{problem.line}:{problem.column}: {problem.message}"
        for problem in new_errors(language, change.before or "", change.after)
    ]


def _question(changes: list[FileChange]) -> str:
    if len(changes) > 1:
        return f"Apply changes to {len(changes)} files?"
    change = changes[0]
    name = label(change.path) or "the buffer"
    lines = (
        f"+{sum(len(hunk.new) for hunk in change.hunks)} -{sum(len(hunk.old) for hunk in change.hunks)} lines"
    )
    if change.action == "move" and change.after != change.before:
        return f"Move {name} to {label(change.move_to)}, and change it ({lines})?"
    if change.action != "modify":
        return f"{change.action.capitalize()} {name}?"
    return f"Apply the change to {name} ({lines})?"


def _shown(change: FileChange) -> dict[str, Any]:
    shape: dict[str, Any] = {"path": change.path, "action": change.action, "filetype": change.filetype}
    if change.move_to:
        shape["move_to"] = change.move_to
    if change.buffer is not None:
        digest = text_digest(change.before or "")
        shape |= {"buffer": change.buffer, "tick": change.tick, "digest": digest}
    else:
        shape["before"] = change.before or ""
    # of a move those that change the text on the way; there are none of one that is only moved
    shape["hunks"] = [] if change.action == "delete" else [hunk.as_json() for hunk in change.hunks]
    return shape
