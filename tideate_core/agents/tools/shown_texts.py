"""Files that the search and symbol tools read: staged, unsaved or on disk, with secrets hidden."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final, Self

from tideate_core.errors import WorkspaceError
from tideate_core.mentions import HardLinks, hide_lines, secret_in, secret_lines, secret_name
from tideate_core.util.escaping import HIDDEN_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tideate_core.agents.tools.tool import ToolContext

LONGEST_LINE: Final = 300
"""Characters of a line that is shown."""


class ShownTexts:
    """The files that a tool searches; made by `open`."""

    def __init__(self, context: ToolContext, on_disk: list[str]) -> None:
        self._workspace = context.step.workspace
        self._staged = context.staged
        self._links = HardLinks(self._workspace.root)
        self.on_disk = on_disk
        """All files on disk that are not ignored."""
        self.names: list[str] = []
        """Names of the searched files, sorted."""
        self.secrets: list[str] = []
        """Skipped files: they usually hold secrets, and nobody agreed to show them."""
        self.own: dict[str, str] = {}
        """Texts that differ from those on disk, without hidden lines, by name."""

    @classmethod
    async def open(cls, context: ToolContext, fits: Callable[[str], bool] = lambda _: True) -> Self:
        """List the files to search.

        :param fits: predicate for the paths to include.
        """
        step = context.step
        texts = cls(context, await step.workspace.list(notice=lambda words: step.notice(words, level="warn")))
        await asyncio.to_thread(texts._choose, fits)
        await texts._find_own()
        return texts

    def _choose(self, fits: Callable[[str], bool]) -> None:
        if secret_in("\n".join(self.on_disk)):  # all names at once: one by one takes seconds
            self.on_disk = [name for name in self.on_disk if not secret_in(name)]
        for name in filter(fits, self._staged.listed(self.on_disk)):
            is_secret = not self._staged.knows(name) and (secret_name(name) or self._is_linked(name))
            (self.secrets if is_secret else self.names).append(name)

    def _is_linked(self, name: str) -> bool:
        """Return whether a file has a hard link outside the project."""
        if (root := self._workspace.root) is None:
            return False
        try:
            # os.lstat, not Path: there may be many thousands
            several = os.lstat(f"{root}/{name}").st_nlink > 1
        except OSError:
            return False  # deleted meanwhile
        return several and bool(self._links.reason(root / name))

    async def _find_own(self) -> None:
        wanted = frozenset(self.names)
        changed = [path for path, text in self._staged.changed_texts().items() if text is not None]
        for path in dict.fromkeys((*changed, *await self._workspace.unsaved_files())):
            if path in wanted:
                self.own[path] = (await self.read(path))[0]

    async def hide_secrets(self, names: Iterable[str]) -> dict[str, frozenset[int]]:
        """Add texts to `own`, with hidden lines replaced, for files on disk that hold secrets.

        :return: numbers of the hidden lines by file name; empty for a file that cannot be read.
        :raises ToolError: the files cannot be searched for secrets.
        """
        from tideate_core.agents.tools.search_programs import files_with_secrets

        root = self._workspace.root
        hidden: dict[str, frozenset[int]] = {}
        if root is None:
            return hidden
        for name in sorted(await files_with_secrets(root, [name for name in names if name not in self.own])):
            try:
                text, numbers = await self.read(name)
            except WorkspaceError:
                hidden[name] = frozenset()
                continue
            if numbers:
                self.own[name], hidden[name] = text, numbers
        return hidden

    async def read(self, name: str) -> tuple[str, frozenset[int]]:
        """Return a text with its hidden lines replaced, and their numbers.

        :raises WorkspaceError: the file cannot be read, or is not shown at all.
        """

        if (own := self.own.get(name)) is not None:
            return own, frozenset(_numbers_of(own, HIDDEN_LINE))
        text = self._staged.changed_texts().get(name)
        if text is None:
            text = (await self._workspace.read(name)).text
        if self._staged.knows(name) and self._staged.text(name) == text:
            return text, frozenset()  # a person agreed, or did not need to
        if why := await asyncio.to_thread(self._links.reason, self._workspace.resolve(name)):
            raise WorkspaceError(why)
        hidden = await asyncio.to_thread(secret_lines, text)
        return (hide_lines(text) if hidden else text), hidden


def _numbers_of(text: str, line: str) -> list[int]:
    return [number for number, one in enumerate(text.split("\n"), 1) if one == line] if line in text else []


def line_part(line: str, column: int = 1) -> str:
    """Return a line; of a long one, the part around a column."""
    line = line.removesuffix("\r")
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, column - 1 - LONGEST_LINE // 3)
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
