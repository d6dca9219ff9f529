"""Which of an answer's code blocks is the one that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import Fit, fit_of_tag, same_family

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.edits.fences import Block

__all__ = ["choose_block"]

_NEVER_MEANT = ("diff", "bash", "console", "json")
"""What stands beside code, and is wrong where another language was asked for: a patch, commands, data."""
_DOMINANT = 2
"""How many times longer than any other a block must be to be taken for the whole code."""


def choose_block(blocks: Sequence[Block], language: str, old: Sequence[str]) -> Block:
    """Return the block that holds the new text.

    Blocks in another language and quotations of the whole old text are left out. Of several that remain
    the last one is taken if they begin with the same line (drafts of one text), else the longest if it is
    by far the longest and nothing of the old text stands only in another one.

    :raises UnusableAnswer: there is none, or it is not clear which.
    """
    candidates = _distinct(_of_language(blocks, language))
    if not candidates:
        raise UnusableAnswer("the code block is empty; write the complete new text")
    if len(candidates) > 1 and old:
        whole = _text(old)
        candidates = [block for block in candidates if _text(block.lines) != whole] or candidates
    if len(candidates) == 1:
        return candidates[0]
    if len({_text(block.lines)[0] for block in candidates}) == 1:
        return candidates[-1]
    longest = max(candidates, key=_size)
    rest = [block for block in candidates if block is not longest]
    if any(_size(block) * _DOMINANT > _size(longest) for block in rest) or _holds_more(rest, longest, old):
        raise UnusableAnswer(
            f"it has {len(candidates)} code blocks and it is not clear which one is meant; "
            "answer with exactly one code block that holds the complete new text"
        )
    return longest


def _of_language(blocks: Iterable[Block], language: str) -> list[Block]:
    filled = [block for block in blocks if _size(block)]
    rated = [(block, *fit_of_tag(block.info, language)) for block in filled]
    best = max((fit for _, _, fit in rated), default=Fit.FOREIGN)
    if best is Fit.FOREIGN:
        usable = [
            (block, tag) for block, tag, _ in rated if not any(same_family(tag, no) for no in _NEVER_MEANT)
        ]
        if rated and not usable:
            tag = rated[0][1]
            raise UnusableAnswer(
                f"its code block is marked as {tag}, but the text is {language or 'something else'}; "
                "answer with the complete new text itself"
            )
        return [block for block, _ in usable]
    if best is Fit.EXACT:
        # an unmarked block may still hold a part of the code: it competes
        return [block for block, _, fit in rated if fit in {Fit.EXACT, Fit.NEUTRAL}]
    return [block for block, _, fit in rated if fit is not Fit.FOREIGN]


def _distinct(blocks: Iterable[Block]) -> list[Block]:
    return list({tuple(_text(block.lines)): block for block in blocks}.values())


def _holds_more(others: Iterable[Block], longest: Block, old: Sequence[str]) -> bool:
    """Whether the other blocks have lines of the old text that the longest lacks: the code was split."""
    missing = set(_text(old)) - set(_text(longest.lines))
    return any(
        not missing.isdisjoint(line for line in _text(block.lines) if len(line) > 3) for block in others
    )


def _text(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _size(block: Block) -> int:
    return len(_text(block.lines))
