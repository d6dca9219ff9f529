"""Step handlers of `handoff`: read the plan, carry it out, write the test manifest, report the results."""

from __future__ import annotations

import asyncio
import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from tideate_core.agents import Roles
from tideate_core.builtin.handoff.file_formats import FILES, LARGEST, read, write_file, write_json
from tideate_core.builtin.handoff.left import LeftFiles, find_left
from tideate_core.builtin.handoff.models import PlanFile, TestManifest
from tideate_core.builtin.handoff.progress import artifacts_of, now, progress_in, state_of
from tideate_core.builtin.handoff.work import PlanWork, refuse_unknown_agents
from tideate_core.engine import review_and_apply
from tideate_core.errors import ConfigError, InvalidInput, OutsideRoot, StepFailed
from tideate_core.project import Documents, name_in_project, read_document
from tideate_core.workflows import Confirm, shown_path
from tideate_core.workspace import make_patch, new_name_problem, read_images

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.builtin.handoff.models import StepProgress
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

LONGEST_SUBJECT: Final = 60
"""Characters of a commit's description."""
LONGEST_BRANCH: Final = 40
MOST_FAILURES: Final = 20

_Shape = TypeVar("_Shape", bound=BaseModel)


async def plan(step: StepContext) -> Confirm:
    """Read the plan and ask for confirmation.

    :raises InvalidInput: the plan is missing or invalid.
    """
    root, documents = _project(step)
    given = str(step.inputs.get("plan") or "")
    name = given or f"{documents.folder}/{FILES['plan'].path}"
    wanted = await asyncio.to_thread(_read_plan, root, name)
    _refuse_forbidden_files(step, wanted)
    await asyncio.to_thread(refuse_unknown_agents, Roles(root), wanted)
    since = await asyncio.to_thread(lambda: (root / name).stat().st_mtime_ns)
    left = await find_left(root, documents, wanted, since)
    await _write_state(step, wanted, {})
    files = sorted({file for one in wanted.steps for file in one.expected_outputs})
    title = " ".join(wanted.title.split())
    value = {
        "plan": wanted.model_dump(mode="json", by_alias=True),
        "started_at": now(),
        "branch": f"tideate/{_slug(wanted.plan_id)}-{step.execution_id[:8]}",
        "subject": title if len(title) <= LONGEST_SUBJECT else title[: LONGEST_SUBJECT - 1].rstrip() + "…",
        "files": files,
        "left": left.as_json(),
    }
    return Confirm(
        value,
        f"Carry out the plan {wanted.plan_id!r}: {title}? "
        f"The result is committed on the branch {value['branch']}.",
        details="\n\n".join(filter(None, [_as_markdown(wanted), left.as_markdown()])),
    )


async def edit(step: StepContext) -> dict[str, Any]:
    """Carry out the plan's steps in order, review and write the edits, and save them as a patch set.

    :raises InvalidInput: a planned file has uncommitted or unsaved changes, which the commit would
        include.
    :raises StepFailed: a step failed, or a review rejected the change; nothing was written.
    :raises Declined: nothing was accepted.
    """
    root, documents = _project(step)
    wanted = _plan_of(step)
    await _refuse_dirty(step, [name for one in wanted.steps for name in one.expected_outputs])
    left = LeftFiles.of_json(step.results["plan"].get("left", {}))
    work = PlanWork(step, wanted, partial(_write_state, step, wanted), left)
    await work.take(root)
    await work.run()
    touched = _touched(work.changes)
    await _refuse_dirty(step, touched)
    before = await asyncio.to_thread(read_images, root, touched)
    written = await review_and_apply(step, work.changes)
    if not written:
        raise StepFailed("the plan was carried out and changes no file")
    done = await step.workspace.save([change.move_to or change.path for change in written])
    if done.unsaved:
        raise StepFailed(f"{done.unsaved_words}; nothing was committed. Save with `:w`, then resume")
    touched = _touched(written)
    after = await asyncio.to_thread(read_images, root, touched)
    patch = await asyncio.to_thread(make_patch, {path: before[path] for path in touched}, after)
    run = step.execution_id[:8]
    name = f"coder/build/patchset_{run}.diff"
    await asyncio.to_thread(write_file, documents, name, patch)
    analyses = {f"planner/output/analysis_{run}_{_slug(one)}.md": text for one, text in work.analyses.items()}
    for path, text in analyses.items():
        await asyncio.to_thread(write_file, documents, path, f"{text}\n".encode())
    progress = {identity: one.model_dump(mode="json") for identity, one in work.progress.items()}
    return {"files": touched, "patchset": name, "analyses": list(analyses), "steps": progress}


async def manifest(step: StepContext) -> dict[str, Any]:
    """Write the test manifest, and return its content as read back from the file.

    :raises StoreError: the manifest cannot be written.
    :raises InvalidInput: the manifest cannot be read.
    """
    root, documents = _project(step)
    wanted, commit, edited = _plan_of(step), step.results["commit"], step.results["edit"]
    tests = [name for one in wanted.steps if one.type == "testing" for name in one.expected_outputs]
    asked = TestManifest(
        workflow_id=step.execution_id,
        plan_id=wanted.plan_id,
        objective=wanted.title,
        commit_hash=commit["commitHash"],
        branch=commit["branch"],
        patchset=edited["patchset"],
        changed_files=edited["files"],
        tests=[name for name in dict.fromkeys(tests) if (root / name).is_file()],
        checks=[one.description or one.name for one in wanted.steps if one.type in ("testing", "review")],
        timestamp=now(),
    )
    name = FILES["test-manifest"].path
    await asyncio.to_thread(write_json, documents, name, asked)
    await _write_state(step, wanted, progress_in(step.results))
    told = await asyncio.to_thread(_read_file, root, f"{documents.folder}/{name}", TestManifest)
    return told.model_dump(mode="json", by_alias=True)


