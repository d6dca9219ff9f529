"""Tools that stage edits in memory: by search and replace, whole texts, moves and deletions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.agents.tools.project_paths import (
    missing_file,
    name_in_project,
    project_root,
    read_if_any,
    read_text,
)
from tideate_core.agents.tools.results import bounded_text
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.edits import Part, apply_parts, find_placeholder
from tideate_core.errors import EditConflict, NotText, ToolError, UnusableAnswer
from tideate_core.gates import new_errors
from tideate_core.workspace import (
    Document,
    FileChange,
    language_of,
    new_name_problem,
    refuse_in_repositories,
    unified_diff,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["TOOLS"]

LONGEST_DIFF: Final = 8_000
"""Characters of a diff in a result."""
MOST_ERRORS: Final = 10
"""Syntax errors that a result names."""


class SearchReplace(BaseModel):
    """One place of a file, and the text that replaces it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: str = Field(
        min_length=1, description="Text of the file, copied exactly; it must stand there only once."
    )
    replace: str = Field(description="The text in its place; empty removes it.")


class EditFile(Arguments):
    """Arguments of `edit_file`."""

    path: str = Field(description="Relative to the project's root.")
    edits: list[SearchReplace] = Field(
        min_length=1, max_length=100, description="All are made or none; each is of the file as it is now."
    )


async def edit_file(context: ToolContext, arguments: EditFile) -> str:
    """Stage the edits of a file."""
    name, before = await read_text(context, arguments.path)
    await _refuse_place(context, name)
    try:
        after, notes = await asyncio.to_thread(_edited, before, arguments.edits, language_of(name))
    except UnusableAnswer as error:
        raise ToolError(f"{name} was not changed: {error}") from error
    if after == before:
        raise ToolError(f"{name} was not changed: the edits leave everything as it is")
    return await _stage(context, FileChange(name, "modify", before, after), notes)


def _edited(before: str, edits: Sequence[SearchReplace], language: str) -> tuple[str, list[str]]:
    lines = before.split("\n")
    parts = [_part(before, number, edit, language) for number, edit in enumerate(edits, 1)]
    done = apply_parts(lines, parts, language=language)
    places = [str(place) for place in done.places if not place.is_exact]
    return "\n".join(done.lines), [*places, *done.notes]


def _part(before: str, number: int, edit: SearchReplace, language: str) -> Part:
    """Return an edit in whole lines; one that begins or ends within a line must stand there exactly."""
    search = edit.search.replace("\r\n", "\n")
    replace = edit.replace.replace("\r\n", "\n")
    part = _lines_part(number, search, replace)
    if before.count(search) != 1:
        return part
    try:
        apply_parts(before.split("\n"), [part], language=language)
    except UnusableAnswer:
        start = before.index(search)
        end = start + len(search)
        first = before.rfind("\n", 0, start) + 1
        last = before.find("\n", end)
        last = len(before) if last < 0 else last
        return _lines_part(number, before[first:last], before[first:start] + replace + before[end:last])
    return part


def _lines_part(number: int, search: str, replace: str) -> Part:
    if search.endswith("\n") and (replace.endswith("\n") or not replace):
        search, replace = search[:-1], replace.removesuffix("\n")
    new = tuple(replace.split("\n")) if replace else ()
    return Part(f"edit {number}", ((tuple(search.split("\n")), new),))


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: str = Field(description="Relative to the project's root.")
    text: str = Field(description="The complete text, nothing left out.")


async def write_file(context: ToolContext, arguments: WriteFile) -> str:
    """Stage a whole text."""
    name = name_in_project(context, arguments.path)
    before = await read_if_any(context, name)
    if before and not context.staged.was_shown(name):
        raise ToolError(
            f"{name} exists, and you have not read all of it as it is now; read_file it first, or change "
            "parts of it with edit_file"
        )
    await _refuse_place(context, name, new=before is None)
    after = arguments.text.replace("\r\n", "\n").removesuffix("\n")
    code, known = after.split("\n"), (before or "").split("\n")
    left_out = find_placeholder(code, known, language_of(name))
    if left_out is not None:
        raise ToolError(
            f"{name} was not written: line {left_out + 1} ({code[left_out].strip()[:80]!r}) stands for lines "
            "that are left out; give the complete text, or use edit_file"
        )
    if after == before:
        raise ToolError(f"{name} was not written: it has this text already")
    change = FileChange(name, "create" if before is None else "modify", before, after)
    return await _stage(context, change)


class MoveFile(Arguments):
    """Arguments of `move_file`."""

    path: str = Field(description="Relative to the project's root.")
    to: str = Field(description="The new path, its name included.")


