"""What a mention resolves to, and what a person has in front of them when they write one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CHARACTERS_PER_TOKEN", "ContextItem", "ContextKind", "Diagnostic", "Surroundings", "tokens_of"]

ContextKind = Literal["file", "section", "variable"]

CHARACTERS_PER_TOKEN = 4
"""An estimate: English prose has about four, code a little less. Budgets of material count by it."""


def tokens_of(text: str) -> int:
    """Return about how many tokens a text takes, at four characters each, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One resolved mention. Its content is as it stands at the place: nothing is rendered or translated."""

    mention: str
    """As it was written, with the `@`."""
    path: str
    """Where it comes from, relative to the root; empty where that is no file."""
    content: str
    """Empty while consent is needed."""
    type: ContextKind
    """`file`: a whole file or buffer; `section`: lines of one; `variable`: a text made or configured."""
    about: str = ""
    """In words what the content is, where the path does not say it: "lines 10-40", "changes since HEAD"."""
    language: str = ""
    """The tag of its fence."""
    cut: str = ""
    """In words what was left out of the content; empty where that is nothing."""
    needs_consent: bool = False
    """It seems to hold a secret: a person has to agree before its content is given to anybody."""
    reason: str = ""
    """Why consent is needed, or, of one that was consented to, was."""

    @property
    def tokens(self) -> int:
        """About how many the content takes."""
        return tokens_of(self.content)

    @property
    def source(self) -> str:
        """The path and what of it, in one line."""
        return ", ".join(filter(None, (self.path, self.about)))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What an editor's language server or linter says of a line; `line` and `column` are 1-based."""

    line: int
    column: int
    severity: str
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What `@buffer`, `@selection` and `@diagnostics` stand for."""

    text: str | None = None
    """Of the buffer, lines joined by ``\\n``; None where there is none."""
    path: str = ""
    """The buffer's, absolute; empty for one without a name."""
    filetype: str = ""
    selection: tuple[int, int] | None = None
    """Lines of the buffer, 1-based, both included."""
    diagnostics: tuple[Diagnostic, ...] | None = None
    """The buffer's; None where nobody says, as outside of an editor."""
