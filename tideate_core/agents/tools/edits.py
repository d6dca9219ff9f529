"""Tools that stage edits in memory: search and replace, whole files, moves and deletions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.agents.tools.edit_report import describe_changes
from tideate_core.agents.tools.project_paths import (
    missing_file,
    name_in_project,
    project_root,
    read_if_any,
    read_text,
)
from tideate_core.agents.tools.staged_diagnostics import report_changes
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.edits import (
    Location,
    Part,
    Replacement,
    apply_parts,
    common_edges,
    find_clash,
    find_placeholder,
)
from tideate_core.errors import EditConflict, NotText, ToolError, UnusableAnswer
from tideate_core.workspace import (
    FileChange,
    language_of,
    new_name_problem,
    refuse_in_repositories,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.tools.tool import ToolContext

MOST_PLACES: Final = 20
"""Places of a search named in an error."""


class SearchReplace(BaseModel):
    """One place of a file, and its replacement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: str = Field(min_length=1, description="Copied exactly, as short as is unique in the file.")
    replace: str
    line: int | None = Field(
        default=None, ge=1, description="First line of the match, for a text that is not unique."
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """Characters of a text, and their replacement by an edit."""

    quoted: tuple[int, int]
    """The searched characters; whole lines if the search does not match exactly."""
    start: int
    end: int
    new: str
    places: Sequence[Location] = ()
    """Where a search was found that does not match exactly."""


def apply_edits(before: str, edits: Sequence[SearchReplace], language: str) -> Replacement:
    """Apply edits to a text, all or none; each refers to the text before.

    :raises UnusableAnswer: an edit has no unique place, overlaps another one, or leaves lines out.
    """
    found = [_locate(before, number, edit, language) for number, edit in enumerate(edits, 1)]
    changed = [(one.start, one.end) if one.new or one.start < one.end else None for one in found]
    if clash := find_clash([one.quoted for one in found], changed):
        first, second = sorted(clash)
        raise UnusableAnswer(
            f"edit {first + 1} and edit {second + 1} change the same lines; make one of them"
        )
    pieces: list[str] = []
    at = 0
    for one in sorted(found, key=lambda one: (one.start, one.end)):
        pieces += [before[at : one.start], one.new]
        at = one.end
    after = "".join([*pieces, before[at:]])
    return Replacement(after.split("\n"), [place for one in found for place in one.places])


def _locate(before: str, number: int, edit: SearchReplace, language: str) -> _Change:
    """Find the place of an edit by whole lines, or exactly if it starts or ends within a line."""
    search = edit.search.replace("\r\n", "\n")
    replace = edit.replace.replace("\r\n", "\n")
    starts = _starts(before, search)
    if edit.line is not None and len(starts) > 1:
        start = _start_in_line(before, number, edit.line, starts, search)
        return _exact_change(before, number, start, (search, replace), language)
    try:
        done = apply_parts(before.split("\n"), [_lines_part(number, search, replace)], language=language)
    except UnusableAnswer as error:
        if len(starts) > 1:
            raise UnusableAnswer(_ambiguous(before, number, starts)) from error
        if not starts:
            raise
        return _exact_change(before, number, starts[0], (search, replace), language)
    after = "\n".join(done.lines)
    head, tail = common_edges(before, after)
    new = after[head : len(after) - tail]
    end = len(before) - tail
    if len(starts) == 1 and after == before.replace(search, replace):
        return _Change((starts[0], starts[0] + len(search)), head, end, new)
    line_end = before.find("\n", end)
    quoted = before.rfind("\n", 0, head) + 1, len(before) if line_end < 0 else line_end
    return _Change(quoted, head, end, new, done.places)


def _exact_change(before: str, number: int, start: int, edit: tuple[str, str], language: str) -> _Change:
    search, replace = edit
    end = start + len(search)
    if find_placeholder(replace.split("\n"), before.split("\n"), language) is not None:
        raise UnusableAnswer(f"edit {number}: a line of it stands for lines that are left out; write them")
    is_whole = before[:start][-1:] in ("", "\n") and before[end : end + 1] in ("", "\n")
    if not replace and is_whole and not search.endswith("\n"):  # remove the lines, not only their text
        end += 1
        start -= 1 if end > len(before) and start else 0
    head, tail = common_edges(search, replace)
    return _Change((start, end), start + head, end - tail, replace[head : len(replace) - tail])


def _lines_part(number: int, search: str, replace: str) -> Part:
    if search.endswith("\n") and (replace.endswith("\n") or not replace):
        search, replace = search[:-1], replace.removesuffix("\n")
    new = tuple(replace.split("\n")) if replace else ()
    return Part(f"edit {number}", ((tuple(search.split("\n")), new),))


def _starts(text: str, search: str) -> list[int]:
    """Return all positions of a search, including overlapping ones."""
    starts = []
    at = text.find(search)
    while at >= 0:
        starts.append(at)
        at = text.find(search, at + 1)
    return starts


def _line_numbers(text: str, places: Sequence[int]) -> list[int]:
    """Return the lines (from 1) of sorted positions; there may be very many."""
    numbers = []
    line, at = 1, 0
    for place in places:
        line, at = line + text.count("\n", at, place), place
        numbers.append(line)
    return numbers


def _start_in_line(before: str, number: int, line: int, starts: Sequence[int], search: str) -> int:
    """Return the position of a search that begins on a given line.

    :raises UnusableAnswer: no place begins there, or several do.
    """
    blank = len(search) - len(search.lstrip("\n"))
    begins = _line_numbers(before, [start + blank for start in starts])
    there = [start for start, at in zip(starts, begins, strict=True) if at == line]
    if len(there) == 1:
        return there[0]
    if there:
        raise UnusableAnswer(
            f"edit {number}: its search stands several times in line {line}; search more of the line"
        )
    text = before.split("\n")
    now = f"; line {line} is now {text[line - 1][:200]!r}" if line <= len(text) else ""
    raise UnusableAnswer(
        f"edit {number}: its search begins on lines {_shortened(begins)}, not on line {line}{now}"
    )


def _ambiguous(before: str, number: int, starts: Sequence[int]) -> str:
    lines = _line_numbers(before, starts)
    return (
        f"edit {number}: its search stands at {len(starts)} places (it begins on lines {_shortened(lines)}); "
        "give the line of one, or search more lines"
    )


def _shortened(lines: Sequence[int]) -> str:
    known = sorted(set(lines))
    return ", ".join([*map(str, known[:MOST_PLACES]), *(["…"] if len(known) > MOST_PLACES else [])])


class EditFile(Arguments):
    """Arguments of `edit_file`."""

    path: str
    edits: list[SearchReplace] = Field(
        min_length=1, max_length=100, description="All or none; each of the file as it is now."
    )


async def edit_file(context: ToolContext, arguments: EditFile) -> str:
    """Stage the edits of a file."""
    name, before = await read_text(context, arguments.path)
    await _refuse_place(context, name)
    try:
        done = await asyncio.to_thread(apply_edits, before, arguments.edits, language_of(name))
    except UnusableAnswer as error:
        raise ToolError(f"{name} was not changed: {error}") from error
    after = "\n".join(done.lines)
    if after == before:
        raise ToolError(f"{name} was not changed: the edits leave everything as it is")
    loose = [place for place in done.places if not place.is_exact]
    notes = [*map(str, loose), *done.notes]
    return await _stage(
        context, FileChange(name, "modify", before, after), notes, [one.line for one in loose]
    )


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: str
    text: str = Field(description="Complete.")


async def write_file(context: ToolContext, arguments: WriteFile) -> str:
    """Stage the whole text of a file."""
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

    path: str
    to: str = Field(description="The new path.")


async def move_file(context: ToolContext, arguments: MoveFile) -> str:
    """Stage the move of a file."""
    _refuse_link(context, arguments.path)
    name, text = await _text_or_bytes(context, arguments.path)
    target = name_in_project(context, arguments.to)
    await _refuse_place(context, name)
    if await read_if_any(context, target) is not None:
        raise ToolError(f"{target} exists already; {name} was not moved")
    await _refuse_place(context, target, new=True)
    if text is None:
        context.staged.stage_bytes(name, target)
        return f"staged: {_DONE['move'].format(path=name, to=target)}, as it is"
    return await _stage(context, FileChange(name, "move", text, text, move_to=target))


class DeleteFile(Arguments):
    """Arguments of `delete_file`."""

    path: str


async def delete_file(context: ToolContext, arguments: DeleteFile) -> str:
    """Stage the deletion of a file."""
    _refuse_link(context, arguments.path)
    name, text = await _text_or_bytes(context, arguments.path)
    await _refuse_place(context, name)
    if text is None:
        context.staged.stage_bytes(name, None)
        return f"staged: {_DONE['delete'].format(path=name)}"
    return await _stage(context, FileChange(name, "delete", text, None))


async def _text_or_bytes(context: ToolContext, path: str) -> tuple[str, str | None]:
    """Return the name and text of a file; the text is None if it is binary."""
    name = name_in_project(context, path)
    try:
        text = await read_if_any(context, name)
    except ToolError:
        if context.staged.is_no_text(name):
            return name, None
        raise
    if text is None:
        raise await missing_file(context, path)
    return name, text


def _refuse_link(context: ToolContext, path: str) -> None:
    if (project_root(context) / path).is_symlink():
        raise ToolError(f"{path} is a symbolic link; only a person moves or deletes it")


async def _refuse_place(context: ToolContext, name: str, *, new: bool = False) -> None:
    """Reject places that no run may write.

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
    if context.may_change is not None and name not in staged and (why := await context.may_change([name])):
        raise ToolError(f"nothing was changed: {why}")
    folders = name.split("/")[:-1]
    for above in ("/".join(folders[: count + 1]) for count in range(len(folders))):
        there = staged[above] is not None if above in staged else (root / above).is_file()
        if new and there:
            raise ToolError(f"{name} cannot be made: {above} is a file")


async def _stage(
    context: ToolContext, change: FileChange, notes: Sequence[str] = (), loose: Sequence[int] = ()
) -> str:
    """Stage a change, and return its description for a model.

    :param loose: lines of the text before at which a search matched inexactly.
    """
    staged = context.staged
    try:
        await context.step.workspace.refuse_unwritable(change)
    except (EditConflict, NotText) as error:
        raise ToolError(f"{change.path} was not changed: {error}") from error
    knew = change.before is None or staged.was_shown(change.path)
    staged.stage([change])
    name = change.move_to or change.path
    if knew and change.after is not None:
        staged.note_shown(name)  # the model knows the whole text
    described, _ = await asyncio.to_thread(describe_changes, [change], loose)
    syntax, problems = await report_changes(context, [change])
    done = _DONE[change.action].format(path=change.path, to=change.move_to)
    return "\n".join([f"staged: {done}{syntax}", *described, *(f"[{note}]" for note in notes), *problems])


_DONE: Final = {
    "create": "{path} is new",
    "modify": "{path} is changed",
    "move": "{path} is moved to {to}",
    "delete": "{path} is deleted",
}


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "edit_file",
        "Change parts of a file by search and replace. Returns the changed lines and new errors.",
        EditFile,
        "stages",
        edit_file,
        hides_secrets=True,
    ),
    WorkTool(
        "write_file",
        "Create a file, or replace the whole text of one that you have read.",
        WriteFile,
        "stages",
        write_file,
        hides_secrets=True,
    ),
    WorkTool(
        "move_file",
        "Move or rename a file; then edit it under its new path.",
        MoveFile,
        "stages",
        move_file,
        hides_secrets=True,
    ),
    WorkTool("delete_file", "Delete a file.", DeleteFile, "stages", delete_file),
)
