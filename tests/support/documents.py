"""The Markdown documents of the repository, and their blocks of code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.support.editor import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DOCUMENTS", "Block", "blocks", "the_block"]

DOCUMENTS: Final = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
FENCED: Final = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    path: Path
    line: int
    """Its first one, 1-based."""
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.path.relative_to(REPOSITORY)}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """Return all blocks of these languages, or of every one, in the order of the documents."""
    found: list[Block] = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        found += [
            Block(path, text.count("\n", 0, match.start()) + 2, match[1], match[2])
            for match in FENCED.finditer(text)
            if not languages or match[1] in languages
        ]
    return found


def the_block(name: str, language: str, words: str) -> str:
    """Return the one block of a document that has these words."""
    (found,) = [
        block.text for block in blocks(language) if block.path == REPOSITORY / name and words in block.text
    ]
    return found
