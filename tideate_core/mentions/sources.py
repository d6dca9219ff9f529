"""Read the built-in mentions: files, buffer, selection, diagnostics, changes, definitions, tree, runs."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ContextResolutionError, NotParsed
from tideate_core.mentions.definitions import code_language, definitions_in, may_define
from tideate_core.mentions.extraction import Reference, parse_reference
from tideate_core.mentions.files import FileReader, RawText, lines_of
from tideate_core.mentions.git import read_changes
from tideate_core.mentions.items import ContextItem
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name
from tideate_core.mentions.symbols import can_outline, outline
from tideate_core.mentions.tree import draw_tree
from tideate_core.project import project_state
from tideate_core.store import LAST, Reader, state_word
from tideate_core.util.regular_files import read_bounded
from tideate_core.workspace import is_test, language_of, repositories_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.mentions.definitions import Definition
    from tideate_core.mentions.items import Surroundings
    from tideate_core.workspace import Workspace

_ENTRIES: Final = 300
"""Lines of a tree."""
_OUTLINED: Final = 400
"""Files in an outline of the project."""
_OUTLINE_LINES: Final = 2000
_MOST_SLOW: Final = 6
"""Slow files after which no more are parsed: half a minute."""
MOST_NEW: Final = 1000
"""New files listed with a diff."""
_MOST_DEFINITIONS: Final = 10
"""Definitions of one name."""
_PATIENCE: Final = 10.0
"""Seconds after which the search for a definition takes no further file."""
_SYMBOL: Final = re.compile(r"(?:(?P<container>[^\W\d][\w$]*)\.)?(?P<name>[^\W\d][\w$]*[?!]?)")


class Sources:
    """Reader of the built-in mentions.

    :param around: the editor's buffer, selection and diagnostics.
    :param limit: bytes read of a file.
    """

    def __init__(self, workspace: Workspace, around: Surroundings, limit: int) -> None:
        self._workspace = workspace
        self._around = around
        self._limit = limit
        self.files = FileReader(workspace, limit)
        self.links = HardLinks(workspace.root)
        self._readers: dict[str, Callable[[str, Reference | None], Awaitable[ContextItem]]] = {
            "@buffer": self._buffer,
            "@diagnostics": self._diagnostics,
            "@diff": self._diff,
            "@file": self.files.read_reference,
            "@last": self._run,
            "@run": self._run,
            "@selection": self._selection,
            "@symbol": self._symbol,
            "@symbols": self._symbols,
            "@tree": self._tree,
        }

    async def read(self, mention: str) -> ContextItem | None:
        """Read a built-in mention; None for other mentions.

        :raises TideateError: the content cannot be read.
        """
        reference = parse_reference(mention)
        maker = self._readers.get(reference.kind if reference else mention)
        return None if maker is None else await maker(mention, reference)

    async def _buffer(self, mention: str, _: Reference | None) -> ContextItem:
        text, name = self._buffer_text(mention)
        language = language_of(name, self._around.filetype)
        return ContextItem(mention, name, text, "file", "" if name else "a buffer without a name", language)

    async def _selection(self, mention: str, _: Reference | None) -> ContextItem:
        text, name = self._buffer_text(mention)
        if self._around.selection is None:
            raise ContextResolutionError(mention, "nothing is selected; select lines, or give a range")
        first, last = self._around.selection
        content = "".join(lines_of(text)[first - 1 : last])
        language, why = language_of(name, self._around.filetype), secret_in(text, first, last)
        return ContextItem(mention, name, content, "section", f"lines {first}-{last}", language, reason=why)

    async def _diagnostics(self, mention: str, _: Reference | None) -> ContextItem:
        found = self._around.diagnostics
        if found is None:
            raise ContextResolutionError(mention, "only an editor has diagnostics; there is none here")
        name = self._buffer_text(mention)[1]
        lines = [
            f"{one.line}:{one.column}: {one.severity}: {' '.join(one.message.split())}"
            + (f" [{one.source}]" if one.source else "")
            for one in found
        ]
        content = "\n".join(lines) or "there are none"
        return ContextItem(mention, name, content, "variable", "diagnostics, as line:column")

    def _buffer_text(self, mention: str) -> tuple[str, str]:
        if self._around.text is None:
            hint = "open a file, or name one with --file"
            raise ContextResolutionError(mention, f"there is no buffer; {hint}")
        root, path = self._workspace.root, self._around.path
        real = Path(path).resolve() if path else None
        inside = real is not None and root is not None and real.is_relative_to(root)
        return self._around.text, self._workspace.name_of(real) if real and inside else path

    async def _diff(self, mention: str, reference: Reference | None) -> ContextItem:
        root = self._required_root(mention)
        path = self._path_of(reference)
        changes = await read_changes(root, path)
        about = "changes since the last commit (saved files only)"
        notes = [] if changes.whole else ["the diff was cut at the size limit"]
        notes += [f"{name} was left out, it seems to hold a secret" for name in changes.left_out]
        notes += changes.notes
        content = changes.diff or "nothing has changed\n"
        content += "".join(
            f"new file, not in git yet: {_in_one_line(name)}\n" for name in changes.untracked[:MOST_NEW]
        )
        if len(changes.untracked) > MOST_NEW:
            notes.append(f"{len(changes.untracked) - MOST_NEW} more new files are not listed")
        return ContextItem(mention, path, content, "variable", about, "diff", "; ".join(notes))

    async def _symbol(self, mention: str, reference: Reference | None) -> ContextItem:
        root = self._required_root(mention)
        wanted = _SYMBOL.fullmatch(reference.path) if reference else None
        if wanted is None:
            raise ContextResolutionError(
                mention, "name a definition, as in @symbol:NAME or @symbol:CLASS.NAME"
            )
        names = [one for one in await self._workspace.list() if code_language(one) and not secret_name(one)]
        name, container = wanted["name"], wanted["container"]
        open_file = self._buffer_text(mention)[1] if self._around.text is not None else ""
        search = partial(_files_with, root, sorted(names, key=is_test), name, self._limit, self.links)
        found: list[tuple[RawText, Definition]] = []
        # the unsaved text of the open file may have the name first
        for path in await asyncio.to_thread(search, also=open_file):
            raw = await self.files.read_raw(mention, path)
            if may_define(raw.text, path, name):
                defined = await asyncio.to_thread(_definitions, raw.text, path)
                found += [(raw, one) for one in defined if one.name == name]
        found = [one for one in found if one[1].container == container] if container else found
        if not found:
            raise ContextResolutionError(mention, f"no definition of {wanted[0]} is known")
        return _definitions_item(mention, found)

    async def _symbols(self, mention: str, reference: Reference | None) -> ContextItem:
        around = self._around
        if reference is None and around.text is not None and can_outline(around.path, around.filetype):
            text, name = self._buffer_text(mention)
            return await self._outline_item(mention, name, text, around.filetype)
        path = self._path_of(reference)
        root = self._required_root(mention)
        if path and (root / path).is_file():
            if not can_outline(path):
                raise ContextResolutionError(mention, f"what defines something in {path} is not known")
            raw = await self.files.read_raw(mention, path)
            return await self._outline_item(mention, path, raw.text)
        return await self._project_symbols(mention, path, root)

    async def _outline_item(self, mention: str, name: str, text: str, filetype: str = "") -> ContextItem:
        try:
            lines = await asyncio.to_thread(outline, text, name, filetype)
        except NotParsed as error:
            raise ContextResolutionError(
                mention, f"{name or 'the buffer'} has no outline: {error}"
            ) from error
        content = "\n".join(lines) or "nothing is defined here"
        return ContextItem(mention, name, content, "variable", "what is defined there, with line numbers")

    async def _project_symbols(self, mention: str, path: str, root: Path) -> ContextItem:
        notes: list[str] = []
        names = [name for name in await self._paths_below(mention, path, notes.append) if _is_code(name)]
        links = self.links
        lines, read, slow = await asyncio.to_thread(_outlines, root, names[:_OUTLINED], self._limit, links)
        if read < len(names):
            notes.append(f"only {read} of {len(names)} files were read")
        notes += [f"{_in_one_line(name)} was left out, it takes too long to parse" for name in slow]
        cut = "; ".join(notes)
        content = "\n".join(lines) or "nothing is defined here"
        return ContextItem(mention, path, content, "variable", "what is defined, with line numbers", cut=cut)

    async def _tree(self, mention: str, reference: Reference | None) -> ContextItem:
        path = self._path_of(reference)
        below = f"{path}/" if path else ""
        notes: list[str] = []
        paths = await self._paths_below(mention, path, notes.append)
        names = [name.removeprefix(below) for name in paths]
        drawn, hidden = draw_tree(names, _ENTRIES)
        if hidden:
            notes.append(f"{hidden} of {len(names)} files have no line of their own")
        root = self._required_root(mention)
        inner = await asyncio.to_thread(repositories_of, root, paths)
        drawn += "".join(f"\n[{_in_one_line(folder)}/ is {kind}]" for folder, kind in inner.items())
        about = "the files that git does not ignore"
        return ContextItem(mention, path, drawn, "variable", about, cut="; ".join(notes))

    async def _run(self, mention: str, reference: Reference | None) -> ContextItem:
        if reference is None and mention != "@last":
            raise ContextResolutionError(mention, "name a run as @run:ID; `tideate history` lists the runs")
        root = self._required_root(mention)
        reader = Reader(self._workspace.private or project_state(root))
        wanted = reference.path if reference else LAST
        return await asyncio.to_thread(_run_item, reader, mention, wanted, self._around.run)

    async def _paths_below(self, mention: str, path: str, note: Callable[[str], None]) -> list[str]:
        names = await self._workspace.list(notice=note)
        if path:
            names = [name for name in names if name.startswith(f"{path}/")]
            if not names:
                raise ContextResolutionError(
                    mention, f"{path} is not a folder with files that are not ignored"
                )
        return names

    def _path_of(self, reference: Reference | None) -> str:
        """Return the path of a reference relative to the root; empty for the root."""
        if reference is None:
            return ""
        name = self._workspace.name_of(self._workspace.resolve(reference.path))
        return "" if name == "." else name

    def _required_root(self, mention: str) -> Path:
        if self._workspace.root is None:
            raise ContextResolutionError(mention, "there is no project here")
        return self._workspace.root


def _run_item(reader: Reader, mention: str, wanted: str, asking: str) -> ContextItem:
    """Return a run's prompt, changed files, error and answer as a context item; blocking."""
    run = reader.run(wanted, asking=asking)
    prompt, said = reader.texts(run.id)
    response = reader.response(run.id)
    answer = response if isinstance(response, str) else said
    parts = {"Asked": prompt, "Changed files": "\n".join(run.files), "Failed": run.error, "Answered": answer}
    content = "\n\n".join(f"{name}:\n{text.strip()}" for name, text in parts.items() if text)
    about = f"{run.name}, {state_word(run)}, {datetime.fromtimestamp(run.started_at / 1000):%Y-%m-%d}"
    return ContextItem(mention, "", content, "variable", about)


