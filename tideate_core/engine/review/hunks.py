"""Decisions on the hunks of a change, carried from one revision to the next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from tideate_core.workspace import (
    FileChange,
    Hunk,
    HunkIndex,
    apply_hunks,
    diff_lines,
    lines_of,
    matching_blocks,
    merge_text,
    rebase_each,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


class MadeHunks:
    """Hunks of a change, searchable for equal or clashing hunks."""

    def __init__(self, hunks: Iterable[Hunk]) -> None:
        self.hunks = [*hunks]
        self._index = HunkIndex(self.hunks)
        self._rows = dict[int, dict[str, list[int]]]()

    def clash(self, hunk: Hunk) -> bool:
        """Tell whether a hunk clashes with one of these."""
        return self._index.clashes(hunk)

    def make(self, hunk: Hunk) -> bool:
        """Tell whether one of these hunks contains a hunk at its edge."""
        return any(self._makes(number, hunk) for number in self._index.around(hunk))

    def _makes(self, number: int, inner: Hunk) -> bool:
        one = self.hunks[number]
        size, last = len(inner.new), len(one.new) - len(inner.new)
        at_edge = [at for at, edge in ((0, one.start == inner.start), (last, one.end == inner.end)) if edge]
        starts = at_edge or (self._starts(number, inner.new) if size else range(last + 1))
        return any(at >= 0 and one.new[at : at + size] == inner.new for at in starts)

    def _starts(self, number: int, lines: Sequence[str]) -> Iterator[int]:
        """Yield possible start positions of lines in a hunk, by its rarest line."""
        if number not in self._rows:
            rows = self._rows[number] = {}
            for row, line in enumerate(self.hunks[number].new):
                rows.setdefault(line, []).append(row)
        known = self._rows[number]
        offset = min(range(len(lines)), key=lambda at: len(known.get(lines[at], ())))
        return (row - offset for row in known.get(lines[offset], ()))


def place_of(hunk: Hunk) -> tuple[int, int]:
    """Return the sort key of a hunk."""
    return hunk.start, hunk.end


def hunks_by(change: FileChange, *known: Sequence[Hunk]) -> Sequence[Hunk]:
    """Return the hunks of a change, split like the known hunks that match it best.

    With repeated lines, a plain comparison could split the same change differently.
    """
    lines, after = lines_of(change.before), lines_of(change.after)
    found, least = change.hunks, _size(change.hunks)
    for hunks in known:
        applied = apply_hunks(lines, hunks)
        # no line and one empty line are the same text
        differing = diff_lines(applied, after) if "\n".join(applied) != change.after else []
        if (size := _size(differing)) >= least:
            continue
        made = _Composition(lines, sorted(hunks, key=place_of), applied).then(differing)
        same = "\n".join(apply_hunks(lines, made)) == change.after
        if same and not any(hunk.clashes(one) for hunk, one in pairwise(made)):
            found, least = made, size
    return found


def _size(hunks: Sequence[Hunk]) -> int:
    return sum(len(hunk.old) + len(hunk.new) for hunk in hunks)


@dataclass(slots=True)
class _Group:
    """Hunks of a second change, and the range of the first change's hunks that they touch."""

    then: list[Hunk]
    first: int
    end: int


