"""Selected lines of a buffer, or all of them, as variables of prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tideate_core.edits import fence_for
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.adapters import Prompt
    from tideate_core.workflows import BufferContext, ModelAccess, RunContext

__all__ = ["NO_TEXT", "Subject", "brief"]

BRIEF_TOKENS = 200
"""Of an answer of a small model."""
NO_TEXT: Mapping[str, Any] = MappingProxyType(
    {"path": "", "language": "", "text": "", "fence": "```", "first": None, "last": None}
)
"""The variables of a prompt where there is no text."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The selected lines of a buffer, or all of them; `start` to `end` is 0-based and half open."""

    buffer: BufferContext
    lines: list[str]
    start: int
    end: int
    selected: bool
    path: str
    language: str

    @classmethod
    def of(cls, context: RunContext) -> Subject | None:
        """Return what the context holds, None where there is no text."""
        buffer = context.buffer
        if buffer is None:
            return None
        lines = buffer.text.split("\n")
        selection = context.selection
        start, end = (selection.start - 1, selection.end) if selection else (0, len(lines))
        return cls(
            buffer,
            lines,
            start,
            end,
            selected=selection is not None,
            path=_shown(buffer.path, context.cwd),
            language=language_of(buffer.path, buffer.filetype),
        )

    @property
    def text(self) -> str:
        return "\n".join(line.removesuffix("\r") for line in self.lines[self.start : self.end])

    def around(self, count: int) -> dict[str, str]:
        """Return up to `count` lines on either side, for orientation."""
        return {
            "before": "\n".join(self.lines[max(0, self.start - count) : self.start]).strip("\n"),
            "after": "\n".join(self.lines[self.end : self.end + count]).strip("\n"),
        }

    def variables(self) -> dict[str, Any]:
        """Return what every prompt about a text may use."""
        return {
            "path": self.path,
            "language": self.language,
            "text": self.text,
            "fence": fence_for(self.text),
            "first": self.start + 1 if self.selected else None,
            "last": self.end if self.selected else None,
        }


def brief(step: ModelAccess, prompt: Prompt) -> Prompt:
    """Keep a small model from repeating itself once it has said what it can."""
    return replace(prompt, max_tokens=BRIEF_TOKENS) if step.demonstration else prompt


def _shown(path: str, cwd: str) -> str:
    if not path or not cwd:
        return path
    pure = PurePath(path)
    return pure.relative_to(cwd).as_posix() if pure.is_relative_to(cwd) else path
