"""Decisions on the hunks of a change: what they keep of it, and which of them hold in its next revision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.workspace import FileChange, Hunk, apply_hunks, diff_lines, lines_of, rebase_each

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
    edited: Mapping[int, Hunk] = field(default_factory=dict)
    """What the person made of accepted hunks: `old` are the lines they have there now."""

    @property
    def any_accepted(self) -> bool:
        return bool(self.accepted or self.added)

    def as_json(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"accepted": sorted(self.accepted), "rejected": sorted(self.rejected)}
        if self.added:
            shape["added"] = [hunk.as_json() for hunk in self.added]
        if self.edited:
            edited = self.edited.items()
            shape["edited"] = [
                {"hunk": at, "old": [*hunk.old], "new": [*hunk.new]} for at, hunk in sorted(edited)
            ]
        return shape

    def taken(self, hunks: Sequence[Hunk]) -> list[Hunk]:
        """Return the accepted ones of a change's hunks, with the lines that they bring."""
        own = ((hunks[at], self.edited.get(at, hunks[at])) for at in sorted(self.accepted))
        return [*(replace(hunk, new=made.new) for hunk, made in own), *self.added]


def file_name(change: FileChange) -> str:
    """Return how messages name the file of a change."""
    return change.path or ("the new text" if change.is_of_no_file else "the buffer")


def hunk_count(change: FileChange) -> int:
    """Return how many parts of a change are decided."""
    return 1 if change.whole else len(change.hunks)


def reduced(change: FileChange, decided: Decided) -> FileChange | None:
    """Return a change as it was accepted, None where nothing of it was."""
    if not decided.any_accepted:
        return None
    if change.whole or change.before is None:
        return replace(change, after="\n".join(decided.edited[0].new)) if decided.edited else change
    if len(decided.accepted) == hunk_count(change) and not (decided.added or decided.edited):
        return change
    lines, own = lines_of(change.before), change.hunks
    after = "\n".join(apply_hunks(lines, decided.taken(own)))
    # its base has the person's lines: where these are others by now, it conflicts
    meanwhile = [replace(own[at], new=made.old) for at, made in decided.edited.items()]
    kept = replace(change, before="\n".join(apply_hunks(lines, meanwhile)), after=after)
    return kept if kept.changes_something else None


def carried(
    earlier: FileChange, decided: Decided, change: FileChange, *, keep_accepted: bool
) -> tuple[FileChange, Decided, list[str]]:
    """Return a change as the next revision has it, what is decided of it, and which decisions fell.

    :param keep_accepted: what was accepted stays where it was left out.
    """
    if change.whole or earlier.whole:
        shape = [(one.action, one.before, one.after, one.move_to, one.images) for one in (earlier, change)]
        if shape[0] == shape[1]:
            return reduced(change, decided) or change, replace(decided, edited={}), []
        return change, Decided(), [f"{file_name(change)}: {REPLACED}"] if decided.accepted else []
    states, moved_on, own_edits = _states(earlier, decided, change.before or "")
    replaced = [hunk for hunk in change.hunks if hunk in own_edits]
    there = [part for hunk in change.hunks for part in own_edits.get(hunk, (hunk,))]
    if replaced:
        change = replace(change, after="\n".join(apply_hunks(lines_of(change.before), there)))
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
        frozenset(at for at, hunk in numbered if states.get(hunk) is True or _lies_in(hunk, replaced)),
        frozenset(at for at, hunk in numbered if states.get(hunk) is False),
    )
    return change, verdict, fallen


def _lies_in(hunk: Hunk, others: Sequence[Hunk]) -> bool:
    """Tell whether a hunk is what the comparison finds in lines that the person wrote."""
    return any(one.start <= hunk.start and hunk.end <= one.end for one in others)


def _compared(hunk: Hunk) -> tuple[Hunk, ...]:
    """Return the hunks that the comparison finds in one."""
    parts = diff_lines(hunk.old, hunk.new)
    return tuple(replace(part, start=hunk.start + part.start) for part in parts)


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


def _states(
    earlier: FileChange, decided: Decided, before: str
) -> tuple[Mapping[Hunk, bool], Sequence[Hunk], Mapping[Hunk, tuple[Hunk, ...]]]:
    """Return whether hunks were accepted, at their places in a text, and those that have none in it any more.

    What is open is in neither. The third is what the person made of hunks, by these.
    """
    own = earlier.hunks
    decisions = dict.fromkeys(decided.accepted, True) | dict.fromkeys(decided.rejected, False)
    known = [(hunk, decisions.get(at), decided.edited.get(at)) for at, hunk in enumerate(own)]
    known += [(hunk, True, None) for hunk in decided.added]
    known.sort(key=lambda one: (one[0].start, one[0].end))
    hunks = [hunk for hunk, *_ in known]
    places: Sequence[Hunk | None] = hunks
    if before != earlier.before:
        places = rebase_each(hunks, earlier.before or "", before)
    states, edits, moved_on = dict[Hunk, bool](), dict[Hunk, tuple[Hunk, ...]](), list[Hunk]()
    for (hunk, verdict, made), place in zip(known, places, strict=True):
        if verdict is not None and place is None:
            moved_on.append(hunk)
        elif verdict is not None and place is not None:
            parts = (place,) if made is None else _compared(replace(place, new=made.new))
            states |= dict.fromkeys(parts, verdict)
            if made is not None:
                edits[place] = parts
    return states, moved_on, edits
