"""Tools for symbols of code: outline of a file, definitions and references of a name."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.project_paths import project_root, read_text
from tideate_core.agents.tools.results import bounded_lines
from tideate_core.agents.tools.shown_texts import ShownTexts, line_part
from tideate_core.agents.tools.symbol_lines import (
    MOST_LINES,
    last_lines,
    may_use_member,
    signature,
)
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ConfigError, NotParsed, StoreError, ToolError, WorkspaceError
from tideate_core.project import make_project_state
from tideate_core.util.escaping import HIDDEN_LINE
from tideate_core.workspace import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.mentions import Place, SymbolIndex

MOST_DEFINITIONS: Final = 30
"""Definitions of one name that are shown."""
_NAME: Final = re.compile(r"(?!\d)[\w$](?:[\w$-]*[\w$?!])?")
MOST_FILES: Final = 300
"""Files searched for references in one call."""
LEAST_OF_FILE: Final = 5
"""References shown of one file, or an eighth of the limit if that is more."""
PATIENCE: Final = 6
"""Files that take too long to parse, seconds each, before a call stops parsing."""
MOST_NAMED: Final = 10
"""Files named in a note."""


class Outline(Arguments):
    """Arguments of `outline`."""

    path: str


async def outline(context: ToolContext, arguments: Outline) -> str:
    """Return the definitions of a file."""
    from tideate_core.mentions import can_outline, outline as outline_of

    name, text = await read_text(context, arguments.path)
    if not can_outline(name):
        raise ToolError(f"the language of {name} has no outline; read_file shows the file")
    try:
        lines = await asyncio.to_thread(outline_of, text, name)
    except NotParsed as error:
        raise ToolError(f"{name} has no outline: {error}; read_file shows the file") from error
    if not lines:
        return f"{name} defines nothing ({text.count(chr(10)) + 1} lines)"
    rest = "read_file shows the file"
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown} more definitions; {rest}")


class FindSymbol(Arguments):
    """Arguments of `find_symbol`."""

    name: str = Field(
        min_length=1, max_length=200, description="Function, class, constant …; `Class.method` narrows it."
    )
    references: bool = Field(default=True, description="Also where it is used.")
    limit: int = Field(default=40, ge=1, le=500, description="Most references.")


async def find_symbol(context: ToolContext, arguments: FindSymbol) -> str:
    """Return the definitions and uses of a name."""
    container, _, name = arguments.name.strip().rpartition(".")
    if not _NAME.fullmatch(name):
        raise ToolError(f"{arguments.name!r} is not a name; search finds any text")
    root = project_root(context)
    texts = await ShownTexts.open(context)
    try:
        index = await asyncio.to_thread(_index_of, root, context.step.workspace.private)
        await index.update(texts.on_disk, context.step.notice)
        lookup = _Lookup(texts, index, name)
        of_class = container.rpartition(".")[2]
        places = await lookup.definitions(of_class)
        answer = [*await lookup.shown_definitions(arguments.name, places)]
        if arguments.references:
            answer += await lookup.references(places, of_class, arguments.limit)
    except (ConfigError, StoreError) as error:
        raise ToolError(f"{error}; search finds the name as a text") from error
    return bounded_lines(answer, lambda _: "more is left out; use a lower limit, or search with a glob")


def _index_of(root: Path, private: Path | None) -> SymbolIndex:
    return _index(root, private or make_project_state(root))


@lru_cache(maxsize=8)
def _index(root: Path, private: Path) -> SymbolIndex:
    from tideate_core.mentions import SymbolIndex

    return SymbolIndex(root, private)


class _Lookup:
    """Look-up of one name in the index, and in staged and unsaved texts."""

    def __init__(self, texts: ShownTexts, index: SymbolIndex, name: str) -> None:
        self._texts = texts
        self._index = index
        self._name = name
        self._wanted = frozenset(texts.names)
        self._not_parsed: list[str] = []
        self._left: list[str] = []
        """Files left for the next call, because too many others take too long to parse."""
        self._patience = PATIENCE
        """Number of further files that may take too long to parse."""

    def _is_indexed(self, path: str) -> bool:
        return path in self._wanted and path not in self._texts.own

    async def definitions(self, container: str) -> list[Place]:
        """Return the definitions of the name; if some are in the given container, only these."""
        places = [one for one in await self._index.definitions(self._name) if self._is_indexed(one.path)]
        having = {*await self._index.files_with(self._name)}
        not_parsed = [path for path in await self._index.not_parsed() if self._is_indexed(path)]
        self._not_parsed = [path for path in not_parsed if path in having]
        self._left = [path for path in await self._index.unread(self._name) if self._is_indexed(path)]
        if self._left:
            self._patience = 0
        for path, text in self._texts.own.items():
            if self._patience <= 0:
                self._left += [path] if self._name in text else []
                continue
            try:
                places += await asyncio.to_thread(_definitions_in, path, text, self._name)
            except NotParsed:
                self._note_not_parsed(path)
        places.sort(key=lambda one: (one.path, one.line))
        return [one for one in places if one.container == container] or places if container else places

    def _note_not_parsed(self, path: str) -> None:
        self._not_parsed.append(path)
        self._patience -= 1

    async def shown_definitions(self, asked: str, places: list[Place]) -> list[str]:
        """Return the lines of definitions."""
        left_out = [f"[takes too long to parse: {_some(self._not_parsed)}]"] if self._not_parsed else []
        if self._left:
            left_out.append(
                f"[stopped, because many files take too long to parse; {len(self._left):,} files that may "
                f"define it are left for the next call: {_some(self._left)}]"
            )
        if not places:
            return [f"no definition of {asked} is known; search finds any text", *left_out]
        lines = [f"{len(places)} definition{'s' if len(places) > 1 else ''} of {asked}:"]
        for path, found in _by_path(places[:MOST_DEFINITIONS]).items():
            lines += await self._defining_lines(path, found)
        if len(places) > MOST_DEFINITIONS:
            lines.append(f"[{len(places) - MOST_DEFINITIONS} more; name it as Class.method]")
        return lines + left_out

    async def _defining_lines(self, path: str, places: list[Place]) -> list[str]:
        try:
            text, hidden = await self._texts.read(path)
        except WorkspaceError as error:
            return [f"{path} ({error})"]
        lines = text.split("\n")
        firsts = {one.line for one in places}
        lasts = await asyncio.to_thread(last_lines, text, path, self._name, firsts)
        shown = [path]
        for one in places:
            last = lasts.get(one.line, one.line)
            if one.line > len(lines):
                continue
            told = signature(lines, one.line, last, self._name)
            if not hidden.isdisjoint(range(one.line, min(last, one.line + MOST_LINES) + 1)):
                told = HIDDEN_LINE if one.line in hidden else lines[one.line - 1].strip()
            where = f"{one.line}-{last}" if last > one.line else str(one.line)
            shown.append(f"{where}:{line_part(told)}{f' (in {one.container})' if one.container else ''}")
        return shown

    async def references(self, places: list[Place], container: str, limit: int) -> list[str]:
        """Return the lines of references: source before tests, files that define the name first.

        :param container: the requested class; uses of members of other classes are left out if possible.
        """
        defined = {path: {one.line for one in found} for path, found in _by_path(places).items()}
        files = [path for path in await self._index.files_with(self._name) if self._is_indexed(path)]
        files += [path for path, text in self._texts.own.items() if self._name in text]
        files.sort(key=lambda path: (is_test(path), path not in defined, path))
        is_member = bool(container) and any(one.container == container for one in places)
        files, aside = await self._narrowed(files, container) if is_member else (files, [])
        lines: list[str] = []
        count = left = 0
        for number, path in enumerate(files):
            if count >= limit or number == MOST_FILES:
                left = len(files) - number
                break
            used = await self._used_lines(path, defined.get(path, set()), is_member=is_member)
            shown = used[: min(limit - count, max(LEAST_OF_FILE, limit // 8))]
            count += len(shown)
            lines += await self._lines(path, shown) if shown else []
            if len(used) > len(shown):
                lines.append(f"+{len(used) - len(shown)} more in this file")
        if left:
            lines.append(f"[{left:,} more files; use a higher limit, or search with a glob]")
        if aside and (others := await self._counts(aside[:MOST_FILES])):
            lines.append(f"[files without the word {container} use a {self._name}, too: {_some(others)}]")
        elif container and not is_member and lines:
            lines.append(f"[not narrowed to {container}: no {self._name} is known to be defined in it]")
        if (rest := len(aside) - MOST_FILES) > 0:
            lines.append(f"[{rest:,} more files without the word {container} were not searched]")
        if self._patience <= 0:
            lines.append("[stopped parsing: some of these lines may be in comments or strings]")
        if not (count or left):
            return ["", "it is used nowhere else in code", *lines]
        words = f"the words {self._name} and {container}" if aside else "the word"
        return ["", f"used in code (of {len(files):,} files that have {words}):", *lines]

    async def _narrowed(self, files: list[str], container: str) -> tuple[list[str], list[str]]:
        """Separate files that mention a class from the others; return all as the first if none does."""
        having = {path for path in await self._index.files_with(container) if self._is_indexed(path)}
        having.update(path for path, text in self._texts.own.items() if container in text)
        kept = [path for path in files if path in having]
        return (kept, [path for path in files if path not in having]) if kept else (files, [])

    async def _counts(self, files: list[str]) -> list[str]:
        """Return files that may use a member of the name, with their numbers of matching lines."""
        counts = [(path, len(await self._used_lines(path, set(), is_member=True))) for path in files]
        return [f"{path} ({count})" for path, count in counts if count]

    async def _used_lines(self, path: str, defined: set[int], *, is_member: bool) -> list[int]:
        """Return the numbers of a file's lines that use the name."""
        from tideate_core.mentions import places_of_name

        try:
            text, hidden = await self._texts.read(path)
        except WorkspaceError:
            return []  # deleted, or not shown
        lines = text.split("\n")
        if is_member and not any(
            may_use_member(line, path, self._name) for line in lines if self._name in line
        ):
            return []  # checked first, since parsing takes longer
        parsed = self._patience > 0 and path not in self._not_parsed
        try:
            found = await asyncio.to_thread(places_of_name, text, path, self._name, parsed=parsed)
        except NotParsed:
            self._note_not_parsed(path)
            found = places_of_name(text, path, self._name, parsed=False)
        return [
            number
            for number in found
            if number not in defined
            and number not in hidden
            and not (is_member and not may_use_member(lines[number - 1], path, self._name))
        ]

    async def _lines(self, path: str, numbers: list[int]) -> list[str]:
        try:
            text, hidden = await self._texts.read(path)
        except WorkspaceError as error:
            return [f"{path} ({error})"]
        lines = text.split("\n")
        shown = (
            f"{number}:{HIDDEN_LINE if number in hidden else line_part(lines[number - 1].strip())}"
            for number in numbers
            if number <= len(lines)
        )
        return [path, *shown]


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"{', '.join(paths[:MOST_NAMED])}{more}"


def _by_path(places: Iterable[Place]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for place in places:
        found.setdefault(place.path, []).append(place)
    return found


def _definitions_in(path: str, text: str, name: str) -> list[Place]:
    from tideate_core.mentions import Place, definitions_in

    if name not in text:
        return []
    return [Place(path, one.line, one.container) for one in definitions_in(text, path) if one.name == name]


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "outline",
        "List what a file defines (classes, functions; headings of a document) with line numbers.",
        Outline,
        "reads",
        outline,
        hides_secrets=True,
    ),
    WorkTool(
        "find_symbol",
        "Find where a name is defined (`FIRST-LAST:SIGNATURE`) and the lines of code that use it; by syntax, "
        "not by types. Language servers, where there are any, are more exact.",
        FindSymbol,
        "reads",
        find_symbol,
        hides_secrets=True,
    ),
)
