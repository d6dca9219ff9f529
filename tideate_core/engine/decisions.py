"""Decisions on the hunks of a change: what they keep of it, and which of them hold in its next revision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.workspace import FileChange, Hunk, apply_hunks, lines_of, rebase_each

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LEFT_OUT", "Decided", "carried", "file_name", "hunk_count", "reduced"]

REPLACED: Final = "the revision changes what you had accepted; it is open again"
LEFT_OUT: Final = "the correction leaves out what you had accepted"
MOVED_ON: Final = "the text changed here, and your decision on the hunk no longer applies"


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions on one change, by the index of its hunks; a change that is no `modify` is one hunk."""

    accepted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()
    added: tuple[Hunk, ...] = ()
    """Hunks of other compared runs, accepted beside its own."""

    @property
    def any_accepted(self) -> bool:
        return bool(self.accepted or self.added)

    def as_json(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"accepted": sorted(self.accepted), "rejected": sorted(self.rejected)}
        return {**shape, "added": [hunk.as_json() for hunk in self.added]} if self.added else shape


def file_name(change: FileChange) -> str:
    """Return how messages name the file of a change."""
    return change.path or "the buffer"


def hunk_count(change: FileChange) -> int:
    """Return how many parts of a change are decided."""
    return 1 if change.whole else len(change.hunks)


def reduced(change: FileChange, decided: Decided) -> FileChange | None:
    """Return a change as it was accepted, None where nothing of it was."""
    if not decided.any_accepted:
        return None
    whole = len(decided.accepted) == hunk_count(change) and not decided.added
    if change.whole or change.before is None or whole:
        return change
    kept = [*(change.hunks[at] for at in sorted(decided.accepted)), *decided.added]
    return replace(change, after="\n".join(apply_hunks(lines_of(change.before), kept)))


def carried(
    earlier: FileChange, decided: Decided, change: FileChange, *, keep_accepted: bool
) -> tuple[FileChange, Decided, list[str]]:
    """Return a change as the next revision has it, what is decided of it, and which decisions fell.

    :param keep_accepted: what was accepted stays where it was left out.
    """
    if change.whole or earlier.whole:
        shape = [(one.action, one.before, one.after, one.move_to, one.images) for one in (earlier, change)]
        if shape[0] == shape[1]:
            return change, decided, []
        return change, Decided(), [f"{file_name(change)}: {REPLACED}"] if decided.accepted else []
    states, moved_on = _states(earlier, decided, change.before or "")
    there = change.hunks
    missing = [hunk for hunk, accepted in states.items() if accepted and not _within(hunk, there)]
    clashing = [hunk for hunk in missing if any(hunk.clashes(one) for one in there)]
    left_out = [hunk for hunk in missing if hunk not in clashing]
    fallen = _messages(change, moved_on, MOVED_ON) + _messages(change, clashing, REPLACED)
    if not keep_accepted:
        fallen += _messages(change, left_out, LEFT_OUT)
    elif left_out:
        after = apply_hunks(lines_of(change.before), [*there, *left_out])
        change = replace(change, after="\n".join(after))
    numbered = list(enumerate(change.hunks))
    verdict = Decided(
        frozenset(at for at, hunk in numbered if states.get(hunk) is True),
        frozenset(at for at, hunk in numbered if states.get(hunk) is False),
    )
    return change, verdict, fallen


def _within(hunk: Hunk, others: Sequence[Hunk]) -> bool:
    """Tell whether one of the others makes the change, too."""
    return any(hunk in _parts(one, hunk) for one in others if one.start <= hunk.start and hunk.end <= one.end)


def _parts(one: Hunk, inner: Hunk) -> list[Hunk]:
    """Return what a hunk may make of the lines of another that lies in it: as many lines, at its edge."""
    size, last = len(inner.new), len(one.new) - len(inner.new)
    at_edge = [at for at, edge in ((0, one.start == inner.start), (last, one.end == inner.end)) if edge]
    return [replace(inner, new=one.new[at : at + size]) for at in at_edge or range(last + 1) if at >= 0]


def _messages(change: FileChange, hunks: Sequence[Hunk], words: str) -> list[str]:
    return [f"{file_name(change)}:{hunk.start + 1}: {words}" for hunk in hunks]


def _states(earlier: FileChange, decided: Decided, before: str) -> tuple[Mapping[Hunk, bool], Sequence[Hunk]]:
    """Return whether hunks were accepted, at their places in a text, and those that have none in it any more.

    What is open is in neither.
    """
    own = earlier.hunks
    decisions = dict.fromkeys(decided.accepted, True) | dict.fromkeys(decided.rejected, False)
    known = [(hunk, decisions.get(at)) for at, hunk in enumerate(own)]
    known += [(hunk, True) for hunk in decided.added]
    known.sort(key=lambda one: (one[0].start, one[0].end))
    hunks = [hunk for hunk, _ in known]
    places: Sequence[Hunk | None] = hunks
    if before != earlier.before:
        places = rebase_each(hunks, earlier.before or "", before)
    placed = [(hunk, place, verdict) for (hunk, verdict), place in zip(known, places, strict=True)]
    states = {place: verdict for _, place, verdict in placed if place and verdict is not None}
    return states, [hunk for hunk, place, verdict in placed if place is None and verdict is not None]
