"""Files that a model is shown: those that a plan names, as many as it bears."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.agents.capacity import text_budget
from tideate_core.agents.consent import why_hidden
from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.agents.asking import Asking
    from tideate_core.gates import ExecutionPlan
    from tideate_core.workspace import Source, Workspace

__all__ = ["Shown", "ShownFile", "named_files", "read_if_there", "real_names", "shown_files"]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file for a prompt; `text` is None of one that does not exist."""

    path: str
    text: str | None
    language: str


@dataclass(frozen=True, slots=True)
class Shown:
    """Files for a prompt, and the names of those for which there was no room, or that are no text."""

    files: list[ShownFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [file.text or "" for file in self.files]


def named_files(plan: ExecutionPlan) -> list[str]:
    """Return the files that a plan names, each once, in its order."""
    named = [*plan.files, *(file for step in plan.steps for file in step.files)]
    return list(dict.fromkeys(file for file in named if file.strip()))


def real_names(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Return each file once, as the workspace names it, links followed; what is no file's path stays."""
    return list(dict.fromkeys(_real_name(workspace, path) for path in paths))


def _real_name(workspace: Workspace, path: str) -> str:
    try:
        return workspace.name_of(workspace.resolve(path))
    except OutsideRoot:
        return path  # reading it says why it cannot be read


async def read_if_there(workspace: Workspace, path: str) -> Source | None:
    """Read a file as the person sees it, unsaved changes included; None if there is none.

    :raises OutsideRoot: it is none of the project's.
    :raises WorkspaceError: it is there and no text, too large, or a directory.
    """
    try:
        return await workspace.read(path)
    except OutsideRoot:
        raise
    except WorkspaceError:
        if await asyncio.to_thread(workspace.resolve(path).exists):
            raise
        return None


async def shown_files(stage: Asking, paths: Iterable[str]) -> Shown:
    """Read files for a prompt, as many as the model bears, the first ones first; none is cut."""
    step = stage.step
    left = text_budget(step)
    shown = Shown()
    for path in paths:
        try:
            source = await read_if_there(step.workspace, path)
        except WorkspaceError:
            shown.left_out.append(path)
            continue
        text = source.text if source else None
        if text and await why_hidden(step, path, text):
            shown.left_out.append(path)
            continue
        if left is not None and len(text or "") > left:
            shown.left_out.append(path)
            continue
        left = None if left is None else left - len(text or "")
        shown.files.append(ShownFile(path, text, language_of(path)))
    return shown
