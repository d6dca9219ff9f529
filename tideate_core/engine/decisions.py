"""Decisions on the hunks of a change: what they keep of it, and which of them hold in its next revision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.composed_hunks import MadeHunks, hunks_by, place_of
from tideate_core.engine.moved_hunks import TextNow
from tideate_core.workspace import (
    FileChange,
    Hunk,
    HunkIndex,
    apply_hunks,
    diff_lines,
    lines_of,
    rebase_each,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    mine = [part for parts in known.edits.values() for part in parts]
    there, stays = _proposed(change, known, accepted, mine if keep_accepted else [])
    missing = [hunk for hunk in accepted if not there.make(hunk)]
    left_out = [hunk for hunk in missing if not there.clash(hunk)]
    # lines of the person's that the model wrote more around are in an open hunk
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
    """Return the hunks of a change with what stays of the person's own, and those for which it has others.

    :param mine: what stays.
    """
    proposed = [part for hunk in hunks_by(change, known.own, accepted) for part in known.parts(hunk)]
    made = MadeHunks(proposed)
    stays = [hunk for hunk in mine if not made.make(hunk) and made.clash(hunk)]
    staying = HunkIndex(stays)
    return MadeHunks([*stays, *(hunk for hunk in proposed if not staying.clashes(hunk))]), stays


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


def _compared(hunk: Hunk) -> tuple[Hunk, ...]:
    """Return the hunks that the comparison finds in one."""
    parts = diff_lines(hunk.old, hunk.new)
    return tuple(replace(part, start=hunk.start + part.start) for part in parts)


def _messages(
    change: FileChange, hunks: Sequence[Hunk], words: str, typed: Collection[Hunk] = ()
) -> list[str]:
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
    reopened_at: HunkIndex
    again_at: HunkIndex

    def parts(self, hunk: Hunk) -> tuple[Hunk, ...]:
        """Return what the person made of a hunk, else the hunk."""
        return self.edits.get(hunk, (hunk,))

    def opened_among(
        self, wanted: Sequence[Hunk], *, keep_accepted: bool
    ) -> tuple[list[Hunk], dict[Hunk, str]]:
        """Return hunks with those that are open again, and which of `again` are among these.

        :param wanted: of these, what the person wrote takes the place of those that it clashes with.
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
        """Open a hunk for the lines as they are now.

        :param merged: it, for these lines.
        :param written: by the person.
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
            if clash is not None:  # two at one place, where no line of either is left
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
    # what the person wrote has its place before the others
    for hunk, verdict in sorted(moved, key=lambda one: not one[1]):
        if verdict is False:
            found.moved_on.append((now.moved(hunk), MOVED_ON))
        elif verdict or keep_open:
            words = AGAIN if verdict else STILL_OPEN
            found.reopen(now.merged(hunk, hunk), now.moved(hunk), words, written=False)
    return found