class _Composition:
    """Composition of two changes, one after the other, into hunks of the original text.

    :param first: hunks of the first change, in order; the second change may leave some untouched.
    :param middle: the text after the first change.
    """

    def __init__(self, lines: Sequence[str], first: Sequence[Hunk], middle: Sequence[str]) -> None:
        self._lines, self._first, self._middle = lines, first, middle
        self._shifts = [0, *accumulate(len(hunk.new) - len(hunk.old) for hunk in first)]
        self._starts = [hunk.start + shift for hunk, shift in zip(first, self._shifts, strict=False)]
        self._ends = [start + len(hunk.new) for hunk, start in zip(first, self._starts, strict=True)]

    def then(self, hunks: Sequence[Hunk]) -> list[Hunk]:
        """Return the hunks of both changes together."""
        groups = list[_Group]()
        for hunk in hunks:
            low, high = bisect_left(self._ends, hunk.start), bisect_right(self._starts, hunk.end)
            if groups and low < min(high, groups[-1].end):
                groups[-1].then.append(hunk)
                groups[-1].end = high
            else:
                groups.append(_Group([hunk], low, high))
        gone = {one for group in groups for one in self._first[group.first : group.end]}
        made = [part for group in groups for part in self._parts(group)]
        return sorted([*(hunk for hunk in self._first if hunk not in gone), *made], key=place_of)

    def _parts(self, group: _Group) -> Iterator[Hunk]:
        """Yield the compared parts of hunks that touch each other."""
        low, high = group.then[0].start, group.then[-1].end
        start = low - self._shifts[bisect_left(self._ends, low)]
        if group.first < group.end:
            high = max(high, self._ends[group.end - 1])
            if self._starts[group.first] <= low:
                low, start = self._starts[group.first], self._first[group.first].start
        size = high - low - (self._shifts[group.end] - self._shifts[group.first])
        new = apply_hunks(
            self._middle[low:high], [replace(hunk, start=hunk.start - low) for hunk in group.then]
        )
        for part in diff_lines(self._lines[start : start + size], new):
            yield replace(part, start=part.start + start)


class TextNow:
    """Current text, in which hunks of an earlier text are located."""

    def __init__(self, before: Sequence[str], now: Sequence[str]) -> None:
        self._now = now
        changes = diff_lines(before, now) if before != now else []
        self._changes = [part for change in changes for part in _line_by_line(change)]
        self._starts = [one.start for one in self._changes]
        self._ends = [one.end for one in self._changes]
        self._shifts = [0, *accumulate(len(one.new) - len(one.old) for one in self._changes)]

    def place(self, hunk: Hunk, made: Hunk | None) -> Hunk | None:
        """Return a hunk at its current position; None if its lines are not there."""
        old = hunk.old if made is None else made.old
        start, end = self._edges(hunk)
        if not old or tuple(self._now[start:end]) != old:
            return None
        return replace(hunk, start=start, old=old)

    def moved(self, hunk: Hunk) -> Hunk:
        """Return a hunk without a position at the current line of its former lines."""
        return self.beside(hunk)[0]

    def beside(self, hunk: Hunk) -> list[Hunk]:
        """Return an insertion both above and below lines inserted at its position."""
        return [replace(hunk, start=start) for start in self._edges(hunk)]

    def merged(self, hunk: Hunk, made: Hunk) -> Hunk | None:
        """Return a hunk that the person wrote or accepted, merged with the current lines.

        Lines changed only in the text stay. If both made the same change, the result changes nothing.
        None if the hunk would delete lines written since.
        """
        start, end = self._edges(hunk)
        old = tuple(self._now[start:end])
        if start == end and self._straddled(hunk):
            return Hunk(end, (), made.new) if made.new else None
        if old == made.new:
            return Hunk(start, old, old)
        if not made.old:  # below lines inserted at its position
            return Hunk(end, (), made.new)
        if not old or not made.new:
            return None if old else Hunk(end, (), made.new)
        text = merge_text(*("\n".join(lines) for lines in (made.old, made.new, old)))
        if text is None:
            return Hunk(start, old, made.new, conflict=made is hunk)  # the person knows their own text
        return Hunk(start, old, tuple(text.split("\n")), conflict=hunk.conflict)

    def _straddled(self, hunk: Hunk) -> bool:
        """Tell whether a change of the text crosses the edge of a hunk."""
        near = slice(bisect_left(self._ends, hunk.start), bisect_right(self._starts, hunk.end))
        touched = (one for one in self._changes[near] if one.clashes(hunk))
        return any(one.start < hunk.start or hunk.end < one.end for one in touched)

    def _edges(self, hunk: Hunk) -> tuple[int, int]:
        """Return the current range of a hunk's own lines."""
        start, end = self._edge(hunk.start, below=True), self._edge(hunk.end, below=False)
        if start <= end:
            return start, end
        return (start, start) if self._straddled(hunk) else (end, start)  # lines inserted at its position

    def _edge(self, at: int, *, below: bool) -> int:
        """Return the current position of the edge between two lines.

        :param below: the edge below lines inserted or changed around it, instead of above.
        """
        passed = bisect_right(self._ends, at)
        if not below:
            passed = min(passed, bisect_left(self._starts, at))
        within = self._changes[passed : passed + 1]
        if within and within[0].start < at < within[0].end:
            return within[0].start + self._shifts[passed] + (len(within[0].new) if below else 0)
        return at + self._shifts[passed]