async def report(step: StepContext) -> dict[str, Any]:
    """Report the test results.

    :raises StepFailed: a test failed; the commit stays on its branch.
    """
    found, commit = step.results["tests"], step.results["commit"]
    where = f"the commit {commit['commitHash'][:8]} is on {commit['branch']}"
    if found["status"] != "passed":
        failures = [_failure(one) for one in found["failures"][:MOST_FAILURES]]
        raise StepFailed("\n".join([f"the tests failed; {where}", *failures]))
    passed = found["passed"]
    counted = "the tests passed" if passed is None else f"{passed} test{'' if passed == 1 else 's'} passed"
    if step.results["manifest"]["tests"] and not found["files"]:
        counted += f" (all of them: `{shlex.join(found['command'])}` runs no single files)"
    return {
        "response": f"{_plan_of(step).title}: {counted}; {where}",
        "files": step.results["edit"]["files"],
    }


def _read_plan(root: Path, name: str) -> PlanFile:
    try:
        return _read_file(root, name, PlanFile)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"there is no plan {shown_path(root / name)}; write it, or name another file as the input "
            "`plan`. `tideate schema plan` prints its form"
        ) from error


def _read_file(root: Path, name: str, shape: type[_Shape]) -> _Shape:
    """Read and validate a handoff file.

    :raises FileNotFoundError: the file does not exist.
    :raises InvalidInput: the file is unsafe or invalid.
    """
    path = root / name
    try:
        content = read_document(root, name_in_project(root, path), LARGEST)
    except ConfigError as error:
        raise InvalidInput(str(error)) from error
    return read(path, content, shape)


def _refuse_forbidden_files(step: StepContext, wanted: PlanFile) -> None:
    """Reject a plan that names files it may not write.

    :raises InvalidInput: a path leaves the project, is private, or is no valid name for a new file.
    """
    for one in wanted.steps:
        for name in one.expected_outputs:
            try:
                path = step.workspace.resolve(name)
            except OutsideRoot as error:
                raise InvalidInput(f"the plan's step {one.id!r}: {error}") from error
            if not path.exists() and (wrong := new_name_problem(name)):
                raise InvalidInput(
                    f"the plan's step {one.id!r}: {name!r} is not a name for a new file: {wrong}"
                )


def _failure(one: dict[str, Any]) -> str:
    place = f"{one['file']}:{one['line']}" if one["line"] else one["file"]
    first = next(iter(one["message"].splitlines()), "")
    return "- " + ": ".join(part for part in (place, one["name"], first) if part)


def _project(step: StepContext) -> tuple[Path, Documents]:
    root = step.workspace.root
    if root is None:
        raise InvalidInput("the handoff needs a project: a folder with .git, .tideate/ or a project file")
    return root, Documents(root)


def _plan_of(step: StepContext) -> PlanFile:
    return PlanFile.model_validate(step.results["plan"]["plan"])


async def _write_state(step: StepContext, wanted: PlanFile, progress: Mapping[str, StepProgress]) -> None:
    """Write the current state; the end of the run writes the final one."""
    _, documents = _project(step)
    results = step.results
    started = results["plan"]["started_at"] if "plan" in results else now()
    state = state_of(step.execution_id, wanted, started, progress, artifacts=artifacts_of(results))
    await asyncio.to_thread(write_json, documents, FILES["state"].path, state)


async def _refuse_dirty(step: StepContext, names: list[str]) -> None:
    """Reject files with uncommitted or unsaved changes."""
    root, _ = _project(step)
    unsaved = {Path(path).relative_to(root).as_posix() for path in await step.workspace.unsaved_files()}
    status = step.results["status"]
    if status["nextCursor"]:
        raise InvalidInput(
            f"{status['total']} files have changes; commit or stash them, then run the handoff again"
        )
    changed = {entry["path"] for entry in status["files"]}
    both = sorted({name for name in names if name in unsaved | changed})
    if both:
        raise InvalidInput(
            f"{', '.join(both)}: uncommitted or unsaved changes would be included in the commit; save the "
            "files, commit or stash the changes, then run the handoff again"
        )


def _touched(changes: list[FileChange]) -> list[str]:
    return sorted({name for change in changes for name in (change.path, change.move_to) if name})


def _slug(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:LONGEST_BRANCH].rstrip("-") or "plan"


def _as_markdown(wanted: PlanFile) -> str:
    lines = [wanted.objective, ""] if wanted.objective else []
    for number, one in enumerate(wanted.steps, 1):
        files = f" ({', '.join(one.expected_outputs)})" if one.expected_outputs else ""
        lines.append(f"{number}. **{one.type}** {one.name}{files}")
        lines += [f"   {line}" for line in one.description.splitlines()]
    if wanted.rollback_strategy:
        lines += ["", f"Rollback: {wanted.rollback_strategy}"]
    return "\n".join(lines)
