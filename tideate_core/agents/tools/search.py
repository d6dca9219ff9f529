"""Tool that searches the project's files for an expression, staged and unsaved texts included."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.globs import glob_filter
from tideate_core.agents.tools.project_paths import project_files, project_root
from tideate_core.agents.tools.results import LONGEST
from tideate_core.agents.tools.search_programs import Found, Query, find_lines
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ToolError, WorkspaceError

if TYPE_CHECKING:
    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["TOOLS"]

LONGEST_LINE: Final = 300
"""Characters of a line that is shown."""
HIDDEN_LINE: Final = "[a line that seems to hold a secret]"
NAMED: Final = 20
"""Files that were left out which are named."""


class Search(Arguments):
    """Arguments of `search`."""

    pattern: str = Field(min_length=1, max_length=2_000, description="Regular expression, within one line.")
    literal: bool = Field(default=False, description="Look for the pattern as it is.")
    ignore_case: bool = Field(default=False)
    glob: str = Field(
        default="", max_length=500, description="Only files that fit, as `*.py`, `src/**/*.{ts,tsx}`, `docs`."
    )
    context: int = Field(default=0, ge=0, le=20, description="Lines shown before and after each match.")
    limit: int = Field(default=100, ge=1, le=1_000, description="Matching lines that are shown at most.")


async def search(context: ToolContext, arguments: Search) -> str:
    """Return the lines in which a pattern is found, by file."""
    root = project_root(context)
    names = await project_files(context)
    if arguments.glob:
        names = list(filter(glob_filter(arguments.glob), names))
        if not names:
            return f"no file fits the glob {arguments.glob}"
    shown, secrets = await asyncio.to_thread(_without_secrets, context.staged, names)
    texts = await _own_texts(context, shown)
    query = Query(arguments.pattern, arguments.literal, arguments.ignore_case)
    found = await find_lines(root, shown, texts, query)
    page = _Page(context, arguments, texts)
    await page.add(found)
    return page.text(found, secrets, len(shown))


def _without_secrets(staged: StagedFiles, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the files to search, and those that hold secrets by their name and were not agreed to."""
    from tideate_core.mentions import secret_name

    secrets = [name for name in names if secret_name(name) and not staged.knows(name)]
    left_out = frozenset(secrets)
    return [name for name in names if name not in left_out], secrets


async def _own_texts(context: ToolContext, names: list[str]) -> dict[str, str]:
    """Return the texts that are not as on disk: staged ones, and those that the editor has not saved."""
    workspace, wanted = context.step.workspace, frozenset(names)
    texts = {path: text for path, text in context.staged.changed_texts().items() if text is not None}
    for path in await workspace.unsaved_files():
        if path not in texts:
            texts[path] = (await workspace.read(path)).text
    return {path: text for path, text in texts.items() if path in wanted}


class _Page:
    """The lines of a result, as many as there is room for."""

    def __init__(self, context: ToolContext, arguments: Search, texts: dict[str, str]) -> None:
        from tideate_core.mentions import HardLinks

        self._workspace = context.step.workspace
        self._staged = context.staged
        self._arguments = arguments
        self._texts = texts
        self._links = HardLinks(self._workspace.root)
        self._lines: list[str] = []
        self._shown = 0
        self._hidden: list[str] = []
        self._size = 0

    async def add(self, found: Found) -> None:
        """Add the lines that are found, file by file, until there is no room."""
        for name in sorted(found.lines):
            if self._is_full():
                break
            try:
                text, secret = await self._read(name)
            except WorkspaceError as error:
                self._hidden.append(f"{name} ({error})")
                continue
            self._add_file(name, text.split("\n"), secret, found.lines[name])

    async def _read(self, name: str) -> tuple[str, frozenset[int]]:
        """Return a text, and the numbers of its lines that are not shown."""
        from tideate_core.mentions import secret_lines

        text = self._texts.get(name)
        if text is None:
            text = (await self._workspace.read(name)).text
        if self._staged.knows(name):
            return text, frozenset()
        if why := await asyncio.to_thread(self._links.reason, self._workspace.resolve(name)):
            raise WorkspaceError(why)
        return text, await asyncio.to_thread(secret_lines, text)

    def _is_full(self) -> bool:
        return self._shown >= self._arguments.limit or self._size > LONGEST

    def _add_file(self, name: str, lines: list[str], secret: frozenset[int], places: dict[int, int]) -> None:
        self._put(f"\n{name}" if self._lines else name)
        around, last = self._arguments.context, 0
        for number in sorted(places):
            if self._is_full() or number > len(lines):
                break
            first = max(number - around, last + 1)
            if around and last and first > last + 1:
                self._put("--")
            for at in range(first, min(number + around, len(lines)) + 1):
                if at > number and at in places:
                    break  # comes as a match of its own
                shown = HIDDEN_LINE if at in secret else _part_of(lines[at - 1], places.get(at, 1))
                self._put(f"{at}{':' if at == number else '-'}{shown}")
                last = at
            self._shown += 1

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def text(self, found: Found, secrets: list[str], searched: int) -> str:
        """Return the whole result."""
        total = sum(map(len, found.lines.values()))
        notes = []
        if total > self._shown and not self._hidden:
            notes.append(
                f"{self._shown} of {total:,} matching lines in {len(found.lines)} files are shown; "
                "use a narrower pattern or glob, or a higher limit"
            )
        if found.timed_out:
            notes.append(
                "the search took too long and was ended before all files were searched; use a simpler "
                "pattern (no repeats inside repeats), literal=true or a glob"
            )
        if self._hidden:
            notes.append(f"matches that cannot be shown: {_named(self._hidden)}")
        if secrets:
            notes.append(f"not searched, they usually hold secrets: {_named(secrets)}")
        if not total and found.timed_out:
            raise ToolError(notes[0])
        lines = self._lines or [f"no line of {searched:,} files matches"]
        return "\n".join([*lines, *(f"[{note}]" for note in notes)])


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _part_of(line: str, column: int) -> str:
    """Return a line; of a long one what is around a column."""
    line = line.removesuffix("\r")
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, column - 1 - LONGEST_LINE // 3)
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "search",
        "Search the project's files for a regular expression (Python's and ripgrep's common syntax) or a "
        "literal text, line by line, ignored files excluded; staged edits and unsaved changes of the editor "
        "are seen. Returns `LINE:TEXT` below each file's path, context as `LINE-TEXT`. For where a function, "
        "class or other name is defined and used find_symbol is more exact; for names of files use "
        "find_files.",
        Search,
        "reads",
        search,
    ),
)
