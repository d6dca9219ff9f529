"""The text that `--file PATH[:FIRST-LAST]` names, as the context of a run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidInput, OutsideRoot
from tideate_core.workflows import BufferContext, RunContext, Selection
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from tideate_core.cli.wiring import Project
    from tideate_core.workspace import Workspace

__all__ = ["read_subject", "split_range"]

RANGE = re.compile(r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?")


def split_range(argument: str) -> tuple[str, Selection | None]:
    """Split `PATH:FIRST-LAST` or `PATH:LINE`; a file of exactly that name is taken whole.

    :raises InvalidInput: the range runs backwards.
    """
    match = RANGE.fullmatch(argument)
    if match is None or Path(argument).exists():
        return argument, None
    first = int(match["first"])
    last = int(match["last"] or first)
    if last < first:
        raise InvalidInput(f"--file {argument}: the range ends before it begins")
    return match["path"], Selection(start=first, end=last)


async def read_subject(argument: str | None, project: Project) -> RunContext:
    """Return what a run is about. A file that is named without a range is selected as a whole.

    :raises OutsideRoot: the file is not in the project.
    :raises NotText: it is binary or not UTF-8.
    :raises WorkspaceError: it cannot be read.
    """
    cwd = str(project.directory)
    if argument is None:
        return RunContext(cwd=cwd)
    name, selection = split_range(argument)
    path = _resolve(name, project.workspace)
    source = await project.workspace.read(path)
    if selection is None and source.text:
        selection = Selection(start=1, end=source.text.count("\n") + 1)
    buffer = BufferContext(
        path=str(path),
        text=source.text,
        filetype=language_of(str(path)),
        modifiable=os.access(path, os.W_OK),
    )
    return RunContext(cwd=cwd, buffer=buffer, selection=selection)


def _resolve(name: str, workspace: Workspace) -> Path:
    """Return a file that is named from the working directory."""
    try:
        return workspace.resolve(Path.cwd() / Path(name).expanduser())
    except OutsideRoot as error:
        raise OutsideRoot(f"--file {name}: {error}; --root names the project that it belongs to") from error
