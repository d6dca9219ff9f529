"""The forms in which models write edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

Form = Literal["search/replace", "patch", "diff", "whole"]
Numbers = Literal["right", "wrong", "none"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line that stays (a blank), goes (``-``) or comes (``+``)."""

    sign: Literal[" ", "-", "+"]
    text: str


@dataclass(slots=True)
class Hunk:
    """Edit of one place; `start` is its first line in the file, 0-based."""

    start: int
    rows: list[Row]

    @property
    def old(self) -> list[str]:
        return [row.text for row in self.rows if row.sign != "+"]

    @property
    def new(self) -> list[str]:
        return [row.text for row in self.rows if row.sign != "-"]

    @property
    def end(self) -> int:
        return self.start + len(self.old)


Files: TypeAlias = "Sequence[tuple[str, Sequence[Hunk]]]"
"""What is wanted of each file, by its path."""


def write_blocks(files: Files, numbers: Numbers, rng: random.Random) -> str:
    """Search/replace blocks, with the path above each, above the first or nowhere, with or without fences."""
    fenced = rng.random() < 0.5
    named = "each" if len(files) > 1 else rng.choice(("each", "first", "never"))
    blocks: list[str] = []
    for path, hunks in files:
        for hunk in hunks:
            lines = ["<<<<<<< SEARCH", *hunk.old, "=======", *hunk.new, ">>>>>>> REPLACE"]
            if fenced:
                lines = ["```", *lines, "```"]
            if named == "each" or (named == "first" and not blocks):
                lines.insert(0, path)
            blocks.append("\n".join(lines))
    return _words(rng) + "\n\n".join(blocks) + "\n"


def write_patch(files: Files, numbers: Numbers, rng: random.Random) -> str:
    """``*** Begin Patch`` and so on."""
    lines = ["*** Begin Patch"]
    for path, hunks in files:
        lines.append(f"*** Update File: {path}")
        for hunk in hunks:
            lines += ["@@", *(row.sign + row.text for row in hunk.rows)]
    return _words(rng) + "\n".join([*lines, "*** End Patch"]) + "\n"


def write_diff(files: Files, numbers: Numbers, rng: random.Random) -> str:
    """A unified diff in a fence, its line numbers right, wrong or missing."""
    lines: list[str] = []
    for path, hunks in files:
        lines += [f"--- a/{path}", f"+++ b/{path}"]
        shift = 0
        for hunk in hunks:
            lines += [_heading(hunk, shift, numbers, rng), *(_diff_row(row, rng) for row in hunk.rows)]
            shift += len(hunk.new) - len(hunk.old)
    return _words(rng) + "\n".join(["```diff", *lines, "```"]) + "\n"


def _heading(hunk: Hunk, shift: int, numbers: Numbers, rng: random.Random) -> str:
    if numbers == "none":
        return "@@"
    first, old, new = hunk.start + 1, len(hunk.old), len(hunk.new)
    if numbers == "wrong":
        first = max(1, first + rng.randint(-40, 40))
        old, new = max(1, old + rng.randint(-2, 2)), max(1, new + rng.randint(-2, 2))
    return f"@@ -{first},{old} +{max(1, first + shift)},{new} @@"


def _diff_row(row: Row, rng: random.Random) -> str:
    return row.sign + row.text if row.text or row.sign != " " else rng.choice(("", " "))


def write_whole(path: str, text: Sequence[str], *, cut: bool, rng: random.Random) -> str:
    """The whole file in a fence."""
    lines = [path, "````", *text]
    if cut:
        return "\n".join(lines[: len(lines) * 4 // 5])
    return _words(rng) + "\n".join([*lines, "````"]) + "\n"


def _words(rng: random.Random) -> str:
    return rng.choice(("", "Here is the change:\n\n", "I changed the lines you asked for.\n\n"))


FORMS: Final[dict[Form, Callable[[Files, Numbers, random.Random], str]]] = {
    "search/replace": write_blocks,
    "patch": write_patch,
    "diff": write_diff,
}
"""The forms that are written from hunks."""
