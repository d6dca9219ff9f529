"""A file that was answered as a whole: told from a part of it, and kept where only blanks differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits.answer import extract_code, fit_to_range
from tideate_core.edits.keeping import has_other_blanks, keep_repeated, without_trailing_blanks
from tideate_core.edits.punctuation import plain
from tideate_core.edits.replaced import Replaced
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["fit_whole", "whole_text"]


def whole_text(answer: str, old: Sequence[str] | None, language: str) -> Replaced:
    """Return the new lines of a file that an answer holds as a whole.

    :param old: the lines as they are, None for a new file.
    :raises UnusableAnswer: there is no text, a part of one, or lines are left out.
    """
    code = extract_code(answer, language=language, old=old)
    return Replaced(code, []) if old is None else fit_whole(code, old, language)


def fit_whole(code: Sequence[str], old: Sequence[str], language: str) -> Replaced:
    """Give a whole new text the indentation and line ends of the old one, and its unchanged lines.

    Lines that differ only in trailing blanks or typographic punctuation stay as they are, unless the
    answer changes nothing else: then it is the change.

    :raises UnusableAnswer: it is far shorter than the file, so that it seems to be a part.
    """
    if not any(line.strip() for line in old):
        return Replaced(list(code), [])
    _refuse_part(code, old)
    new = fit_to_range(code, old)
    notes: list[str] = []
    for what, same in _IGNORED.items():
        keys, then = [same(line) for line in old], [same(line) for line in new]
        if keys == then:
            break
        kept = _kept(old, keys, new, then, language)
        count = sum(one != other for one, other in zip(kept, new, strict=True))
        if count:
            notes.append(
                f"{count} line{'s' if count > 1 else ''} that differed only in {what} stayed as before"
            )
        new = kept
    return Replaced(new, [], notes)


def _kept(
    old: Sequence[str], keys: Sequence[str], new: Sequence[str], then: Sequence[str], language: str
) -> list[str]:
    """Return the new lines with the old ones where both are the same, the others without careless blanks."""
    pairs = [(old[at + k], new[to + k]) for at, to, size in matching_blocks(keys, then) for k in range(size)]
    careless = has_other_blanks([own for own, _ in pairs], [given for _, given in pairs])

    def changed(_: range, lines: list[str]) -> list[str]:
        return without_trailing_blanks(lines, language) if careless else lines

    return keep_repeated(old, keys, new, then, changed)


def _plainly(line: str) -> str:
    return plain(line.rstrip())


_IGNORED: dict[str, Callable[[str], str]] = {"trailing blanks": str.rstrip, "punctuation": _plainly}
_LEAST_TO_COMPARE = 10


def _refuse_part(code: Sequence[str], old: Sequence[str]) -> None:
    had = [line for line in old if line.strip()]
    has = [line for line in code if line.strip()]
    if not has:
        raise UnusableAnswer(f"it has no lines and the file has {len(had)}; write the complete new file")
    if len(had) < _LEAST_TO_COMPARE or len(has) * 2 >= len(had):
        return
    raise UnusableAnswer(
        f"it has {len(has)} lines and the file has {len(had)}, so it seems to be a part; "
        "write the complete new file"
    )
