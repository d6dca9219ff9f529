"""Plan of `multi_file`: the files to create, modify, delete or move, checked against the project."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tideate_core.agents.answers import ask_until_valid, tidy_line
from tideate_core.agents.project_files import neighbours
from tideate_core.errors import InvalidInput, OutsideRoot, StepFailed, WorkspaceError
from tideate_core.workspace import new_name_problem

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tideate_core.adapters import Prompt
    from tideate_core.agents.answers import AskBySchema
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace


class PlannedFile(BaseModel):
    """One file of a plan; `path` and `move_to` are relative to the root."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["create", "modify", "delete", "move"]
    path: str = Field(min_length=1, max_length=200)
    why: str = Field(default="", max_length=300)
    move_to: str | None = Field(default=None, max_length=200)

    @field_validator("why")
    @classmethod
    def _tidy(cls, text: str) -> str:
        return tidy_line(text)

    @field_validator("path", "move_to")
    @classmethod
    def _one_line(cls, text: str | None) -> str | None:
        if text is not None and not text.isprintable():
            raise ValueError("must be one line without control characters")
        return text


class Plan(BaseModel):
    """The files of a change; bounded, so that a small model's answer ends."""

    files: list[PlannedFile] = Field(max_length=50)


async def make_plan(
    step: StepContext, ask: AskBySchema, prompt: Prompt, known: Sequence[str]
) -> list[PlannedFile]:
    """Ask for a plan until it fits the project, at most `step.attempts` times.

    :param known: the project's files, to suggest near names for a path that does not exist.
    :raises StepFailed: no usable plan; names the mistakes of the last one.
    """

    async def mistakes_of(plan: Plan) -> list[str]:
        workspace = step.workspace
        return _mistakes(plan.files, workspace, known) or await unreadable_files(plan.files, workspace)

    correction = "This plan cannot be carried out: {mistakes}. Give the corrected plan."
    plan, mistakes = await ask_until_valid(step, ask, Plan, prompt, mistakes_of, correction)
    if mistakes:
        raise StepFailed(f"no usable plan after {step.attempts} attempts: {'; '.join(mistakes)}")
    return plan.files


async def unreadable_files(files: Sequence[PlannedFile], workspace: Workspace) -> list[str]:
    """Return why files cannot be modified as planned; a binary file can only be moved or deleted."""
    found = []
    for file in files:
        if file.action == "modify":
            try:
                await workspace.read(file.path)
            except WorkspaceError as error:
                found.append(f"{file.path} cannot be modified: {error}")
    return found


def parse_plan(value: Any, workspace: Workspace) -> list[PlannedFile]:
    """Read a plan that a person may have edited.

    :raises InvalidInput: it is not a plan, or does not fit the project.
    """
    try:
        files = Plan.model_validate(value).files
    except ValidationError as error:
        words = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise InvalidInput(f"the plan cannot be read: {words}") from error
    mistakes = _mistakes(files, workspace) if files else []
    if mistakes:
        raise InvalidInput(f"the plan cannot be carried out: {'; '.join(mistakes)}")
    return files


def _mistakes(files: list[PlannedFile], workspace: Workspace, known: Sequence[str] = ()) -> list[str]:
    if not files:
        return ["it names no file"]
    found = []
    touched: set[Path] = set()
    going: set[Path] = set()
    for file in files:
        with suppress(OutsideRoot):
            if file.action in {"delete", "move"}:
                going.add(workspace.lexical(file.path))
    for file in files:
        try:
            paths = [workspace.resolve(path) for path in (file.path, file.move_to) if path]
        except OutsideRoot as error:
            found.append(str(error))
            continue
        new = file.path if file.action == "create" else file.move_to
        if new and (wrong := new_name_problem(new)):
            found.append(f"{new!r} is not a name for a new file: {wrong}")
        found += _mistakes_of(file, paths, known, going)
        found += [f"{path.name} is named twice" for path in paths if path in touched]
        touched.update(paths)
    return found


def _mistakes_of(
    file: PlannedFile, paths: list[Path], known: Sequence[str], going: Collection[Path]
) -> list[str]:
    exists = paths[0].is_file()
    if file.action == "create":
        # a file may replace a directory that the plan empties
        is_free = not paths[0].exists() or (
            paths[0].is_dir() and any(paths[0] in one.parents for one in going)
        )
        return [] if is_free else [f"{file.path} exists already: modify it, or name another file"]
    if not exists:
        near = ", ".join(neighbours(file.path, known))
        hint = f" (there is {near})" if near else ""
        return [f"{file.path} does not exist, so it cannot be {_DONE[file.action]}{hint}"]
    if file.action != "move":
        return [f"{file.path}: only a move has a target"] if file.move_to else []
    if not file.move_to:
        return [f"{file.path}: a move needs a target (move_to)"]
    return [f"{file.move_to} exists already"] if paths[1].exists() else []


_DONE = {"modify": "modified", "delete": "deleted", "move": "moved"}