def _files_with(
    root: Path, names: Sequence[str], word: str, limit: int, links: HardLinks, *, also: str
) -> list[str]:
    """Return the files that contain a word, and the file `also`; blocking."""
    ends, wanted, found = time.monotonic() + _PATIENCE, word.encode(), []
    for name in names:
        data = read_bounded(root / name, limit) or b""
        if (wanted in data or name == also) and not links.reason(root / name):
            found.append(name)
        if time.monotonic() > ends:
            break
    return found


def _definitions(text: str, path: str) -> list[Definition]:
    try:
        return definitions_in(text, path)
    except NotParsed:
        return []


def _definitions_item(mention: str, found: Sequence[tuple[RawText, Definition]]) -> ContextItem:
    """Return the lines of definitions; several are labelled with their places."""
    shown = found[:_MOST_DEFINITIONS]
    cut = f"{len(found) - len(shown)} more definitions are left out" if len(shown) < len(found) else ""
    texts = ["".join(lines_of(raw.text)[one.line - 1 : one.last]) for raw, one in shown]
    secrets = (secret_in(raw.text, one.line, one.last) for raw, one in shown)
    why = next(filter(None, secrets), "")
    if len(shown) == 1:
        raw, one = shown[0]
        about, language = f"lines {one.line}-{one.last}", language_of(raw.path)
        return ContextItem(mention, raw.path, texts[0], "section", about, language, cut, reason=why)
    places = [f"{raw.path}:{one.line}-{one.last}\n" for raw, one in shown]
    content = "\n".join(place + text for place, text in zip(places, texts, strict=True))
    return ContextItem(mention, "", content, "variable", f"{len(found)} definitions", "", cut, reason=why)


def _is_code(name: str) -> bool:
    return can_outline(name) and language_of(name) != "markdown" and not secret_name(name)


def _outlines(
    root: Path, names: Sequence[str], limit: int, links: HardLinks
) -> tuple[list[str], int, list[str]]:
    """Return the outlines of files, the number of files read, and the files that take too long to parse."""
    lines: list[str] = []
    slow: list[str] = []
    read = 0
    for name in names:
        if len(lines) >= _OUTLINE_LINES or len(slow) == _MOST_SLOW:
            break
        if links.reason(root / name):
            continue
        try:
            data = (root / name).read_bytes()[:limit]
            found = outline(data.decode("utf-8"), name)
        except (OSError, UnicodeDecodeError):
            continue  # deleted meanwhile, or not text
        except NotParsed:
            slow.append(name)
            continue
        read += 1
        if found:
            lines += [name, *(f"  {line}" for line in found)]
    return lines, read, slow


def _in_one_line(name: str) -> str:
    """Escape the unprintable characters of a file name, such as line ends and control codes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in name)
