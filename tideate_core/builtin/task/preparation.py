"""First step of a task: check that the project can be verified, then make a snapshot."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.environment import root_of
from tideate_core.edits import fence_for
from tideate_core.errors import InvalidInput
from tideate_core.gates import readiness
from tideate_core.machines import WorkflowEvent
from tideate_core.project import CONFIG_NAME, Trust
from tideate_core.toolchain import ProjectTrust, declared_commands, unsearched
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import Readiness
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.toolchain import Tool
    from tideate_core.workflows import StepContext

SNAPSHOT: Final = "snapshot"
"""Key of the snapshot in the step's memory."""
LEFT_OUT: Final = "left_out"
"""Key of the checks left out with the person's consent."""
LONGEST_NAME: Final = 60


async def prepare(step: StepContext, _record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Check that each of the five checks can run or is left out, then make a snapshot.

    :raises InvalidInput: there is no project, a check cannot run, or the user did not agree to trust a
        command or to leave out a check without one.
    :raises WorkspaceError: the snapshot cannot be made.
    """
    if step.workspace.root is None:
        raise InvalidInput(
            "a task needs a project: a directory with `.git`, `.tideate` or a project file such as "
            "`pyproject.toml`. Run it in a project, or run `git init` here. Nothing was asked or changed"
        )
    left_out = await _left_out(step, environment)
    checks = await asyncio.to_thread(readiness, root_of(step.workspace), environment.config.verify)
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


async def _left_out(step: StepContext, environment: TaskEnvironment) -> list[str]:
    """Return the checks without a command that the user agrees to leave out.

    One question covers them and all trust that the other checks need. Only a person can agree.

    :raises InvalidInput: a check cannot run and is not left out.
    """
    known = step.recall(LEFT_OUT)
    left_out = [] if known is MISSING else list(known)
    root = root_of(step.workspace)
    verify = environment.config.verify.model_copy(update=dict.fromkeys(left_out, "off"))
    checks = await asyncio.to_thread(readiness, root, verify)
    problems = unready(checks)
    if not problems:
        return left_out
    once_trusted = [
        replace(one, state="ready") if one.state in ("untrusted", "declared") else one
        for one in checks
        if one.state != "missing"
    ]
    blocked = unready(once_trusted)
    if blocked or all(one.state in ("off", "missing") for one in checks):
        raise InvalidInput("\n".join(problems))
    missing = [one.check.value for one in checks if one.state == "missing"]
    declared = [one.check.value for one in checks if one.state == "declared"]
    tools = [one.tool for one in checks if one.state == "untrusted" and one.tool is not None]
    content, table = await asyncio.to_thread(declared_commands, root)
    details = [
        *_recipes(tools),
        *(_file_details(content) if declared else []),
        *unready([one for one in checks if one.state == "missing"])[1:],
    ]
    decision = await step.confirm("override", _question(checks), details="\n".join(details))
    if not decision.accepted:
        raise InvalidInput("\n".join(problems))
    await step.remember(LEFT_OUT, missing)
    await asyncio.to_thread(_trust, root, tools, content if declared else None)
    if declared:
        environment.use_checks({check: table[check] for check in declared})
    return missing


def _question(checks: Sequence[Readiness]) -> str:
    missing = [one.check.value for one in checks if one.state == "missing"]
    known = list(dict.fromkeys(one.check.value for one in checks if one.state not in ("missing", "off")))
    declared = [f"verify.{one.check}" for one in checks if one.state == "declared"]
    runs = [
        f"- {one.check}: `{one.tool.words}` ({one.tool.reason})"
        for one in checks
        if one.state == "untrusted" and one.tool is not None
    ]
    if declared:
        runs.append(f"- {CONFIG_NAME}: {_listed(declared)}, with all other keys of the file")
    lines = []
    if missing:
        one = len(known) == 1 and not known[0].endswith("s")
        lines.append(
            f"Only {_listed(known)} {'is' if one else 'are'} known; continue with {'it' if one else 'them'}?"
        )
        lines.append(f"No command is known for {_listed(missing)}.")
    if runs:
        lines += ["Trust this, which runs the project's code, as it is now?", *runs]
    return "\n".join(lines)


def _recipes(tools: Sequence[Tool]) -> list[str]:
    return [f"`{tool.words}` runs:\n\n{_fenced(tool.recipe)}\n" for tool in tools if tool.recipe]


def _file_details(content: bytes) -> list[str]:
    return [f"{CONFIG_NAME}:\n\n{_fenced(content.decode('utf-8', 'replace'))}\n"]


def _fenced(text: str) -> str:
    fence = fence_for(text)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _trust(root: Path, tools: Sequence[Tool], content: bytes | None) -> None:
    ProjectTrust(root).trust(tools)
    trust = Trust(root)
    for tool in tools:
        trust.keep(tool.words, tool.recipe.encode("utf-8", "surrogateescape"))
    if content is not None:
        trust.trust(CONFIG_NAME, content)


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
