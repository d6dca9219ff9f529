"""Line ends of edited texts: unchanged lines keep theirs, new lines copy their neighbours'."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tideate_core.workspace.diff import matching_blocks

if TYPE_CHECKING:
    from tideate_core.workspace.changes import FileChange

_BARE_CR: Final = re.compile(r"\r(?!\n|\Z)")
_ENDS: Final = re.compile(r"(\r?\n)")
_ALL_ENDS: Final = re.compile(r"(\r\n|\r|\n)")


def with_kept_line_ends(change: FileChange) -> FileChange:
    """Keep the line ends of a text change; other changes are returned unchanged."""
    if change.exact or change.images is not None or change.before is None or change.after is None:
        return change
    after = keep_line_ends(change.before, change.after)
    return change if after == change.after else replace(change, after=after, parts=())


def keep_line_ends(before: str, after: str) -> str:
    r"""Return a new text with the line ends of the old one.

    Texts are those of `Document`: a ``\r`` occurs only with mixed line ends, and the last ``\n`` is missing.
    A lone ``\r`` ends a line if the old text has one and the new text has none.
    """
    if "\r" not in before:
        return after.replace("\r\n", "\n").removesuffix("\r") if "\r" in after else after
    pattern = _ALL_ENDS if _BARE_CR.search(before) and not _BARE_CR.search(after) else _ENDS
    # the text lacks the last "\n", but not the "\r" before it
    tail = "\r" if before.endswith("\r") else ""
    old, old_ends = _split(pattern, before.removesuffix("\r"))
    new, _ = _split(pattern, after.removesuffix("\r"))
    old_ends.append(f"{tail}\n" if "\n" in before or not tail else tail)
    ends = _placed_ends(old, old_ends, new)
    last = ends.pop()
    if last is None or old[-1:] == new[-1:]:  # the last line keeps its own end
        last = tail
    text = "".join(f"{line}{end}" for line, end in zip(new, [*map(str, ends), ""], strict=True))
    return text + ("\r" if last.startswith("\r") and after else "")


def _split(pattern: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    parts = pattern.split(text)
    return parts[::2], parts[1::2]


def _placed_ends(old: list[str], old_ends: list[str], new: list[str]) -> list[str | None]:
    """Return the end of each new line; None for a last line that is not an old one."""
    ends: list[str | None] = []
    i = j = 0
    for at, to, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        replaced = old_ends[i:at][: to - j]
        ends += replaced
        around = ends[-1] if ends else (old_ends[at] if at < len(old) else old_ends[0])
        ends += [around] * (to - j - len(replaced))
        if to == len(new) and to > j:
            ends[-1] = None
        ends += old_ends[at : at + size]
        i, j = at + size, to + size
    return ends
