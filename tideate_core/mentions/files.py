"""Read project files as context items: whole, a Markdown section, or a range of lines."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ContextResolutionError, NotText, WorkspaceError, did_you_mean
from tideate_core.mentions.items import ContextItem, head
from tideate_core.mentions.secrets import secret_in
from tideate_core.util.markdown import find_section, read_markdown
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.mentions.extraction import Reference
    from tideate_core.workspace import Workspace

_COMPARED: Final = 2000
"""Paths compared for the nearest one."""


@dataclass(frozen=True, slots=True)
class RawText:
    """Text of a file on disk or of an unsaved buffer."""

    path: str
    """Relative to the root, links followed."""
    text: str
    cut: str = ""
    """Note on the part of a large file that was not read."""
    unsaved: bool = False


class FileReader:
    """Reader of files and unsaved buffers of a workspace.

    :param limit: bytes read of a file; the rest is cut.
    """

    def __init__(self, workspace: Workspace, limit: int) -> None:
        self._workspace = workspace
        self._limit = limit

    async def read(self, mention: str, path: str) -> ContextItem:
        """Read a whole file, or the section named after a `#`.

        :raises TideateError: the file or section cannot be read.
        """
        if "#" in path and not self._workspace.resolve(path).exists():
            name, _, title = path.partition("#")
            return self._section_item(mention, await self.read_raw(mention, name), title)
        raw = await self.read_raw(mention, path)
        return ContextItem(
            mention, raw.path, raw.text, "file", _unsaved_note(raw), language_of(raw.path), raw.cut
        )

    def _section_item(self, mention: str, raw: RawText, title: str) -> ContextItem:
        if language_of(raw.path) != "markdown":
            raise ContextResolutionError(mention, f"{raw.path} is not a Markdown file, so it has no sections")
        found = read_markdown(raw.text).headings
        heading = find_section(found, title)
        if heading is None:
            names = [name for one in found for name in (one.title, one.anchor)]
            raise ContextResolutionError(
                mention, f"{raw.path} has no heading {title!r}{did_you_mean(title, names)}"
            )
        lines = lines_of(raw.text)
        first, last = heading.start, min(heading.end, len(lines))
        about = f"section {heading.title!r}, lines {first + 1}-{last}{_unsaved_note(raw, ', ')}"
        cut = raw.cut if last == len(lines) else ""
        content, why = "".join(lines[first:last]), secret_in(raw.text, first + 1, last)
        return ContextItem(mention, raw.path, content, "section", about, "markdown", cut, reason=why)

    async def read_reference(self, mention: str, reference: Reference | None) -> ContextItem:
        """Read the file of a reference, or its range of lines.

        :raises TideateError: there is no path, or the file cannot be read.
        """
        if reference is None:
            raise ContextResolutionError(
                mention, "it needs a path: @file:src/main.py, or @file:src/main.py:10-40"
            )
        if reference.lines is None:
            return await self.read(mention, reference.path)
        if self._workspace.resolve(reference.whole).exists():
            return await self.read(mention, reference.whole)
        raw = await self.read_raw(mention, reference.path)
        return self._range_item(mention, raw, *reference.lines)

    def _range_item(self, mention: str, raw: RawText, first: int, last: int) -> ContextItem:
        lines = lines_of(raw.text)
        if last < first:
            raise ContextResolutionError(mention, "the range ends before it begins")
        if first > len(lines):
            raise ContextResolutionError(
                mention,
                f"line {first} does not exist: {raw.path} has {len(lines)}" + (raw.cut and f"; {raw.cut}"),
            )
        until = min(last, len(lines))
        about = f"lines {first}-{until}" + ("" if until == last else " (it has no more)")
        content = "".join(lines[first - 1 : until])
        language = language_of(raw.path)
        cut, why = raw.cut if until < last else "", secret_in(raw.text, first, until)
        about += _unsaved_note(raw, ", ")
        return ContextItem(mention, raw.path, content, "section", about, language, cut, reason=why)

    async def read_raw(self, mention: str, path: str) -> RawText:
        """Read a file with its line ends and byte order mark, including unsaved changes.

        :raises ContextResolutionError: there is no such file; the nearest name is given.
        :raises OutsideRoot: the path is outside the project.
        :raises NotText: the file is binary or not UTF-8.
        :raises WorkspaceError: the file cannot be read.
        """
        real = self._workspace.resolve(path)
        if not real.exists():
            names = await self._workspace.list()
            near = await asyncio.to_thread(_nearest, path, names)
            raise ContextResolutionError(mention, f"{path} does not exist{near}")
        name = self._workspace.name_of(real)
        buffer = await self._workspace.unsaved(real)
        if buffer is not None:
            text = head(buffer.text, self._limit)
            return RawText(name, text, _cut_note(len(buffer.text), len(text), "characters"), unsaved=True)
        data, size = await asyncio.to_thread(_read, real, name, self._limit)
        text = _decode(data, name, whole=len(data) == size)
        return RawText(name, text, _cut_note(size, len(text.encode()), "bytes"))


def _nearest(path: str, names: list[str]) -> str:
    """Return a hint with the nearest path, with preference for the same file name."""
    end = path.rpartition("/")[2].casefold()
    alike = [name for name in names if name.rpartition("/")[2].casefold() == end]
    return did_you_mean(path, alike[:_COMPARED] or names[:_COMPARED])


def _read(path: Path, name: str, limit: int) -> tuple[bytes, int]:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise WorkspaceError(f"{name} is not a regular file; `@tree:{name}` lists a directory")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise WorkspaceError(f"{name} does not exist") from error
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error
    # the file may have grown since `stat`
    size = max(found.st_size, len(data))
    return (data, len(data)) if len(data) <= limit else (data[:limit], size)


def _decode(data: bytes, name: str, *, whole: bool) -> str:
    if b"\0" in data:
        raise NotText(f"{name} is binary (it holds a NUL byte); only UTF-8 text can be sent to a model")
    try:
        return data.decode("utf-8") if whole else _decode_head(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotText(
            f"{name} is not UTF-8 (byte {error.start}, in line {line}); convert it, or name another file"
        ) from error


def _decode_head(data: bytes) -> str:
    """Decode the beginning of a file, up to its last line end or whole character."""
    lines = data[: data.rfind(b"\n") + 1]
    if lines:
        return lines.decode("utf-8")
    for missing in range(4):
        try:
            return data[: len(data) - missing].decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                raise
    return data.decode("utf-8")


def _cut_note(total: int, kept: int, unit: str) -> str:
    return f"only the first {kept} of {total} {unit} were read" if kept < total else ""


def lines_of(text: str) -> list[str]:
    """Split a text into lines with their ends; only a line feed ends a line, as in editors."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *filter(None, [last])]


def _unsaved_note(raw: RawText, before: str = "") -> str:
    return f"{before}not saved yet" if raw.unsaved else ""