def _line_by_line(change: Hunk) -> Iterator[Hunk]:
    """Yield the parts of a change line by line if the lines correspond: same count, or only blanks differ."""
    old, new = ([line.strip() for line in lines] for lines in (change.old, change.new))
    i = j = 0
    for at, to, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if at - i != to - j:
            gone = [1] * (at - i) if to == j else [at - i]  # line by line if no line replaced them
            for count in gone:
                yield Hunk(change.start + i, change.old[i : i + count], change.new[j:to])
                i += count
            i, j = at, to
        for _ in range(at - i + size):
            if change.old[i] != change.new[j]:
                yield Hunk(change.start + i, (change.old[i],), (change.new[j],))
            i, j = i + 1, j + 1


REPLACED: Final = "the revision changes an accepted hunk; it is undecided again"
LEFT_OUT: Final = "the correction leaves out an accepted hunk"
STAYS: Final = "your text stays, and the revision's text is left out"
MOVED_ON: Final = "the text changed here, and your decision on the hunk no longer applies"
TAKEN_OUT: Final = "the text changed here, and the lines that you removed have changed: they stay"
CLASHES: Final = "another change replaces your text"
REOPENED: Final = "the text changed here, and your edit is undecided again for the current text"
AGAIN: Final = "the text changed here, and the accepted hunk is undecided again for the current text"
STILL_OPEN: Final = "the text changed here, and this hunk is undecided for the current text"
LOST: Final = "the text changed here, and an undecided hunk no longer applies"


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions on one change, by hunk index; a change other than `modify` counts as one hunk."""

    accepted: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()
    added: tuple[Hunk, ...] = ()
    """Accepted hunks of other compared runs."""
    edited: Mapping[int, Hunk] = field(default_factory=dict)
    """The person's edits of hunks they did not reject; `old` has the person's current lines."""

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
        """Return the accepted hunks of a change, with the person's edits."""
        own = ((hunks[at], self.edited.get(at, hunks[at])) for at in sorted(self.accepted))
        return [*(replace(hunk, new=made.new) for hunk, made in own), *self.added]


def file_name(change: FileChange) -> str:
    """Return the name of a change's file for messages."""
    return change.path or ("the new text" if change.is_of_no_file else "the buffer")


def hunk_count(change: FileChange) -> int:
    """Return the number of parts of a change that are decided separately."""
    return 1 if change.whole else len(change.hunks)


