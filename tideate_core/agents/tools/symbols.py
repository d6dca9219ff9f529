"""Tools for symbols of code: outline of a file, definitions and references of a name."""

from __future__ import annotations

import asyncio
import re
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.project_paths import project_root, read_text
from tideate_core.agents.tools.results import bounded_lines, list_some
from tideate_core.agents.tools.search import find_shown
from tideate_core.agents.tools.search_programs import Query
from tideate_core.agents.tools.shown_texts import ShownTexts, line_part
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import NotParsed, ToolError, WorkspaceError
from tideate_core.mentions import (
    can_outline,
    code_language,
    definitions_in,
    may_define,
    outline_entries,
    places_of_name,
)
from tideate_core.workspace import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.mentions import Definition, OutlineEntry

MOST_ENTRIES: Final = 150
"""Entries of an outline that are shown."""
LONGEST_ENTRY: Final = 160
LONGEST_BODY: Final = 150
"""Maximum of lines of a definition shown whole."""
LONGEST_BODIES: Final = 6_000
"""Maximum of characters of all definitions shown whole."""
MOST_DEFINITIONS: Final = 30
"""Definitions of one name that are shown."""
MOST_FILES: Final = 300
"""Files searched for references in one call."""
LEAST_OF_FILE: Final = 5
"""References shown of one file, or an eighth of the limit if that is more."""
PATIENCE: Final = 20
"""Seconds after which no further file is parsed."""
MOST_LINES: Final = 12
"""Lines of a signature that are joined."""
LONGEST_SIGNATURE: Final = 240
_NAME: Final = re.compile(r"(?!\d)[\w$](?:[\w$-]*[\w$?!])?")
_QUALIFIED: Final = frozenset({"python", "javascript", "typescript", "tsx", "lua", "go", "rust"})
"""Languages in which a use of a member names its object."""


class Outline(Arguments):
    """Arguments of `outline`."""

    path: str
    depth: int | None = Field(default=None, ge=1, le=20, description="Levels; 1: outermost.")
    name: str = Field(
        default="", max_length=200, description="Show only entries with this text, and their outer entries."
    )


async def outline(context: ToolContext, arguments: Outline) -> str:
    """Return the definitions of a file, at most `MOST_ENTRIES`."""
    name, text = await read_text(context, arguments.path)
    if not can_outline(name):
        raise ToolError(f"the language of {name} has no outline; read_file shows the file")
    try:
        entries = await asyncio.to_thread(outline_entries, text, name)
    except NotParsed as error:
        raise ToolError(f"{name} has no outline: {error}; read_file shows the file") from error
    if not entries:
        return f"{name} defines nothing ({text.count(chr(10)) + 1} lines)"
    wanted = _named(entries, arguments.name.lower()) if arguments.name else entries
    if not wanted:
        return f"{name} defines nothing with {arguments.name!r} ({len(entries)} entries)"
    shown = [one for one in wanted if arguments.depth is None or one.depth < arguments.depth]
    if arguments.depth is None:
        shown = _fitting(shown, MOST_ENTRIES)
    left = len(wanted) - len(shown[:MOST_ENTRIES])
    lines = [_entry_line(one) for one in shown[:MOST_ENTRIES]]
    return "\n".join([*lines, *([f"[{left} more; use name or a larger depth to show them]"] if left else [])])


def _fitting(entries: Sequence[OutlineEntry], most: int) -> list[OutlineEntry]:
    """Return all outermost entries, then the contents of the longest ones, up to a limit."""
    chosen = {one for one in entries if one.depth == 0}
    depth = 0
    while len(chosen) < most:
        outer = [one for one in chosen if one.depth == depth]
        depth += 1
        if not any(one.depth == depth for one in entries):
            break
        for around in sorted(outer, key=lambda one: (one.first - one.last, one.first)):
            inside = [
                one for one in entries if one.depth == depth and around.first <= one.first <= around.last
            ]
            if len(chosen) + len(inside) <= most:
                chosen.update(inside)
    return [one for one in entries if one in chosen]


def _named(entries: Sequence[OutlineEntry], name: str) -> list[OutlineEntry]:
    """Return the entries that contain a text, and their outer entries.

    :param name: in lower case.
    """
    kept: list[OutlineEntry] = []
    around: list[OutlineEntry] = []
    for one in entries:
        around[one.depth :] = [one]
        if name in one.text.lower():
            kept += [other for other in around if other not in kept[-len(around) :]]
    return kept


