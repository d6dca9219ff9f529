"""The Markdown documents of the repository, and their blocks of code."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.harness.editor import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DOCUMENTS", "Block", "arguments_of", "blocks", "shell_lines", "the_block"]

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


def shell_lines() -> list[tuple[str, str]]:
    """Return each `tideate` command of the documents' shell blocks, and its place."""
    return [
        (f"{block.where}+{number}", line)
        for block in blocks("sh")
        for number, line in enumerate(block.text.splitlines())
        if re.match(r"(.*\| )?tideate ", line)
    ]


def arguments_of(line: str) -> list[str]:
    """Return the words of a line's `tideate` command, without the shell's own syntax."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.wordchars += ":"
    words = list(lexer)
    command = words[words.index("tideate") + 1 :]
    end = next((at for at, word in enumerate(command) if word in {"<", ">", "|"}), len(command))
    return command[:end]