def reduced(change: FileChange, decided: Decided) -> FileChange | None:
    """Return the accepted part of a change; None if nothing was accepted."""
    if not decided.any_accepted:
        return None
    if change.whole or change.before is None:
        return replace(change, after="\n".join(decided.edited[0].new)) if decided.edited else change
    if len(decided.accepted) == hunk_count(change) and not (decided.added or decided.edited):
        return replace(change, parts=())
    lines, own = lines_of(change.before), change.hunks
    after = "\n".join(apply_hunks(lines, decided.taken(own)))
    # based on the person's lines: it conflicts if they changed since
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
    """Return a change of the next revision, its valid decisions, and messages about invalid ones.

    Text that the person wrote for an undecided hunk stays undecided and replaces the revision's text there.

    :param keep_accepted: accepted hunks stay if the revision leaves them out; text that the person wrote
        stays even if the revision has another text.
    :param keep_open: undecided hunks stay even if their lines changed, because no model revised them.
    """
    if change.whole or earlier.whole:
        words = AGAIN if keep_open else REPLACED
        return _carried_whole(earlier, decided, change, words, keep_accepted=keep_accepted)
    known = _known(earlier, decided, change.before or "", keep_open=keep_open)
    accepted = [hunk for hunk, kept in known.states.items() if kept]
    mine = [part for parts in known.edits.values() for part in parts]
    there, stays = _proposed(change, known, accepted, mine if keep_accepted else [])
    missing = [hunk for hunk in accepted if not there.make(hunk)]
    left_out = [hunk for hunk in missing if not there.clash(hunk)]
    # the person's lines inside a larger change of the model are in an undecided hunk
    as_accepted = {*there.hunks, *missing}
    opened = [hunk for hunk in missing if there.clash(hunk)]
    opened += [hunk for hunk in mine if hunk not in as_accepted]
    wanted = [*there.hunks, *(left_out if keep_accepted else [])]
    kept, again = known.opened_among(wanted, keep_accepted=keep_accepted)
    displaced = {hunk for hunk in wanted if known.reopened_at.clashes(hunk)}
    fallen = [f"{file_name(change)}:{hunk.start + 1}: {words}" for hunk, words in known.moved_on]
    fallen += _messages(change, [hunk for hunk in known.again if hunk not in again], MOVED_ON)
    fallen += _messages(change, [hunk for hunk in mine if hunk in displaced], CLASHES, displaced)
    fallen += _messages(change, stays, STAYS)
    for hunk, words in {**known.reopened, **again}.items():
        fallen += _messages(change, [hunk], words) if words else []
    unkept = {*mine}.difference(kept)
    fallen += _messages(change, opened, REPLACED, unkept)
    if not keep_accepted:
        fallen += _messages(change, left_out, LEFT_OUT, unkept)
    hunks = sorted(kept, key=place_of)
    after = "\n".join(apply_hunks(lines_of(change.before), hunks))
    change = replace(change, after=after, parts=tuple(hunks))
    verdict = Decided(
        frozenset(at for at, hunk in enumerate(hunks) if known.states.get(hunk) is True),
        frozenset(at for at, hunk in enumerate(hunks) if known.states.get(hunk) is False),
    )
    return change, verdict, fallen


def _proposed(
    change: FileChange, known: _Known, accepted: Sequence[Hunk], mine: Sequence[Hunk]
) -> tuple[MadeHunks, list[Hunk]]:
    """Return the hunks of a change merged with the person's, and the person's hunks that it contradicts.

    :param mine: hunks that the person wrote and that stay.
    """
    proposed = [part for hunk in hunks_by(change, known.own, accepted) for part in known.parts(hunk)]
    made = MadeHunks(proposed)
    stays = [hunk for hunk in mine if not made.make(hunk) and made.clash(hunk)]
    staying = HunkIndex(stays)
    return MadeHunks([*stays, *(hunk for hunk in proposed if not staying.clashes(hunk))]), stays


