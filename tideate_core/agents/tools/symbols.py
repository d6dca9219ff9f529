"""Tools that know what code defines: outline of a file, definitions and references of a name."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.project_paths import project_root, read_text
from tideate_core.agents.tools.results import bounded_lines
from tideate_core.agents.tools.shown_texts import HIDDEN_LINE, ShownTexts, line_part
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import ConfigError, StoreError, ToolError, WorkspaceError
from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.mentions import Place, SymbolIndex

__all__ = ["TOOLS"]

MOST_DEFINITIONS: Final = 50
"""Definitions of one name that are shown."""
_NAME: Final = re.compile(r"(?!\d)[\w$](?:[\w$-]*[\w$?!])?")
MOST_FILES: Final = 300
"""Files that are looked through for references in one call."""


class Outline(Arguments):
    """Arguments of `outline`."""

    path: str = Field(description="Relative to the project's root.")


async def outline(context: ToolContext, arguments: Outline) -> str:
    """Return what a file defines."""
    from tideate_core.mentions import can_outline, outline as outline_of

    name, text = await read_text(context, arguments.path)
    if not can_outline(name):
        raise ToolError(f"the language of {name} has no outline; read_file shows the file")
    lines = await asyncio.to_thread(outline_of, text, name)
    if not lines:
        return f"{name} defines nothing ({text.count(chr(10)) + 1} lines)"
    rest = "read_file shows the file"
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown} more definitions; {rest}")


class FindSymbol(Arguments):
    """Arguments of `find_symbol`."""

    name: str = Field(
        min_length=1, max_length=200, description="A function, class, constant …; `Class.method` narrows it."
    )
    references: bool = Field(default=True, description="Show where it is used, too.")
    limit: int = Field(default=60, ge=1, le=500, description="References that are shown at most.")


async def find_symbol(context: ToolContext, arguments: FindSymbol) -> str:
    """Return where a name is defined and used."""
    container, _, name = arguments.name.strip().rpartition(".")
    if not _NAME.fullmatch(name):
        raise ToolError(f"{arguments.name!r} is not a name; search finds any text")
    root = project_root(context)
    texts = await ShownTexts.open(context)
    try:
        index = await asyncio.to_thread(_index_of, root, context.step.workspace.private)
        await index.update(texts.on_disk, context.step.notice)
        lookup = _Lookup(texts, index, name)
        places = await lookup.definitions(container.rpartition(".")[2])
        answer = [*await lookup.shown_definitions(arguments.name, places)]
        if arguments.references:
            answer += await lookup.references(places, arguments.limit)
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
    """Look-up of one name in the index, and in the texts that are not as on disk."""

    def __init__(self, texts: ShownTexts, index: SymbolIndex, name: str) -> None:
        self._texts = texts
        self._index = index
        self._name = name
        self._wanted = frozenset(texts.names)

    def _is_indexed(self, path: str) -> bool:
        return path in self._wanted and path not in self._texts.own

    async def definitions(self, container: str) -> list[Place]:
        """Return where the name is defined; if it is in such a container, only there."""
        places = [one for one in await self._index.definitions(self._name) if self._is_indexed(one.path)]
        for path, text in self._texts.own.items():
            places += await asyncio.to_thread(_definitions_in, path, text, self._name)
        places.sort(key=lambda one: (one.path, one.line))
        return [one for one in places if one.container == container] or places if container else places

    async def shown_definitions(self, asked: str, places: list[Place]) -> list[str]:
        """Return the lines of definitions."""
        if not places:
            return [f"no definition of {asked} is known; search finds any text"]
        lines = [f"{len(places)} definition{'s' if len(places) > 1 else ''} of {asked}:"]
        for path, found in _by_path(places[:MOST_DEFINITIONS]).items():
            around = {one.line: f" (in {one.container})" if one.container else "" for one in found}
            lines += await self._lines(path, around)
        if len(places) > MOST_DEFINITIONS:
            lines.append(f"[{len(places) - MOST_DEFINITIONS} more; name it as Class.method]")
        return lines

    async def references(self, places: list[Place], limit: int) -> list[str]:
        """Return the lines of references, those in files that define the name first."""
        from tideate_core.mentions import places_of_name

        defined = {path: {one.line for one in found} for path, found in _by_path(places).items()}
        files = [path for path in await self._index.files_with(self._name) if self._is_indexed(path)]
        files += [path for path, text in self._texts.own.items() if self._name in text]
        files.sort(key=lambda path: (path not in defined, path))
        lines, count, left = [f"used in code (of {len(files):,} files that have the word):"], 0, 0
        for number, path in enumerate(files):
            if count >= limit or number == MOST_FILES:
                left = len(files) - number
                break
            try:
                text, _ = await self._texts.read(path)
            except WorkspaceError:
                continue  # gone, or not shown
            found = await asyncio.to_thread(places_of_name, text, path, self._name)
            used = [line for line in found if line not in defined.get(path, ())][: limit - count]
            count += len(used)
            lines += await self._lines(path, dict.fromkeys(used, "")) if used else []
        if left:
            lines.append(f"[{left:,} more files; use a higher limit, or search with a glob]")
        return ["", *lines] if count or left else ["", "it is used nowhere else in code"]

    async def _lines(self, path: str, notes: dict[int, str]) -> list[str]:
        try:
            text, hidden = await self._texts.read(path)
        except WorkspaceError as error:
            return [f"{path} ({error})"]
        lines = text.split("\n")
        shown = (
            f"{number}:{HIDDEN_LINE if number in hidden else line_part(lines[number - 1].strip())}{note}"
            for number, note in sorted(notes.items())
            if number <= len(lines)
        )
        return [path, *shown]


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
        "List what a file defines (classes, functions, headings of a document), each as `LINE: TEXT`, "
        "indented as they are in each other. Use it to see which lines of a long file to read.",
        Outline,
        "reads",
        outline,
    ),
    WorkTool(
        "find_symbol",
        "Find the definitions of a name in the project's code, and the lines that use it, without comments "
        "and strings; by syntax, not by types, so that other things of the same name are shown, too. In an "
        "editor with a language server, its own tools are more exact. For other files use search.",
        FindSymbol,
        "reads",
        find_symbol,
    ),
)