def _entry_line(one: OutlineEntry) -> str:
    where = f"{one.first}-{one.last}" if one.last > one.first else str(one.first)
    text = one.text if len(one.text) <= LONGEST_ENTRY else f"{one.text[:LONGEST_ENTRY]}…"
    return f"{where}: {'  ' * one.depth}{text}"


class FindSymbol(Arguments):
    """Arguments of `find_symbol`."""

    name: str = Field(min_length=1, max_length=200, description="`Class.method` narrows it.")
    bodies: bool = True
    references: bool = True
    limit: int = Field(default=40, ge=1, le=500, json_schema_extra={"hidden": True})


async def find_symbol(context: ToolContext, arguments: FindSymbol) -> str:
    """Return the definitions of a name with their texts, and its uses."""
    container, _, name = arguments.name.strip().rpartition(".")
    if not _NAME.fullmatch(name):
        raise ToolError(f"{arguments.name!r} is not a name; search finds any text")
    texts = await ShownTexts.open(context, lambda path: bool(code_language(path)))
    found = await find_shown(project_root(context), texts, Query(name, literal=True, word=True))
    lookup = _Lookup(texts, name, container.rpartition(".")[2], sorted(found.lines))
    answer = await lookup.definitions(arguments.name, bodies=arguments.bodies)
    if arguments.references:
        answer += await lookup.references(arguments.limit)
    if found.timed_out:
        answer.append(f"[stopped after {found.seconds} s: not all files were searched]")
    return bounded_lines(answer, lambda _: "more is left out; use a lower limit, or search with a glob")


