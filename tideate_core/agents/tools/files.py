"""Tools that read files: a text, a tree of files, files that match a glob."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, PositiveInt

from tideate_core.agents.tools.project_paths import (
    name_in_project,
    own_repositories,
    path_filter,
    project_files,
    project_root,
    read_text,
)
from tideate_core.agents.tools.results import LONGEST_LINE, bounded_lines, cut_line, numbered
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.mentions import draw_tree, secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.agents.tools.tool import ToolContext

ENTRIES: Final = 300
"""Lines of a tree if no depth is given."""
MOST_ENTRIES: Final = 3_000
KNOWN: Final = 30
"""Minimum of lines of a text that is not shown to a model twice."""
KNOWN_TEXT: Final = "{name}, {about}: you have all of it, with your edits; ranges show lines again"
LEAST_SIZE: Final = 4_096
"""Bytes from which a file's size is shown."""


class ReadFile(Arguments):
    """Arguments of `read_file`."""

    path: str
    first: int = Field(default=1, ge=1, json_schema_extra={"hidden": True})
    last: int | None = Field(default=None, ge=1, json_schema_extra={"hidden": True})
    ranges: list[Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]] = Field(
        default=[], max_length=30, description="[first, last] lines, last included."
    )
    numbers: bool = Field(default=False, description="Number the lines.")


async def read_file(context: ToolContext, arguments: ReadFile) -> str:
    """Return lines of a file, or only a note if the model already has the long text."""
    if arguments.ranges and (arguments.first > 1 or arguments.last):
        raise ToolError("give either ranges, or first and last")
    name, text = await read_text(context, arguments.path)
    lines = text.split("\n")
    if not text:
        context.staged.note_shown(name)
        return f"{name} is empty"
    asks_for_part = arguments.model_fields_set & {"first", "last", "ranges", "numbers"}
    if context.staged.was_shown(name) and len(lines) > KNOWN and not asks_for_part:
        return KNOWN_TEXT.format(name=name, about=_about([(1, len(lines))], len(lines)))
    wanted = arguments.ranges or [[arguments.first, arguments.last or len(lines)]]
    spans = _spans(name, wanted, len(lines))
    body, whole = _shown_lines(lines, spans, numbers=arguments.numbers)
    if whole and max(map(len, lines)) <= LONGEST_LINE:
        context.staged.note_shown(name)
    return f"{name}, {_about(spans, len(lines))}{await _state(context, name)}\n{body}"


def _spans(name: str, wanted: Iterable[Sequence[int]], total: int) -> list[tuple[int, int]]:
    """Return sorted ranges of existing lines; overlapping ranges are merged.

    :raises ToolError: a range has no existing line.
    """
    spans: list[tuple[int, int]] = []
    for first, last in sorted((one[0], one[1]) for one in wanted):
        if first > min(last, total):
            raise ToolError(f"{name} has {total} lines; there is no line {first} up to {last}")
        if spans and first <= spans[-1][1] + 1:
            first, last = spans[-1][0], max(last, spans.pop()[1])
        spans.append((first, min(last, total)))
    return spans


def _shown_lines(
    lines: Sequence[str], spans: Sequence[tuple[int, int]], *, numbers: bool
) -> tuple[str, bool]:
    """Return lines up to the size limit, and whether they are the whole file."""
    shown: list[str] = []
    places: list[int] = []
    for first, last in spans:
        if shown:
            shown.append(f"-- {first}-{last}")
            places.append(first)
        part = lines[first - 1 : last]
        shown += numbered(part, first) if numbers else map(cut_line, part)
        places += range(first, last + 1)
    left_out: list[int] = []

    def rest(count: int) -> str:
        left_out.append(places[count])
        return f"lines {places[count]} to {places[-1]} left out; ask for ranges from {places[count]} on"

    body = bounded_lines(shown, rest)
    return body, len(places) == len(lines) and not left_out


def _about(spans: Sequence[tuple[int, int]], total: int) -> str:
    if spans == [(1, total)]:
        return f"{total} lines" if total > 1 else "1 line"
    return f"lines {', '.join(f'{first}-{last}' for first, last in spans)} of {total}"


async def _state(context: ToolContext, name: str) -> str:
    if name in context.staged.changed_texts():
        return ", with staged edits"
    try:
        source = await context.step.workspace.read(name)
    except WorkspaceError:  # deleted meanwhile
        return ""
    return ", with unsaved changes of the editor" if source.modified else ""


class ListFiles(Arguments):
    """Arguments of `list_files`."""

    path: str = "."
    depth: int | None = Field(default=None, ge=1, le=50, description="Default: what fits.")


async def list_files(context: ToolContext, arguments: ListFiles) -> str:
    """Return the files of a folder as a tree."""

    name = name_in_project(context, arguments.path)
    prefix = "" if name == "." else f"{name}/"
    files = await project_files(context)
    below = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    if not below:
        if name in files:
            raise ToolError(f"{name} is a file; read_file shows it")
        raise ToolError(f"{name} has no files, or only ignored ones, which are not listed")
    entries = ENTRIES if arguments.depth is None else MOST_ENTRIES
    drawn, hidden = draw_tree(await _with_sizes(context, prefix, below), entries, arguments.depth)
    text = bounded_lines(drawn.split("\n"), lambda _: "the rest is left out; list a folder of it")
    notes = await own_repositories(context, [f"{prefix}{path}" for path in below])
    text = "\n".join([text, *notes])
    if not hidden:
        return text
    words = "file is" if hidden == 1 else "files are"
    return f"{text}\n[{hidden:,} {words} in folders that are not opened; list one of these]"


async def _with_sizes(context: ToolContext, prefix: str, below: Sequence[str]) -> list[str]:
    """Return paths, with the sizes of files that are better read in parts."""
    root, staged = project_root(context), context.staged.changed_texts()

    def with_size(path: str) -> str:
        if secret_name(path):
            return path
        text = staged.get(f"{prefix}{path}")
        try:
            # os.lstat, not Path: there may be many thousands
            size = len(text) if text is not None else os.lstat(f"{root}/{prefix}{path}").st_size
        except OSError:  # deleted meanwhile
            return path
        return path if size < LEAST_SIZE else f"{path} {round(size / 1024)}k"

    return await asyncio.to_thread(lambda: [with_size(path) for path in below])


class FindFiles(Arguments):
    """Arguments of `find_files`."""

    glob: str = Field(
        min_length=1,
        max_length=500,
        description="As `*.py`, `src/**/test_*.{ts,tsx}`, `docs`.",
    )


async def find_files(context: ToolContext, arguments: FindFiles) -> str:
    """Return the paths that match a glob."""
    fits, files = path_filter(arguments.glob), await project_files(context)
    # in a thread: many braces over many paths take seconds
    found = await asyncio.to_thread(lambda: [path for path in files if fits(path)])
    if not found:
        return f"no file fits {arguments.glob}; a glob with / is about the whole path from the root"
    text = bounded_lines(found, lambda shown: f"{len(found) - shown} more files; use a narrower glob")
    return "\n".join([text, *await own_repositories(context, found)])


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "read_file",
        "Read a file or ranges of its lines, with staged edits and unsaved changes; 30,000 characters at "
        "most. Of a long file, read only parts that outline, search or find_symbol name.",
        ReadFile,
        "reads",
        read_file,
        hides_secrets=True,
    ),
    WorkTool(
        "list_files",
        "Tree of the files below a folder; `NAME 12k`: 12 kB.",
        ListFiles,
        "reads",
        list_files,
    ),
    WorkTool("find_files", "Find files by a glob over their paths.", FindFiles, "reads", find_files),
)
