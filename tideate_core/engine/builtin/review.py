"""From wanted changes to written ones: shown, reduced to what the person accepts, checked, applied."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.errors import StepFailed
from tideate_core.gates import language_of, new_errors
from tideate_core.workflows import Declined
from tideate_core.workspace import apply_hunks
from tideate_core.workspace.files import text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["ask_for_review", "review_and_apply", "write_changes"]


async def review_and_apply(step: StepContext, changes: Sequence[FileChange]) -> list[FileChange]:
    """Ask for a review and write what was accepted, all of it or nothing.

    :raises Declined: nothing was accepted.
    :raises WorkspaceError: the changes could not be written; nothing was.
    """
    wanted = [change for change in changes if change.action != "modify" or change.before != change.after]
    if not wanted:
        step.notice("the answer changes nothing")
        return []
    problems = await asyncio.to_thread(_look, wanted)
    step.gate("syntax", problems)
    accepted = await _ask(step, wanted, problems)
    await _override(step, await asyncio.to_thread(_problems, accepted))
    await write_changes(step, accepted)
    return accepted


async def ask_for_review(step: StepContext, changes: list[FileChange]) -> list[FileChange]:
    """Return what the person accepts of changes; whether that may be written is for the caller to say.

    :raises Declined: nothing was accepted.
    """
    return await _ask(step, changes, await asyncio.to_thread(_look, changes))


async def _ask(step: StepContext, wanted: list[FileChange], problems: list[str]) -> list[FileChange]:
    decision = await step.confirm(
        "review",
        _question(wanted),
        details="\n".join(f"- new syntax error: {problem}" for problem in problems),
        payload={"files": [_shown(change) for change in wanted], "demonstration": step.demonstration},
    )
    if not decision.accepted:
        raise Declined(decision.reason)
    accepted = _accepted(wanted, decision.value)
    if not accepted:
        raise Declined("no change was accepted")
    return accepted


async def _override(step: StepContext, problems: list[str]) -> None:
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


async def write_changes(step: StepContext, changes: list[FileChange]) -> None:
    """Apply, and take it back where the run is cancelled meanwhile."""
    writing = asyncio.ensure_future(step.workspace.apply(changes, execution_id=step.execution_id))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        applied = await writing
        await step.workspace.revert(applied)
        raise
    step.changed([change.move_to or change.path or f"buffer {change.buffer}" for change in changes])


def _accepted(changes: list[FileChange], value: Any) -> list[FileChange]:
    if value is None:
        return changes
    verdicts = value["files"]
    return [
        kept
        for change, verdict in zip(changes, verdicts, strict=True)
        if (kept := _reduced(change, set(verdict["accepted"])))
    ]


def _reduced(change: FileChange, accepted: set[int]) -> FileChange | None:
    if not accepted:
        return None
    if change.action != "modify" or change.before is None:
        return change
    hunks = change.hunks
    if len(accepted) == len(hunks):
        return change
    return replace(change, after="\n".join(apply_hunks(change.before.split("\n"), hunks, accepted)))


def _look(changes: Sequence[FileChange]) -> list[str]:
    """Do what takes long on a large text, off the loop: the comparison (kept) and the syntax."""
    for change in changes:
        _ = change.hunks
    return _problems(changes)


def _problems(changes: Sequence[FileChange]) -> list[str]:
    found = []
    for change in changes:
        if change.after is None or change.action in {"move", "delete"}:
            continue
        language = language_of(change.path, change.filetype)
        where = change.path or "the buffer"
        found += [
            f"{where}:{problem.line}:{problem.column}: {problem.message}"
            for problem in new_errors(language, change.before or "", change.after)
        ]
    return found


def _question(changes: list[FileChange]) -> str:
    if len(changes) > 1:
        return f"Apply changes to {len(changes)} files?"
    change = changes[0]
    name = change.path or "the buffer"
    if change.action != "modify":
        return f"{change.action.capitalize()} {name}?"
    removed = sum(len(hunk.old) for hunk in change.hunks)
    added = sum(len(hunk.new) for hunk in change.hunks)
    return f"Apply the change to {name} (+{added} -{removed} lines)?"


def _shown(change: FileChange) -> dict[str, Any]:
    shape: dict[str, Any] = {"path": change.path, "action": change.action, "filetype": change.filetype}
    if change.move_to:
        shape["move_to"] = change.move_to
    if change.buffer is not None:
        digest = text_digest(change.before or "")
        shape |= {"buffer": change.buffer, "tick": change.tick, "digest": digest}
    else:
        shape["before"] = change.before or ""
    whole = change.action in {"delete", "move"}
    shape["hunks"] = [] if whole else [hunk.as_json() for hunk in change.hunks]
    return shape