class _Lookup:
    """Look-up of one name.

    :param container: the class in which the name is wanted; empty for any.
    :param files: code files that have the name as a word.
    """

    def __init__(self, texts: ShownTexts, name: str, container: str, files: Sequence[str]) -> None:
        self._texts = texts
        self._name = name
        self._container = container
        self._files = files
        self._defined: list[tuple[str, Definition]] = []
        """Definitions, with their files."""
        self._is_member = False
        """The name is defined in the container."""
        self._slow: list[str] = []
        """Files that take too long to parse."""
        self._ends = time.monotonic() + PATIENCE

    async def definitions(self, asked: str, *, bodies: bool) -> list[str]:
        """Return the lines of definitions; if some are in the container, only these."""

        left: list[str] = []
        for path in self._files:
            text, _ = await self._read(path)
            if not may_define(text, path, self._name):
                continue
            if time.monotonic() > self._ends:
                left.append(path)
                continue
            try:
                found = await asyncio.to_thread(definitions_in, text, path)
            except NotParsed:
                self._slow.append(path)
            else:
                self._defined += [(path, one) for one in found if one.name == self._name]
        members = [one for one in self._defined if self._container and one[1].container == self._container]
        self._is_member = bool(members)
        self._defined = members or self._defined
        lines = await self._definition_lines(asked, LONGEST_BODIES if bodies else 0)
        if self._slow:
            lines.append(f"[takes too long to parse: {list_some(self._slow)}]")
        if left:
            lines.append(
                f"[stopped after {PATIENCE} s; {len(left):,} more files may define it: {list_some(left)}]"
            )
        return lines

    async def _definition_lines(self, asked: str, room: int) -> list[str]:
        """Return the lines of definitions.

        :param room: characters of their bodies; one that does not fit is a line.
        """
        count = len(self._defined)
        if not count:
            return [f"no definition of {asked} is known; search finds any text"]
        lines = [f"{count} definition{'s' if count > 1 else ''} of {asked}:"]
        for path, found in groupby(self._defined[:MOST_DEFINITIONS], key=lambda one: one[0]):
            written = (await self._read(path))[0].split("\n")
            lines.append(path)
            for _, one in found:
                where = f"{one.line}-{one.last}" if one.last > one.line else str(one.line)
                inside = f" (in {one.container})" if one.container else ""
                body = [line_part(line) for line in written[one.line - 1 : one.last]]
                size = sum(map(len, body))
                if 1 < len(body) <= LONGEST_BODY and size <= room:
                    room -= size
                    lines += [f"{where}:{inside}", *body]
                else:
                    told = line_part(signature(written, one.line, one.last, self._name))
                    lines.append(f"{where}:{told}{inside}")
        if count > MOST_DEFINITIONS:
            lines.append(f"[{count - MOST_DEFINITIONS} more; name it as Class.method]")
        return lines

    async def references(self, limit: int) -> list[str]:
        """Return the lines of references: source before tests, files that define the name first.

        For a member, only files that mention its class are searched.
        """
        defining = {path for path, _ in self._defined}
        files = sorted(self._files, key=lambda path: (is_test(path), path not in defining, path))
        lines: list[str] = []
        count = aside = 0
        for number, path in enumerate(files):
            if count >= limit or number == MOST_FILES:
                rest = len(files) - number
                lines.append(f"[{rest:,} more files; use a higher limit, or search with a glob]")
                break
            text, hidden = await self._read(path)
            if self._is_member and not re.search(rf"\b{re.escape(self._container)}\b", text):
                aside += 1
                continue
            used = [line for line in await self._used_lines(path, text) if line not in hidden]
            shown = used[: min(limit - count, max(LEAST_OF_FILE, limit // 8))]
            count += len(shown)
            if shown:
                written = text.split("\n")
                lines += [path, *(f"{line}:{line_part(written[line - 1].strip())}" for line in shown)]
            if len(used) > len(shown):
                lines.append(f"+{len(used) - len(shown)} more in this file")
        if aside:
            lines.append(f"[{aside:,} files with the word, but without the word {self._container}, left out]")
        if self._container and not self._is_member and lines:
            lines.append(f"[not narrowed to {self._container}: no {self._name} is known to be defined in it]")
        if time.monotonic() > self._ends:
            lines.append("[stopped parsing: some of these lines may be in comments or strings]")
        if not count:
            return ["", "it is used nowhere else in code", *lines]
        return ["", f"used in code (of {len(files):,} files that have the word):", *lines]

    async def _read(self, path: str) -> tuple[str, frozenset[int]]:
        try:
            return await self._texts.read(path)
        except WorkspaceError:
            return "", frozenset()  # deleted meanwhile, or not shown

    async def _used_lines(self, path: str, text: str) -> list[int]:
        """Return the numbers of a file's lines that use the name."""

        parsed = path not in self._slow and time.monotonic() < self._ends
        try:
            found = await asyncio.to_thread(places_of_name, text, path, self._name, parsed=parsed)
        except NotParsed:
            self._slow.append(path)
            found = places_of_name(text, path, self._name, parsed=False)
        defined = {one.line for at, one in self._defined if at == path}
        lines = text.split("\n")
        return [
            line
            for line in found
            if line not in defined
            and (not self._is_member or may_use_member(lines[line - 1], path, self._name))
        ]


def signature(lines: Sequence[str], first: int, last: int, name: str) -> str:
    """Return the line of a definition; joined with more if its name or a closing bracket is missing.

    :param first: number of the line, from 1.
    :param last: number of the definition's last line.
    """
    parts: list[str] = []
    opened = 0
    for line in lines[first - 1 : min(last, first - 1 + MOST_LINES)]:
        parts.append(line.strip())
        opened += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
        if opened <= 0 and any(name in part for part in parts):
            break
    if len(parts) == 1:
        return parts[0]
    joined = re.sub(r",? ([)\]])", r"\1", re.sub(r"([(\[]) ", r"\1", " ".join(parts)))
    return joined if len(joined) <= LONGEST_SIGNATURE else f"{joined[:LONGEST_SIGNATURE]}…"


def may_use_member(line: str, path: str, name: str) -> bool:
    """Return whether a line may use a member of a name, not a parameter, keyword or module of that name."""

    language = code_language(path)
    if language not in _QUALIFIED:
        return True
    if language == "python" and line.lstrip().startswith(("from ", "import ")):
        return False
    return re.search(rf"(?:\.\s*|->\s*|::\s*|(?<=\w):){re.escape(name)}(?![\w$])", line) is not None


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "outline",
        "List the definitions of a file (or its headings) as `FIRST-LAST: TEXT`, 150 entries at most.",
        Outline,
        "reads",
        outline,
        hides_secrets=True,
    ),
    WorkTool(
        "find_symbol",
        "Find the definitions of a name, with their bodies unless they are long, and the lines of code that "
        "use it; by syntax, not by types.",
        FindSymbol,
        "reads",
        find_symbol,
        hides_secrets=True,
    ),
)
