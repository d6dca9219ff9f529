"""Proposal of a `multi_file` run on the files that a refactoring affects, as its model reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import report_tool, way_to_report
from tideate_core.util.escaping import label
from tideate_core.workflows import NextRun
from tideate_core.workspace import unified_diff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine import Subject
    from tideate_core.workflows import FileToChange, StepContext
    from tideate_core.workspace import FileChange

WORKFLOW: Final = "multi_file"
NAMED: Final = 4
"""Files named in the message."""
SHORT_WHY: Final = 40
"""Characters of a reason in the message; the list shows the full reason."""
LONGEST_DIFF: Final = 20_000
"""Characters of the diff that the next run's model is shown."""


def report_tools(step: StepContext, subject: Subject) -> list[Any]:
    """Return the tool for reporting affected files; none if the model cannot call tools."""
    if way_to_report(step) != "tool":
        return []

    async def keep(files: Sequence[FileToChange]) -> None:
        await propose(step, subject, files)

    return [report_tool(keep)]


async def propose(step: StepContext, subject: Subject, files: Sequence[FileToChange]) -> None:
    """Propose a follow-up run on these files; an empty sequence withdraws the proposal."""
    if not files:
        if step.proposed is not None:
            await step.propose(None)
        return
    own = step.workspace.name_of(step.workspace.resolve(subject.buffer.path)) if subject.buffer.path else ""
    prompt = f"Change what else must change with the refactoring of {own or 'the buffer'}."
    await step.propose(NextRun(WORKFLOW, prompt, _message(files, own), tuple(files)))


def affected_files(step: StepContext) -> Sequence[FileToChange]:
    """Return the files of the proposed follow-up run."""
    return step.proposed.files if step.proposed else ()


async def settle_proposal(step: StepContext, written: Sequence[FileChange]) -> None:
    """Add the written diff to the proposal; withdraw the proposal if nothing was written."""
    if (proposed := step.proposed) is None:
        return
    if not written:
        await step.propose(None)
        return
    diff = "".join(unified_diff(change) for change in written)
    if len(diff) > LONGEST_DIFF:
        diff = diff[:LONGEST_DIFF].rpartition("\n")[0] + "\n… (cut off; read the file)"
    await step.propose(replace(proposed, done=diff.rstrip("\n")))


def listed(files: Sequence[FileToChange]) -> str:
    """Return the files as a Markdown list."""
    return "\n".join(f"- {label(one.path)}{f': {one.why}' if one.why else ''}" for one in files)


def _message(files: Sequence[FileToChange], own: str) -> str:
    named = [_named(one) for one in files[:NAMED]]
    if len(files) > NAMED:
        named.append(f"and {len(files) - NAMED} more")
    what = "place" if any(one.path == own for one in files) else "file"
    plural = "" if len(files) == 1 else "s"
    return f"{len(files)} other {what}{plural} must change: {', '.join(named)}"


def _named(file: FileToChange) -> str:
    why = file.why if len(file.why) <= SHORT_WHY else f"{file.why[: SHORT_WHY - 1]}…"
    return f"{label(file.path)} ({why})" if why else label(file.path)
