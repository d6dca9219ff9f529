"""A document that a person reads, may change in their own editor, and says yes or no to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from tideate_core.cli.keyboard import EditorFailed
from tideate_core.cli.output import markdown_source, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tideate_core.cli.keyboard import Keyboard

__all__ = ["Draft", "document_matter"]

_SUFFIXES = {"markdown": ".md"}


def document_matter(payload: dict[str, Any], *, coloured: bool, asked: str = "") -> list[RenderableType]:
    """Return what a person reads: why their last text could not be used, and the text as it is taken.

    :param coloured: as Markdown.
    :param asked: the question; a problem that it names is not said twice.
    """
    shown: list[RenderableType] = [
        Text(f"✗ {visible(problem)}", style="red")
        for problem in payload.get("problems", ())
        if problem not in asked
    ]
    if payload.get("title"):
        shown.append(Text(visible(payload["title"]), style="bold"))
    text = payload["text"]
    shown.append(markdown_source(text) if coloured else Text(visible(text)))
    return shown


@dataclass(slots=True)
class Draft:
    """The text as the person has it so far."""

    proposed: str
    filetype: str
    refused: bool
    """What was accepted before could not be used: `proposed` is the person's own text."""
    text: str
    """As it is to be accepted."""
    typed: str | None = None
    """What stands in the file of an editor that failed: it is no answer, and the next edit begins with it."""

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        """Return the draft that a question begins with."""
        text = payload["text"]
        return cls(text, payload.get("filetype", "markdown"), bool(payload.get("problems")), text)

    async def edit(self, keyboard: Keyboard) -> str | None:
        """Let the person change it; returns why nothing was taken, None if it was."""
        suffix = _SUFFIXES.get(self.filetype, ".txt")
        begins = self.text if self.typed is None else self.typed
        try:
            self.text = await keyboard.edit(begins, suffix)
        except EditorFailed as error:
            self.typed = error.text if error.text != self.text else None
            kept = "; what you typed is kept: e goes on with it, y leaves it out" if self.typed else ""
            return f"{error}{kept}"
        self.typed = None
        return None

    @property
    def value(self) -> dict[str, str] | None:
        """What an acceptance says: the text where it was changed."""
        # after a refusal also an unchanged text is the person's, not the one that was proposed at first
        changed = self.text != self.proposed or self.refused
        return {"text": self.text} if changed else None
