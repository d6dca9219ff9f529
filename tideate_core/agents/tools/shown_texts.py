"""Texts of the project's files as a model may see them: staged, unsaved or on disk, without secrets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

from tideate_core.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.agents.tools.tool import ToolContext

__all__ = ["HIDDEN_LINE", "ShownTexts", "line_part"]

HIDDEN_LINE: Final = "[a line that seems to hold a secret]"
LONGEST_LINE: Final = 300
"""Characters of a line that is shown."""


class ShownTexts:
    """The files that a tool looks through; made by `open`."""

    def __init__(self, context: ToolContext, on_disk: list[str]) -> None:
        from tideate_core.mentions import HardLinks

        self._workspace = context.step.workspace
        self._staged = context.staged
        self._links = HardLinks(self._workspace.root)
        self.on_disk = on_disk
        """All files that are not ignored, without staged edits."""
        self.names: list[str] = []
        """The files that are looked through, sorted."""
        self.secrets: list[str] = []
        """Those that are not: they usually hold secrets, and nobody agreed to show them."""
        self.own: dict[str, str] = {}
        """The texts that are not as on disk, by name."""

    @classmethod
    async def open(cls, context: ToolContext, fits: Callable[[str], bool] = lambda _: True) -> Self:
        """List the files that are looked through.

        :param fits: tells of a path whether it is wanted.
        """
        step = context.step
        texts = cls(context, await step.workspace.list(notice=lambda words: step.notice(words, level="warn")))
        await asyncio.to_thread(texts._choose, fits)
        await texts._find_own()
        return texts

    def _choose(self, fits: Callable[[str], bool]) -> None:
        from tideate_core.mentions import secret_name

        for name in filter(fits, self._staged.listed(self.on_disk)):
            is_secret = secret_name(name) and not self._staged.knows(name)
            (self.secrets if is_secret else self.names).append(name)

    async def _find_own(self) -> None:
        wanted = frozenset(self.names)
        for path, text in self._staged.changed_texts().items():
            if text is not None and path in wanted:
                self.own[path] = text
        for path in await self._workspace.unsaved_files():
            if path in wanted and path not in self.own:
                self.own[path] = (await self._workspace.read(path)).text

    async def read(self, name: str) -> tuple[str, frozenset[int]]:
        """Return a text, and the numbers of its lines that are not shown.

        :raises WorkspaceError: it cannot be read, or is not shown at all.
        """
        from tideate_core.mentions import secret_lines

        text = self.own.get(name)
        if text is None:
            text = (await self._workspace.read(name)).text
        if self._staged.knows(name) and self._staged.text(name) == text:
            return text, frozenset()  # a person agreed, or did not have to
        if why := await asyncio.to_thread(self._links.reason, self._workspace.resolve(name)):
            raise WorkspaceError(why)
        return text, await asyncio.to_thread(secret_lines, text)


def line_part(line: str, column: int = 1) -> str:
    """Return a line; of a long one what is around a column."""
    line = line.removesuffix("\r")
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, column - 1 - LONGEST_LINE // 3)
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
