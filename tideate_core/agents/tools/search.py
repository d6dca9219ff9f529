"""Tool that searches the project's files for a pattern, including staged and unsaved texts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.project_paths import path_filter, project_root
from tideate_core.agents.tools.results import LONGEST, list_some
from tideate_core.agents.tools.search_programs import LARGEST, Found, Query, find_lines
from tideate_core.agents.tools.shown_texts import ShownTexts, line_part
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.mentions import code_language
from tideate_core.util.escaping import HIDDEN_LINE
from tideate_core.workspace import is_test

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext

LEAST_OF_FILE: Final = 5
"""Matching lines shown of each file if all matches exceed the limit."""
NAMED: Final = 20
"""Skipped files that are named."""
AT_ONCE: Final = 10_000
"""Files searched as one part."""
PATIENCE: Final = 20
"""Seconds after which no further part is searched."""


class Search(Arguments):
    """Arguments of `search`."""

    pattern: str = Field(min_length=1, max_length=2_000, description="Regular expression, within one line.")
    literal: bool = False
    word: bool = False
    ignore_case: bool = False
    glob: str = Field(default="", max_length=500, description="As `*.py`, `src/**/*.{ts,tsx}`, `docs`.")
    exclude: str = Field(default="", max_length=500, description="Glob.")
    before: int = Field(default=0, ge=0, le=20, description="Lines shown.")
    after: int = Field(default=0, ge=0, le=20)
    context: int = Field(default=0, ge=0, le=20, json_schema_extra={"hidden": True})
    limit: int = Field(default=80, ge=1, le=1_000)


async def search(context: ToolContext, arguments: Search) -> str:
    """Return the lines that match a pattern, by file."""
    root = project_root(context)
    fits = path_filter(arguments.glob) if arguments.glob else lambda _: True
    left_out = path_filter(arguments.exclude) if arguments.exclude else lambda _: False
    texts = await ShownTexts.open(context, lambda path: fits(path) and not left_out(path))
    if not texts.names and not texts.secrets:
        return f"no file fits the glob {arguments.glob}" if arguments.glob else "the project has no files"
    query = Query(arguments.pattern, arguments.literal, arguments.ignore_case, arguments.word)
    found = await find_shown(root, texts, query)
    page = _Page(texts, arguments)
    await page.add(found)
    return page.text(found)


async def find_shown(root: Path, texts: ShownTexts, query: Query) -> Found:
    """Search the files in parts until the time is up.

    Parts are chosen by names alone, so that no count depends on hidden lines.
    """
    found, ends = Found(), time.monotonic() + PATIENCE
    for at in range(0, len(texts.names) or 1, AT_ONCE):
        if at and time.monotonic() > ends:
            found.timed_out, found.seconds = True, PATIENCE
        if found.timed_out:
            break
        found.add(await _find_in_part(root, texts, texts.names[at : at + AT_ONCE], query))
    return found


async def _find_in_part(root: Path, texts: ShownTexts, names: list[str], query: Query) -> Found:
    """Return the matches outside hidden lines, as if these lines did not exist.

    Only files with matches are searched for secrets.
    """
    own = {name: texts.own[name] for name in names if name in texts.own}
    found = await find_lines(root, names, own, query)
    if found.cut or found.timed_out:
        # both may depend on hidden lines: search again without them
        hidden = await texts.hide_secrets(names)
        own = {name: texts.own[name] for name in names if name in texts.own}
        names = [name for name in names if name in own or name not in hidden]
        found = await find_lines(root, names, own, query)
    elif hidden := await texts.hide_secrets(found.lines):
        own = {name: texts.own[name] for name in hidden if hidden[name]}
        found.lines = {name: lines for name, lines in found.lines.items() if name not in hidden}
        found.searched -= len(own)
        found.add(await find_lines(root, [], own, query))
    for name in hidden.keys() & found.lines.keys():
        lines = found.lines.pop(name)
        if shown := {at: column for at, column in lines.items() if at not in hidden[name]}:
            found.lines[name] = shown
    return found


@dataclass
class _Page:
    """Text of a search result, up to its limits."""

    texts: ShownTexts
    arguments: Search
    lines: list[str] = field(default_factory=list)
    shown: int = 0
    hidden: list[str] = field(default_factory=list)
    size: int = 0

    async def add(self, found: Found) -> None:
        """Add the lines of matches up to the limits: source, tests, other files; then names and numbers."""
        names = sorted(found.lines, key=lambda name: (not code_language(name), is_test(name), name))
        most = self.arguments.limit
        if sum(map(len, found.lines.values())) > most:  # a share for each file
            most = max(LEAST_OF_FILE, most // len(names))
        for at, name in enumerate(names):
            if self._is_full():
                rest = [f"{other} ({len(found.lines[other])})" for other in names[at:]]
                self._put(f"also in {list_some(rest, NAMED)}")
                break
            try:
                text, secret = await self.texts.read(name)
            except WorkspaceError as error:
                self.hidden.append(f"{name} ({error})")
                continue
            self._add_file(name, text.split("\n"), secret, found.lines[name], most)

    def _is_full(self) -> bool:
        return self.shown >= self.arguments.limit or self.size > LONGEST

    def _add_file(
        self, name: str, lines: list[str], secret: frozenset[int], places: dict[int, int], most: int
    ) -> None:
        self._put(f"{name} ({len(places)})" if len(places) > 1 else name)
        before = self.arguments.before or self.arguments.context
        after = self.arguments.after or self.arguments.context
        last = 0
        for count, number in enumerate(sorted(places)):
            if self._is_full() or count == most or number > len(lines):
                break
            first = max(number - before, last + 1)
            if (before or after) and last and first > last + 1:
                self._put("--")
            for at in range(first, min(number + after, len(lines)) + 1):
                if at > number and at in places:
                    break  # shown as a match of its own
                shown = HIDDEN_LINE if at in secret else line_part(lines[at - 1], places.get(at, 1))
                self._put(f"{at}{':' if at == number else '-'}{shown}")
                last = at
            self.shown += 1

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line) + 1

    def text(self, found: Found) -> str:
        """Return the result with its notes."""
        total = sum(map(len, found.lines.values()))
        notes = []
        if total > self.shown and not self.hidden:
            notes.append(
                f"{self.shown} of {'at least ' if found.is_least else ''}{total:,} matching lines in "
                f"{len(found.lines)} files are shown; use a narrower pattern or glob, or a higher limit"
            )
        if found.timed_out:
            notes.append(
                f"stopped after {found.seconds} s; {found.searched:,} of {len(self.texts.names):,} files "
                "searched; use a simpler pattern (no repeats inside repeats), literal=true or a glob"
            )
        if found.too_large:
            notes.append(
                f"not searched, they have more than {LARGEST >> 20} MiB: {list_some(found.too_large, NAMED)}"
            )
        if self.hidden:
            notes.append(f"matches that cannot be shown: {list_some(self.hidden, NAMED)}")
        if secrets := self.texts.secrets:
            notes.append(f"not searched, they usually hold secrets: {list_some(secrets, NAMED)}")
        if not total and found.timed_out:
            raise ToolError(notes[0])
        lines = self.lines or [f"no line of {len(self.texts.names):,} files matches"]
        return "\n".join([*lines, *(f"[{note}]" for note in notes)])


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "search",
        "Search the project's files line by line: source, tests, then other files. Returns `LINE:TEXT` below "
        "each path with its number of matches. For a name, find_symbol is more exact.",
        Search,
        "reads",
        search,
        hides_secrets=True,
    ),
)
