"""Project files for the tools: list them, resolve a model's paths, read staged or unsaved texts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from tideate_core.agents.project_files import neighbours
from tideate_core.errors import OutsideRoot, ToolError, UnusableAnswer
from tideate_core.mentions import secret_in
from tideate_core.util.globs import glob_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext

MOST_REPOSITORIES: Final = 20
"""Nested repositories named in a result."""


def project_root(context: ToolContext) -> Path:
    """Return the project's root.

    :raises ToolError: there is no project.
    """
    root = context.step.workspace.root
    if root is None:
        raise ToolError("there is no project here, so no file can be read or changed")
    return root


def name_in_project(context: ToolContext, path: str) -> str:
    """Return a path as the workspace names it: relative to the root, links resolved; `.` for the root.

    :raises ToolError: the path is outside the project, or protected.
    """
    workspace = context.step.workspace
    try:
        return workspace.name_of(workspace.resolve(path))
    except OutsideRoot as error:
        raise ToolError(f"{error}; name a path relative to the project's root") from error


def path_filter(glob: str) -> Callable[[str], bool]:
    """Return a predicate for the paths that match a glob; see `glob_filter`.

    :raises ToolError: the glob is invalid.
    """
    try:
        return glob_filter(glob)
    except ValueError as error:
        raise ToolError(str(error)) from error


async def own_repositories(context: ToolContext, files: Sequence[str]) -> list[str]:
    """Return a note for each folder with files that is a repository within the project."""
    from tideate_core.workspace import repositories_of

    found = await asyncio.to_thread(repositories_of, project_root(context), files)
    notes = [f"[{folder}/ is {kind}]" for folder, kind in found.items()]
    if len(notes) > MOST_REPOSITORIES:
        notes[MOST_REPOSITORIES:] = [f"[and {len(notes) - MOST_REPOSITORIES} more repositories]"]
    return notes


async def project_files(context: ToolContext) -> list[str]:
    """Return the sorted names of the project's files after staged edits, without ignored ones.

    Files whose paths seem to hold secrets are left out.
    """

    step = context.step
    files = await step.workspace.list(notice=lambda words: step.notice(words, level="warn"))
    return [name for name in context.staged.listed(files) if not secret_in(name)]


async def read_text(context: ToolContext, path: str) -> tuple[str, str]:
    """Return the name of a file and its text with staged edits.

    :raises ToolError: the file does not exist, or cannot be read.
    """
    name = name_in_project(context, path)
    text = await read_if_any(context, name)
    if text is None:
        raise await missing_file(context, path)
    return name, text


async def read_if_any(context: ToolContext, name: str) -> str | None:
    """Return the text of a file by its name in the project; None if it does not exist.

    :raises ToolError: the file cannot be read; gives the reason.
    """
    try:
        return await context.staged.read(context.step, name)
    except UnusableAnswer as error:
        if await asyncio.to_thread((project_root(context) / name).is_dir):
            going = {path for path, text in context.staged.changed_texts().items() if text is None}
            if await asyncio.to_thread(_is_emptied, project_root(context), name, going):
                return None
            raise ToolError(f"{name} is a directory; list_files shows what is in it") from error
        raise ToolError(str(error)) from error


def _is_emptied(root: Path, name: str, going: set[str]) -> bool:
    """Return whether staged edits remove all files of a directory that has some."""
    found = [path for path in (root / name).rglob("*") if path.is_symlink() or not path.is_dir()]
    return bool(found) and all(path.relative_to(root).as_posix() in going for path in found)


async def missing_file(context: ToolContext, path: str) -> ToolError:
    """Return the error for a file that does not exist, with suggestions."""
    near = ", ".join(neighbours(path, await project_files(context)))
    hint = f"similar files: {near}" if near else "find_files and list_files list the files"
    return ToolError(f"{path} does not exist; {hint}")
