"""First step of a task: check that the project can be verified, then make a snapshot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.environment import root_of
from tideate_core.errors import InvalidInput
from tideate_core.gates import readiness
from tideate_core.machines import WorkflowEvent
from tideate_core.toolchain import unsearched
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import Readiness
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.toolchain import Tool
    from tideate_core.workflows import StepContext

SNAPSHOT: Final = "snapshot"
"""Key of the snapshot in the step's memory."""
LONGEST_NAME: Final = 60


async def prepare(step: StepContext, _record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Check that each of the five checks can run or is left out, then make a snapshot.

    :raises InvalidInput: there is no project, a check may not run, or the user did not agree to leave out
        a check without a command.
    :raises WorkspaceError: the snapshot cannot be made.
    """
    if step.workspace.root is None:
        raise InvalidInput(
            "a task needs a project: a directory with `.git`, `.tideate` or a project file such as "
            "`pyproject.toml`. Run it in a project, or run `git init` here. Nothing was asked or changed"
        )
    checks = await asyncio.to_thread(readiness, root_of(step.workspace), environment.config.verify)
    left_out = await _left_out(step, checks)
    if beyond := await asyncio.to_thread(unsearched, root_of(step.workspace)):
        step.notice(beyond, level="warn")
    for one in checks:
        if one.state == "not_installed" and one.tool is not None:
            step.notice(
                f"{one.check} of {one.tool.folder} cannot run, so a change there cannot pass: {one.advice}",
                level="warn",
            )
    if all(one.state == "off" for one in checks):
        step.notice('all five checks of [verify] are "off": nothing is going to be verified', level="warn")
    unsaved = await step.workspace.unsaved_files()
    if unsaved:
        step.notice(
            f"not saved: {', '.join(unsaved)}; the snapshot has these files as they are on disk, and what a "
            "task changes in them is saved before it is verified, with your changes",
            level="warn",
        )
    snapshot = await _snapshot(step, environment)
    return {"event": WorkflowEvent.START_TASK.value, "snapshot": snapshot, "left_out": left_out}


async def _left_out(step: StepContext, checks: Sequence[Readiness]) -> list[str]:
    """Return the checks without a command that the user agrees to leave out, if others can run.

    :raises InvalidInput: a check cannot run and is not left out.
    """
    problems = unready(checks)
    if not problems:
        return []
    missing = [one.check.value for one in checks if one.state == "missing"]
    ready = list(dict.fromkeys(one.check.value for one in checks if one.state == "ready"))
    if ready and not unready([one for one in checks if one.state != "missing"]):
        message = (
            f"No command is known for {_listed(missing)}. "
            f"Continue without, and verify only by {_listed(ready)}?"
        )
        decision = await step.confirm("override", message, details="\n".join(problems[1:]))
        if decision.accepted:
            return missing
    raise InvalidInput("\n".join(problems))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def unready(checks: Sequence[Readiness]) -> list[str]:
    """Return the reasons that checks cannot run, with instructions; empty if they can.

    A program that is missing in only one part of the project does not block tasks in the other parts.
    """
    ready = {one.check for one in checks if one.ready}
    absent = [one for one in checks if one.state == "not_installed" and one.tool is not None]
    needed = [one for one in absent if one.tool and (not one.tool.folder or one.check not in ready)]
    if all(one.ready or (one in absent and one not in needed) for one in checks):
        return []
    missing, declared = (
        [one.check for one in checks if one.state == state] for state in ("missing", "declared")
    )
    untrusted = [one.tool for one in checks if one.state == "untrusted" and one.tool is not None]
    said = ["a task could not be verified here; nothing was asked or changed"]
    if declared:
        names = ", ".join(f"verify.{check}" for check in declared)
        said += [
            f"{names}: set in .tideate/config.toml, which is not trusted yet. Look at it, then run "
            "`tideate trust` or `:Workflow trust`"
        ]
    if missing:
        names = ", ".join(f"verify.{check}" for check in missing)
        lines = [f'{check} = ["PROGRAM", "ARGUMENT"]  # or "off"' for check in missing]
        said += [f"No command is known for {names}. Put into .tideate/config.toml:", "[verify]", *lines]
        if declared or needed or untrusted:
            said += ["Or leave it: once the other checks can run, a task asks whether to continue without"]
    if needed:
        said += [f"✗ {one.check}: `{one.tool.words}`: {one.advice}" for one in needed if one.tool is not None]
        said += ['Or set verify.CHECK in .tideate/config.toml to another command, or to "off"']
    if untrusted:
        said += _untrusted(untrusted)
    return said


def _untrusted(tools: list[Tool]) -> list[str]:
    return [
        "These commands run this project's code, which is not trusted yet:",
        *(f"- {tool.check}: `{tool.words}` ({tool.reason})" for tool in tools),
        "Look at the project, then run `tideate trust` or `:Workflow trust`",
    ]


async def _snapshot(step: StepContext, environment: TaskEnvironment) -> str:
    """Make the snapshot once; after a crash the existing one is found."""
    known = step.recall(SNAPSHOT)
    if known is not MISSING:
        return str(known)
    manager = environment.snapshots(step.workspace)
    run = step.execution_id
    made = [one.id for one in await manager.list() if run in one.pinned]
    snapshot = made[-1] if made else await manager.create(_name(step), pin=run)
    await step.remember(SNAPSHOT, snapshot)
    await _tell_left_out(step, manager, snapshot)
    return snapshot


def _name(step: StepContext) -> str:
    words = " ".join(step.prompt.split())
    short = words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1]}…"
    return f"before task {step.execution_id[:8]}: {short}"


async def _tell_left_out(step: StepContext, manager: SnapshotManager, snapshot: str) -> None:
    made = await manager.get(snapshot)
    if made.skipped:
        names = sorted(made.skipped)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        step.notice(
            f"the snapshot {snapshot} leaves out {', '.join(names[:5])}{more}; `tideate snapshot list` says "
            "why",
            level="warn",
        )
