"""Tools that read files: a text with its line numbers, a list of files, files by a glob."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.globs import glob_filter
from tideate_core.agents.tools.project_paths import name_in_project, project_files, read_text
from tideate_core.agents.tools.results import LONGEST_LINE, bounded_lines, numbered
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ToolError, WorkspaceError

if TYPE_CHECKING:
    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["TOOLS"]

ENTRIES: Final = 300
"""Lines of a tree where no depth is asked for."""
MOST_ENTRIES: Final = 3_000


class ReadFile(Arguments):
    """Arguments of `read_file`."""

    path: str = Field(description="Relative to the project's root.")
    first: int = Field(default=1, ge=1, description="First line, from 1.")
    last: int | None = Field(default=None, ge=1, description="Last line, included; default: to the end.")


async def read_file(context: ToolContext, arguments: ReadFile) -> str:
    """Return lines of a file, each with its number."""
    name, text = await read_text(context, arguments.path)
    lines = text.split("\n")
    total, first = len(lines), arguments.first
    if not text:
        context.staged.note_shown(name)
        return f"{name} is empty"
    last = min(arguments.last or total, total)
    if first > last:
        raise ToolError(f"{name} has {total} lines; there is no line {first} up to {arguments.last or total}")
    body = bounded_lines(
        numbered(lines[first - 1 : last], first),
        lambda shown: f"lines {first + shown} to {last} left out; ask with first={first + shown}",
    )
    whole = (first, last) == (1, total) and body.count("\n") + 1 == total
    if whole and not body.endswith("]") and max(map(len, lines)) <= LONGEST_LINE:
        context.staged.note_shown(name)
    return f"{name}, {_about(first, last, total)}{await _state(context, name)}\n{body}"


def _about(first: int, last: int, total: int) -> str:
    if (first, last) == (1, total):
        return f"{total} lines" if total > 1 else "1 line"
    return f"lines {first}-{last} of {total}"


async def _state(context: ToolContext, name: str) -> str:
    if name in context.staged.changed_texts():
        return ", with staged edits"
    try:
        source = await context.step.workspace.read(name)
    except WorkspaceError:  # it is gone since
        return ""
    return ", with unsaved changes of the editor" if source.modified else ""


class ListFiles(Arguments):
    """Arguments of `list_files`."""

    path: str = Field(default=".", description="Folder, relative to the project's root.")
    depth: int | None = Field(
        default=None, ge=1, le=50, description="Levels of folders that are opened; default: what fits."
    )


async def list_files(context: ToolContext, arguments: ListFiles) -> str:
    """Return the files of a folder as a tree."""
    from tideate_core.mentions import draw_tree

    name = name_in_project(context, arguments.path)
    prefix = "" if name == "." else f"{name}/"
    files = await project_files(context)
    below = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    if not below:
        if name in files:
            raise ToolError(f"{name} is a file; read_file shows it")
        raise ToolError(f"{name} has no files, or only ignored ones, which are not listed")
    entries = ENTRIES if arguments.depth is None else MOST_ENTRIES
    drawn, hidden = draw_tree(below, entries, arguments.depth)
    text = bounded_lines(drawn.split("\n"), lambda _: "the rest is left out; list a folder of it")
    if not hidden:
        return text
    words = "file is" if hidden == 1 else "files are"
    return f"{text}\n[{hidden:,} {words} in folders that are not opened; list one of these]"


class FindFiles(Arguments):
    """Arguments of `find_files`."""

    glob: str = Field(
        min_length=1,
        max_length=500,
        description="As `*.py` (at any depth), `src/**/test_*.{ts,tsx}`, `docs` (all in a folder).",
    )


async def find_files(context: ToolContext, arguments: FindFiles) -> str:
    """Return the paths that fit a glob."""
    fits = glob_filter(arguments.glob)
    found = [path for path in await project_files(context) if fits(path)]
    if not found:
        return f"no file fits {arguments.glob}; a glob with / is about the whole path from the root"
    return bounded_lines(found, lambda shown: f"{len(found) - shown} more files; use a narrower glob")


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "read_file",
        "Read a text file, or a range of its lines; each line comes as `NUMBER→TEXT`. You see staged edits "
        "and unsaved changes of the editor. Long files are cut: ask for the next range. To find where "
        "something is, search or find_symbol is cheaper; outline shows what a long file defines.",
        ReadFile,
        "reads",
        read_file,
    ),
    WorkTool(
        "list_files",
        "List the project's files below a folder as a tree, without those that git ignores. Folders that do "
        "not fit are shown with the number of their files. find_files is better where you know a part of the "
        "name.",
        ListFiles,
        "reads",
        list_files,
    ),
    WorkTool(
        "find_files",
        "Find files by a glob over their paths; returns the paths. For what is in files use search.",
        FindFiles,
        "reads",
        find_files,
    ),
)
