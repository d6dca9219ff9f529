"""Decisions on the hunks of a change: what they keep of it, and which of them hold in its next revision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.moved_hunks import TextNow
from tideate_core.workspace import (
    FileChange,
    Hunk,
    apply_hunks,
    diff_lines,
    lines_of,
    rebase_each,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["LEFT_OUT", "Decided", "carried", "file_name", "hunk_count", "reduced"]

REPLACED: Final = "the revision changes what you had accepted; it is open again"
LEFT_OUT: Final = "the correction leaves out what you had accepted"
STAYS: Final = "what you wrote stays, and the revision's other text for it is left out"
MOVED_ON: Final = "the text changed here, and your decision on the hunk no longer applies"
TAKEN_OUT: Final = "the text changed here, and the lines that you took out are others now: they stay"
CLASHES: Final = "another change takes the place of what you wrote"
REOPENED: Final = "the text changed here, and what you wrote is open again, for the text as it is now"
AGAIN: Final = "the text changed here, and what you accepted is open again, for the text as it is now"
STILL_OPEN: Final = "the text changed here, and this hunk is open for the text as it is now"
LOST: Final = "the text changed here, and a hunk that was open no longer applies"


@dataclass(frozen=True, slots=True)
class Decided:
    """The decisions on one change, by the index of its hunks; a change that is no `modify` is one hunk."""

    accepted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()
    added: tuple[Hunk, ...] = ()
    """Hunks of other compared runs, accepted beside its own."""
    edited: Mapping[int, Hunk] = field(default_factory=dict)
    """What the person made of hunks that they did not reject: `old` are the lines they have there now."""

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
        return replace(change, parts=())
    lines, own = lines_of(change.before), change.hunks
    after = "\n".join(apply_hunks(lines, decided.taken(own)))
    # its base has the person's lines: where these are others by now, it conflicts
    edits = {at: made for at, made in decided.edited.items() if at in decided.accepted}
    meanwhile = [replace(own[at], new=made.old) for at, made in edits.items()]
    kept = replace(change, before="\n".join(apply_hunks(lines, meanwhile)), after=after, parts=())
    return kept if kept.changes_something else None


def carried(
    earlier: FileChange,
    decided: Decided,
    change: FileChange,
    *,
    keep_accepted: bool,
    keep_open: bool = False,
) -> tuple[FileChange, Decided, list[str]]:
    """Return a change as the next revision has it, what is decided of it, and which decisions fell.

    What the person wrote for a hunk that is open stays open, in place of what the revision has there.

    :param keep_accepted: what was accepted stays where it was left out, or, where the person wrote it, for
        another text, too.
    :param keep_open: what is open stays, too, where its lines are others now: no model made it anew.
    """
    if change.whole or earlier.whole:
        words = AGAIN if keep_open else REPLACED
        return _carried_whole(earlier, decided, change, words, keep_accepted=keep_accepted)
    known = _known(earlier, decided, change.before or "", keep_open=keep_open)
    accepted = [hunk for hunk, kept in known.states.items() if kept]
    made = _hunks_by(change, known.own, accepted)
    there = [part for hunk in made for part in known.edits.get(hunk, (hunk,))]
    mine = [part for parts in known.edits.values() for part in parts]
    stays = [hunk for hunk in mine if keep_accepted and not _within(hunk, there) and _any_clash(hunk, there)]
    there = [*stays, *(hunk for hunk in there if not _any_clash(hunk, stays))]
    missing = [hunk for hunk in accepted if not _within(hunk, there)]
    clashing = [hunk for hunk in missing if _any_clash(hunk, there)]
    left_out = [hunk for hunk in missing if hunk not in clashing]
    # lines of the person's that the model wrote more around are in an open hunk
    opened = [*clashing, *(hunk for hunk in mine if hunk not in [*there, *missing])]
    kept = [*there, *(left_out if keep_accepted else [])]
    mine_gone = [hunk for hunk in mine if hunk in kept and _any_clash(hunk, [*known.reopened])]
    kept = [*(hunk for hunk in kept if not _any_clash(hunk, [*known.reopened])), *known.reopened]
    again = [hunk for hunk in known.again if hunk in kept or (keep_accepted and not _any_clash(hunk, kept))]
    kept += [hunk for hunk in again if hunk not in kept]
    fallen = [f"{file_name(change)}:{hunk.start + 1}: {words}" for hunk, words in known.moved_on]
    fallen += _messages(change, [hunk for hunk in known.again if hunk not in again], MOVED_ON)
    fallen += _messages(change, mine_gone, CLASHES, mine) + _messages(change, stays, STAYS)
    for hunk, words in {**known.reopened, **{hunk: known.again[hunk] for hunk in again}}.items():
        fallen += _messages(change, [hunk], words) if words else []
    unkept = [hunk for hunk in mine if hunk not in kept]
    fallen += _messages(change, opened, REPLACED, unkept)
    if not keep_accepted:
        fallen += _messages(change, left_out, LEFT_OUT, unkept)
    hunks = sorted(kept, key=_place)
    after = "\n".join(apply_hunks(lines_of(change.before), hunks))
    change = replace(change, after=after, parts=tuple(hunks))
    verdict = Decided(
        frozenset(at for at, hunk in enumerate(hunks) if known.states.get(hunk) is True),
        frozenset(at for at, hunk in enumerate(hunks) if known.states.get(hunk) is False),
    )
    return change, verdict, fallen


def _carried_whole(
    earlier: FileChange, decided: Decided, change: FileChange, words: str, *, keep_accepted: bool
) -> tuple[FileChange, Decided, list[str]]:
    """Do it where one of the two is decided about as a whole.

    :param words: say that what was accepted is open again.
    """
    if earlier.whole and decided.edited and not decided.accepted:
        mine = replace(earlier, after="\n".join(decided.edited[0].new))
        as_told = _same(change, earlier) or _same(change, mine)
        return mine, Decided(), [] if as_told else [f"{file_name(change)}: {STAYS}"]
    kept = reduced(earlier, decided)
    if kept is not None and _same(change, kept):
        return change, Decided(frozenset(range(hunk_count(change)))), []
    if _same(change, earlier):
        return kept or change, replace(decided, edited={}), []
    stays = kept is not None and decided.edited and keep_accepted
    lost = [made.new for at, made in decided.edited.items() if not (stays and at in decided.accepted)]
    text = [line for lines in lost for line in lines]
    told = "\n".join([f"{file_name(change)}: {STAYS if stays else words}", *text])
    if stays and kept is not None:
        return kept, Decided(frozenset(range(hunk_count(kept)))), [told]
    return change, Decided(), [told] if decided.accepted or decided.edited else []


def _same(change: FileChange, other: FileChange) -> bool:
    shapes = [(one.action, one.before, one.after, one.move_to, one.images) for one in (change, other)]
    return shapes[0] == shapes[1]


def _place(hunk: Hunk) -> tuple[int, int]:
    return hunk.start, hunk.end


def _any_clash(hunk: Hunk, others: Sequence[Hunk]) -> bool:
    return any(hunk.clashes(one) for one in others)


def _hunks_by(change: FileChange, *known: Sequence[Hunk]) -> Sequence[Hunk]:
    """Return the hunks of a change, with the borders of the known ones that it differs least from.

    Where lines repeat, a comparison would part the same text in other ways.
    """
    lines, after = lines_of(change.before), lines_of(change.after)
    found, least = change.hunks, _size(change.hunks)
    for hunks in known:
        applied = apply_hunks(lines, hunks)
        # no line and one empty line are the same text
        differing = diff_lines(applied, after) if "\n".join(applied) != change.after else []
        if (size := _size(differing)) >= least:
            continue
        made = _composed(lines, sorted(hunks, key=_place), differing)
        same = "\n".join(apply_hunks(lines, made)) == change.after
        if same and not any(hunk.clashes(one) for hunk, one in pairwise(made)):
            found, least = made, size
    return found


def _size(hunks: Sequence[Hunk]) -> int:
    return sum(len(hunk.old) + len(hunk.new) for hunk in hunks)


def _composed(lines: Sequence[str], first: Sequence[Hunk], then: Sequence[Hunk]) -> list[Hunk]:
    """Return hunks that make of a text what two changes make, one after the other.

    :param first: in order; those that the second change does not touch stay as they are.
    """
    middle = apply_hunks(lines, first)
    shift, spans = 0, list[tuple[Hunk, Hunk]]()
    for hunk in first:
        spans.append((hunk, Hunk(hunk.start + shift, hunk.new, hunk.old)))
        shift += len(hunk.new) - len(hunk.old)
    groups = list[tuple[list[Hunk], list[tuple[Hunk, Hunk]]]]()
    for hunk in then:
        touched = [span for span in spans if span[1].start <= hunk.end and hunk.start <= span[1].end]
        if groups and touched and touched[0] in groups[-1][1]:
            groups[-1][0].append(hunk)
            groups[-1][1].extend(touched[1:])
        else:
            groups.append(([hunk], touched))
    gone = [own for _, touched in groups for own, _ in touched]
    made = [part for group in groups for part in _joined(lines, middle, spans, *group)]
    return sorted([*(hunk for hunk in first if hunk not in gone), *made], key=_place)


def _joined(
    lines: Sequence[str],
    middle: Sequence[str],
    spans: Sequence[tuple[Hunk, Hunk]],
    then: Sequence[Hunk],
    touched: Sequence[tuple[Hunk, Hunk]],
) -> Iterator[Hunk]:
    """Yield what the comparison finds in the lines of hunks that touch each other."""
    low, high = then[0].start, then[-1].end
    start = low + sum(len(own.old) - len(own.new) for own, span in spans if span.end < low)
    if touched:
        high = max(high, touched[-1][1].end)
        if touched[0][1].start <= low:
            low, start = touched[0][1].start, touched[0][0].start
    size = high - low + sum(len(own.old) - len(own.new) for own, _ in touched)
    new = apply_hunks(middle[low:high], [replace(hunk, start=hunk.start - low) for hunk in then])
    for part in diff_lines(lines[start : start + size], new):
        yield replace(part, start=part.start + start)


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


def _messages(change: FileChange, hunks: Sequence[Hunk], words: str, typed: Sequence[Hunk] = ()) -> list[str]:
    """Return a line for each hunk, and below it the text of those that the person typed."""
    return [
        "\n".join([f"{file_name(change)}:{hunk.start + 1}: {words}", *(hunk.new if hunk in typed else ())])
        for hunk in hunks
    ]


@dataclass(frozen=True, slots=True)
class _Known:
    """The hunks of an earlier revision at their places in a text; what is open has no state."""

    own: list[Hunk]
    states: dict[Hunk, bool]
    """Whether they were accepted; of an edited one the parts that the person made of it."""
    moved_on: list[tuple[Hunk, str]]
    """Those that have no place any more, and what is said of them."""
    reopened: dict[Hunk, str]
    """What the person wrote for hunks that are open, and what is said where their lines are others now."""
    again: dict[Hunk, str]
    """The others whose lines are others now, for these."""
    edits: dict[Hunk, tuple[Hunk, ...]]

    def decide(self, place: Hunk, verdict: bool | None, made: Hunk | None) -> None:
        if verdict is None:
            return
        parts = (place,) if made is None else _compared(replace(place, new=made.new))
        self.states.update(dict.fromkeys(parts, verdict))
        if made is not None:
            self.edits[place] = parts

    def reopen(self, merged: Hunk | None, hunk: Hunk, words: str, *, written: bool) -> None:
        """Open a hunk for the lines as they are now.

        :param merged: it, for these lines.
        :param written: by the person.
        """
        if merged is not None and merged.old == merged.new:
            return  # the person made the change themselves
        clash = merged and next((one for one in self.reopened if one.clashes(merged)), None)
        if merged is None or (not written and _any_clash(merged, [*self.reopened, *self.again])):
            lost = TAKEN_OUT if written else MOVED_ON if words == AGAIN else LOST
            self.moved_on.append((hunk, lost))
        elif written and clash:  # two at one place, where no line of either is left
            del self.reopened[clash]
            self.reopened[replace(clash, new=clash.new + merged.new)] = words
        else:
            (self.reopened if written else self.again)[merged] = words


def _known(earlier: FileChange, decided: Decided, before: str, *, keep_open: bool) -> _Known:
    own = earlier.hunks
    decisions = dict.fromkeys(decided.accepted, True) | dict.fromkeys(decided.rejected, False)
    known = [(hunk, decisions.get(at), decided.edited.get(at), True) for at, hunk in enumerate(own)]
    known += [(hunk, True, None, False) for hunk in decided.added]
    known.sort(key=lambda one: _place(one[0]))
    hunks = [hunk for hunk, *_ in known]
    places: Sequence[Hunk | None] = hunks
    if before != earlier.before:
        places = rebase_each(hunks, earlier.before or "", before)
    now = TextNow(lines_of(earlier.before), lines_of(before))
    found, moved = _Known([], {}, [], {}, {}, {}), list[tuple[Hunk, bool | None]]()
    for (hunk, verdict, made, is_own), rebased in zip(known, places, strict=True):
        place = rebased or (None if verdict is None and made is None else now.place(hunk, made))
        if made is not None and (place is None or verdict is None):
            mine = now.merged(hunk, made) if place is None else replace(place, new=made.new)
            found.reopen(mine, now.moved(hunk), REOPENED if place is None else "", written=True)
        elif place is None and verdict is False and not hunk.old:
            found.states.update(dict.fromkeys(now.beside(hunk), False))
        elif place is None:
            moved.append((hunk, verdict))
        else:
            found.own.extend([place] if is_own else [])
            found.decide(place, verdict, made)
    # what the person wrote has its place before the others
    for hunk, verdict in sorted(moved, key=lambda one: not one[1]):
        if verdict is False:
            found.moved_on.append((now.moved(hunk), MOVED_ON))
        elif verdict or keep_open:
            words = AGAIN if verdict else STILL_OPEN
            found.reopen(now.merged(hunk, hunk), now.moved(hunk), words, written=False)
    return found