def _carried_whole(
    earlier: FileChange, decided: Decided, change: FileChange, words: str, *, keep_accepted: bool
) -> tuple[FileChange, Decided, list[str]]:
    """Carry the decision on a change that is decided as a whole.

    :param words: message that an accepted change is undecided again.
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


def _compared(hunk: Hunk) -> tuple[Hunk, ...]:
    """Return the parts of a hunk that a line comparison finds."""
    parts = diff_lines(hunk.old, hunk.new)
    return tuple(replace(part, start=hunk.start + part.start) for part in parts)


def _messages(
    change: FileChange, hunks: Sequence[Hunk], words: str, typed: Collection[Hunk] = ()
) -> list[str]:
    """Return a message for each hunk, followed by its text if the person typed it."""
    return [
        "\n".join([f"{file_name(change)}:{hunk.start + 1}: {words}", *(hunk.new if hunk in typed else ())])
        for hunk in hunks
    ]


@dataclass(frozen=True, slots=True)
class _Known:
    """Hunks of an earlier revision, located in a text; undecided ones have no state."""

    own: list[Hunk]
    states: dict[Hunk, bool]
    """Accepted or rejected, by hunk; an edited hunk is listed by the parts of the edit."""
    moved_on: list[tuple[Hunk, str]]
    """Hunks that no longer apply, with their messages."""
    reopened: dict[Hunk, str]
    """Text that the person wrote for undecided hunks, with the message if their lines changed."""
    again: dict[Hunk, str]
    """Other hunks whose lines changed, rebased on the current lines."""
    edits: dict[Hunk, tuple[Hunk, ...]]
    reopened_at: HunkIndex
    again_at: HunkIndex

    def parts(self, hunk: Hunk) -> tuple[Hunk, ...]:
        """Return the person's edit of a hunk; without one, the hunk."""
        return self.edits.get(hunk, (hunk,))

    def opened_among(
        self, wanted: Sequence[Hunk], *, keep_accepted: bool
    ) -> tuple[list[Hunk], dict[Hunk, str]]:
        """Return hunks together with the reopened ones, and the entries of `again` among them.

        :param wanted: hunks to keep, unless they clash with text that the person wrote.
        """
        kept = [*(hunk for hunk in wanted if not self.reopened_at.clashes(hunk)), *self.reopened]
        known, taken = {*kept}, HunkIndex(kept)
        again = {
            hunk: words
            for hunk, words in self.again.items()
            if hunk in known or (keep_accepted and not taken.clashes(hunk))
        }
        return [*kept, *(hunk for hunk in again if hunk not in known)], again

    def decide(self, place: Hunk, verdict: bool | None, made: Hunk | None) -> None:
        if verdict is None:
            return
        parts = (place,) if made is None else _compared(replace(place, new=made.new))
        self.states.update(dict.fromkeys(parts, verdict))
        if made is not None:
            self.edits[place] = parts

    def reopen(self, merged: Hunk | None, hunk: Hunk, words: str, *, written: bool) -> None:
        """Reopen a hunk for the current lines.

        :param merged: the hunk for these lines; None if it no longer applies.
        :param written: the person wrote it.
        """
        if merged is not None and merged.old == merged.new:
            return  # the person made the change themselves
        clash = None if merged is None else self.reopened_at.first_clash(merged)
        if merged is None or (not written and (clash is not None or self.again_at.clashes(merged))):
            lost = TAKEN_OUT if written else MOVED_ON if words == AGAIN else LOST
            self.moved_on.append((hunk, lost))
        elif not written:
            self.again[merged] = words
            self.again_at.add(merged)
        else:
            if clash is not None:  # two at one position: no line of either is left
                earlier = self.reopened_at.remove(clash)
                del self.reopened[earlier]
                merged = replace(earlier, new=earlier.new + merged.new)
            self.reopened[merged] = words
            self.reopened_at.add(merged)


def _known(earlier: FileChange, decided: Decided, before: str, *, keep_open: bool) -> _Known:
    own = earlier.hunks
    decisions = dict.fromkeys(decided.accepted, True) | dict.fromkeys(decided.rejected, False)
    known = [(hunk, decisions.get(at), decided.edited.get(at), True) for at, hunk in enumerate(own)]
    known += [(hunk, True, None, False) for hunk in decided.added]
    known.sort(key=lambda one: place_of(one[0]))
    hunks = [hunk for hunk, *_ in known]
    places: Sequence[Hunk | None] = hunks
    if before != earlier.before:
        places = rebase_each(hunks, earlier.before or "", before)
    now = TextNow(lines_of(earlier.before), lines_of(before))
    found, moved = _Known([], {}, [], {}, {}, {}, HunkIndex(), HunkIndex()), list[tuple[Hunk, bool | None]]()
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
    # text that the person wrote is placed before other hunks
    for hunk, verdict in sorted(moved, key=lambda one: not one[1]):
        if verdict is False:
            found.moved_on.append((now.moved(hunk), MOVED_ON))
        elif verdict or keep_open:
            words = AGAIN if verdict else STILL_OPEN
            found.reopen(now.merged(hunk, hunk), now.moved(hunk), words, written=False)
    return found