async def move_file(context: ToolContext, arguments: MoveFile) -> str:
    """Stage the move of a file."""
    _refuse_link(context, arguments.path)
    name, text = await read_text(context, arguments.path)
    target = name_in_project(context, arguments.to)
    await _refuse_place(context, name)
    if await read_if_any(context, target) is not None:
        raise ToolError(f"{target} exists already; {name} was not moved")
    await _refuse_place(context, target, new=True)
    return await _stage(context, FileChange(name, "move", text, text, move_to=target))


class DeleteFile(Arguments):
    """Arguments of `delete_file`."""

    path: str = Field(description="Relative to the project's root.")


async def delete_file(context: ToolContext, arguments: DeleteFile) -> str:
    """Stage the deletion of a file."""
    _refuse_link(context, arguments.path)
    name = name_in_project(context, arguments.path)
    text = await read_if_any(context, name)
    if text is None:
        raise await missing_file(context, arguments.path)
    await _refuse_place(context, name)
    return await _stage(context, FileChange(name, "delete", text, None))


def _refuse_link(context: ToolContext, path: str) -> None:
    if (project_root(context) / path).is_symlink():
        raise ToolError(f"{path} is a symbolic link; only a person moves or deletes it")


async def _refuse_place(context: ToolContext, name: str, *, new: bool = False) -> None:
    """Refuse what no run may write.

    :param new: there is no file of this name yet.
    """
    root = project_root(context)
    if new and (wrong := new_name_problem(name)):
        raise ToolError(f"{name!r} is not a name for a new file: {wrong}")
    try:
        await asyncio.to_thread(refuse_in_repositories, (root / name).parent, root)
    except EditConflict as error:
        raise ToolError(str(error)) from error
    staged = context.staged.changed_texts()
    if context.may_change is not None and name not in staged and (why := await context.may_change(name)):
        raise ToolError(f"{name} was not changed: {why}")
    folders = name.split("/")[:-1]
    for above in ("/".join(folders[: count + 1]) for count in range(len(folders))):
        there = staged[above] is not None if above in staged else (root / above).is_file()
        if new and there:
            raise ToolError(f"{name} cannot be made: {above} is a file")


async def _stage(context: ToolContext, change: FileChange, notes: Sequence[str] = ()) -> str:
    """Stage a change, and return it as a model is to see it."""
    staged = context.staged
    try:
        Document().encode(change.after)
    except NotText as error:
        raise ToolError(f"{change.path} was not changed: {error}") from error
    knew = change.before is None or staged.was_shown(change.path)
    staged.stage([change])
    name = change.move_to or change.path
    if knew and change.after is not None:
        staged.note_shown(name)  # the model knows all of it
    problems = []
    if change.after is not None and change.action != "move":
        language = language_of(name)
        problems = await asyncio.to_thread(new_errors, language, change.before or "", change.after)
    return "\n".join(
        [
            f"staged: {_DONE[change.action].format(path=change.path, to=change.move_to)}",
            *_diff(change),
            *(f"[{note}]" for note in notes),
            *(f"[new syntax error: {problem}]" for problem in problems[:MOST_ERRORS]),
        ]
    )


_DONE: Final = {
    "create": "{path} is new",
    "modify": "{path} is changed",
    "move": "{path} is moved to {to}",
    "delete": "{path} is deleted",
}


def _diff(change: FileChange) -> list[str]:
    """Return the hunks of a change; of a text that the model has just given whole, none."""
    if change.action != "modify":
        return []
    text = unified_diff(change).rstrip("\n")
    start = text.find("\n@@ ") + 1
    return [bounded_text(text[start:], "read_file shows the file as it is staged", LONGEST_DIFF)]


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "edit_file",
        "Change parts of a file by search and replace. A search is a piece of the file as read_file shows it "
        "(without the numbers), as short as you like if it stands only once. Returns the diff and new syntax "
        "errors. Edits are staged: every tool sees them from now on; they are written to disk "
        "after a review.",
        EditFile,
        "stages",
        edit_file,
    ),
    WorkTool(
        "write_file",
        "Create a file, or replace one that you have read with a whole new text. To change parts of a file "
        "use edit_file, which is cheaper.",
        WriteFile,
        "stages",
        write_file,
    ),
    WorkTool(
        "move_file",
        "Move or rename a file; its imports elsewhere are yours to change. Edit it under its new path then.",
        MoveFile,
        "stages",
        move_file,
    ),
    WorkTool("delete_file", "Delete a file.", DeleteFile, "stages", delete_file),
)
