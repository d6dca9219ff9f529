"""File changes as data: line hunks that can be applied, rebased, merged, indexed and shown as diffs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.errors import EditConflict
from tideate_core.workspace.diff import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tideate_core.workspace.file_images import FileImage


Action = Literal["create", "modify", "delete", "move"]
CONTEXT: Final = 3
"""Unchanged lines shown around a hunk."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Replacement of the lines `old` by `new`, from line `start` (0-based). Lines have no line ends."""

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    conflict: bool = field(default=False, compare=False)
    """True if both sides of a merge changed these lines; the hunk can only be accepted by itself."""

    @property
    def end(self) -> int:
        """Line after the last replaced one; equal to `start` for an insertion."""
        return self.start + len(self.old)

    def clashes(self, other: Hunk) -> bool:
        """Return whether both hunks replace the same line or insert at the same place."""
        both_insert = self.start == self.end == other.start == other.end
        return both_insert or (self.start < other.end and other.start < self.end)

    def as_json(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"start": self.start, "old": list(self.old), "new": list(self.new)}
        return {**shape, "conflict": True} if self.conflict else shape


@dataclass(frozen=True, slots=True)
class FileChange:
    """Requested change of one file or buffer.

    `before` and `after` are whole texts with ``\\n`` line ends, without a buffer's `fileformat` and last line
    end. None means that the file does not exist on that side.
    """

    path: str
    """Relative to the root, with ``/``; empty for an unnamed buffer."""
    action: Action
    before: str | None
    after: str | None
    move_to: str | None = None
    buffer: int | None = None
    """Buffer number in the editor; None for a file on disk."""
    tick: int | None = None
    """`changedtick` of the buffer when `before` was read."""
    filetype: str = ""
    """Filetype in the editor; empty if only the path tells the language."""
    images: tuple[FileImage, FileImage] | None = None
    """Byte-exact images of both sides, for binaries, links, modes and whole files. Such a change is applied
    as a
    whole, and only if the path still holds the first image."""
    exact: bool = False
    """The texts are the exact bytes of the file, including the last line end and each ``\\r``."""

    conflict: bool = False
    """True if both sides of a merge changed the file, so that it is accepted or rejected as a whole."""
    parts: tuple[Hunk, ...] = field(default=(), compare=False)
    """Hunks fixed by earlier decisions; a new comparison could split repeated lines differently."""

    @property
    def whole(self) -> bool:
        """The change cannot be split into hunks."""
        return self.action != "modify" or self.images is not None

    @property
    def is_of_no_file(self) -> bool:
        """The change is a text for a new unnamed buffer."""
        return self.path == "" and self.buffer is None

    @property
    def is_of_mode(self) -> bool:
        """Only the permissions of the file change."""
        if self.images is None or self.action != "modify":
            return False
        before, after = (image.state for image in self.images)
        return before.kind == "file" and before.holds_same_as(after)

    @property
    def changes_something(self) -> bool:
        return self.whole or self.before != self.after

    @property
    def hunks(self) -> list[Hunk]:
        return list(self.parts or _hunks(self.before, self.after))

    @property
    def conflicts(self) -> frozenset[int]:
        """Indexes of the separately decided parts that conflict with the other side of a merge."""
        if self.whole:
            return frozenset({0} if self.conflict else ())
        return frozenset(at for at, hunk in enumerate(self.hunks) if hunk.conflict)


@dataclass(frozen=True, slots=True)
class OutsideChanges:
    """Changes made outside of a run; paths are relative to the root."""

    files: dict[str, tuple[FileImage, FileImage]] = field(default_factory=dict)
    """Images before and after, of files and links."""
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Permission bits before and after, of files and directories that still exist."""
    made: list[str] = field(default_factory=list)
    """Created directories, outer ones first."""
    removed: dict[str, int] = field(default_factory=dict)
    """Removed directories and their permission bits, outer ones first."""

    def __bool__(self) -> bool:
        return bool(self.files or self.modes or self.made or self.removed)


@lru_cache(maxsize=8)
def _hunks(before: str | None, after: str | None) -> tuple[Hunk, ...]:
    """Compare two texts; cached, because the review, its question and the write all ask."""
    return tuple(diff_lines(lines_of(before), lines_of(after)))


def lines_of(text: str | None) -> list[str]:
    """Split a text as an editor does: an empty text is one empty line, None is no line."""
    return [] if text is None else text.split("\n")


def diff_lines(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return ordered, non-overlapping hunks that turn `old` into `new`."""
    hunks: list[Hunk] = []
    i = j = 0
    for at, to, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if i < at or j < to:
            hunks.append(Hunk(i, tuple(old[i:at]), tuple(new[j:to])))
        i, j = at + size, to + size
    return hunks


def apply_hunks(
    lines: Sequence[str], hunks: Sequence[Hunk], accepted: Collection[int] | None = None
) -> list[str]:
    """Return the lines with the hunks applied.

    :param accepted: 0-based indexes into `hunks`; None accepts all.
    :raises EditConflict: the old lines of a hunk are not at its place, or two hunks overlap.
    """
    taken = [hunk for index, hunk in enumerate(hunks) if accepted is None or index in accepted]
    result: list[str] = []
    at = 0
    for hunk in sorted(taken, key=lambda hunk: (hunk.start, hunk.end)):
        if hunk.start < at or tuple(lines[hunk.start : hunk.end]) != hunk.old or hunk.start > len(lines):
            raise EditConflict(f"the text at line {hunk.start + 1} is not what the edit was made for")
        result.extend(lines[at : hunk.start])
        result.extend(hunk.new)
        at = hunk.end
    result.extend(lines[at:])
    return result


def rebase(hunks: Sequence[Hunk], base_text: str, current_text: str) -> list[Hunk] | None:
    """Move hunks made for `base_text` to their places in `current_text`.

    :returns: None if `current_text` changed a replaced line or inserts at the same place.
    """
    ordered = sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))
    moved = [hunk for hunk in rebase_each(ordered, base_text, current_text) if hunk is not None]
    return moved if len(moved) == len(ordered) else None


def rebase_each(hunks: Sequence[Hunk], base_text: str, current_text: str) -> list[Hunk | None]:
    """Move each hunk to its place in `current_text`; None for each conflicting one.

    :param hunks: made for `base_text`, in order.
    """
    placed = _located(hunks, base_text, current_text)
    return [None if clash else replace(hunk, start=start) for hunk, start, clash in placed]


def first_clash(hunks: Sequence[Hunk], base_text: str, current_text: str) -> int | None:
    """Return the 1-based line of `current_text` at which `rebase` finds a conflict, or None."""
    ordered = sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))
    placed = _located(ordered, base_text, current_text)
    return next((start + 1 for _, start, clash in placed if clash), None)


def _located(hunks: Sequence[Hunk], base_text: str, current_text: str) -> Iterator[tuple[Hunk, int, bool]]:
    """Yield each hunk, its start in `current_text`, and whether it conflicts with a change there."""
    theirs = diff_lines(lines_of(base_text), lines_of(current_text))
    passed = shift = 0
    for hunk in hunks:
        while passed < len(theirs) and _precedes(theirs[passed], hunk):
            shift += len(theirs[passed].new) - len(theirs[passed].old)
            passed += 1
        clash = passed < len(theirs) and theirs[passed].clashes(hunk)
        yield hunk, hunk.start + shift, clash


def _precedes(their: Hunk, hunk: Hunk) -> bool:
    both_insert = their.start == their.end == hunk.start == hunk.end
    return their.end <= hunk.start and not both_insert


def merge_text(base: str, theirs: str, ours: str) -> str | None:
    """Merge the changes of `theirs` and `ours` to `base`.

    A change in both is applied once. Lines end with ``\\n``; a ``\\r`` before it is part of the line.

    :returns: None if changes touch each other, or could touch each other at an equivalent place.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    lines = lines_of(base)
    own_hunks = diff_lines(lines, lines_of(ours))
    own = [_Movable.of(hunk, lines) for hunk in own_hunks]
    their = [_Movable.of(hunk, lines) for hunk in diff_lines(lines, lines_of(theirs))]
    if _any_touches(own, their) or _any_touches(their, own):
        return None
    added = [hunk for hunk, movable in zip(own_hunks, own, strict=True) if movable not in their]
    return "\n".join(apply_hunks(lines, [*added, *(movable.highest for movable in their)]))


def merge_hunks(base: str, theirs: str, ours: str) -> list[Hunk]:
    """Merge the changes from `base` to `ours` into `theirs`, as ordered hunks of `theirs`.

    A change in both is left out. A conflict hunk replaces the other side's lines, except that lines inserted
    at the same place follow the other side's. A hunk is also a conflict if equal lines around it allow
    another place that touches a change of the other side.
    """
    lines, now = lines_of(base), lines_of(theirs)
    their = [_Movable.of(hunk, lines) for hunk in diff_lines(lines, now)]
    same = {*their}
    own = [one for hunk in diff_lines(lines, lines_of(ours)) if (one := _Movable.of(hunk, lines)) not in same]
    their_hunks = [one.hunk for one in their]
    index, near = HunkIndex(their_hunks), _Nearness(their)
    groups: list[tuple[list[Hunk], list[int], bool]] = []
    for one in own:
        numbers = index.all_clashes(one.hunk)
        if numbers and groups and groups[-1][1][-1:] == numbers[:1]:
            groups[-1][0].append(one.hunk)
            groups[-1][1].extend(numbers[1:])
        else:
            groups.append(([one.hunk], numbers, bool(numbers) or near.touches(one)))
    made: list[Hunk] = []
    passed = shift = 0
    for hunks, numbers, conflict in groups:
        first = numbers[0] if numbers else None
        while passed < len(their_hunks) and passed != first and _precedes(their_hunks[passed], hunks[0]):
            shift += len(their_hunks[passed].new) - len(their_hunks[passed].old)
            passed += 1
        if first is None:
            made.append(replace(hunks[0], start=hunks[0].start + shift, conflict=conflict))
        else:
            clashing = [their_hunks[number] for number in numbers]
            made += _conflicting(lines, now, hunks, clashing, shift)
    return _joined(made)


def _conflicting(
    lines: Sequence[str], now: Sequence[str], own: Sequence[Hunk], their: Sequence[Hunk], shift: int
) -> list[Hunk]:
    """Return the conflict hunk of clashing hunks; none if both sides have the same lines.

    :param shift: offset of line numbers from the base to the other side's text.
    """
    start, end = min(own[0].start, their[0].start), max(own[-1].end, their[-1].end)
    grown = sum(len(hunk.new) - len(hunk.old) for hunk in their)
    old = list(now[start + shift : end + shift + grown])
    new = apply_hunks(lines[start:end], [replace(hunk, start=hunk.start - start) for hunk in own])
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    at = start + shift + first
    if start == end:  # both insert: the other side's lines stay
        at, old = at + len(old), []
    return [Hunk(at, tuple(old), tuple(new), conflict=True)] if old or new else []


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (line, same) in enumerate(pairs) if line != same), min(len(one), len(other)))


def _joined(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Join hunks without a line between them, if both conflict, neither does, or both insert."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last is not None and last.end == hunk.start:
            conflict = last.conflict or hunk.conflict
            if last.conflict == hunk.conflict or last.clashes(hunk):
                joined[-1] = Hunk(last.start, last.old + hunk.old, last.new + hunk.new, conflict=conflict)
                continue
        joined.append(hunk)
    return [hunk for hunk in joined if hunk.old != hunk.new]


class _Nearness:
    """Places between lines that the hunks of one side touch, or could touch elsewhere between equal lines."""

    def __init__(self, hunks: Iterable[_Movable]) -> None:
        self._all: set[int] = set()
        self._possible: set[int] = set()
        for one in hunks:
            self._all.update(one.places)
            if not one.is_fixed:
                self._possible.update(one.places)

    def touches(self, hunk: _Movable) -> bool:
        """Return whether a hunk touches one of these places, directly or at an equivalent place."""
        return not (self._possible if hunk.is_fixed else self._all).isdisjoint(hunk.places)


def _any_touches(hunks: Collection[_Movable], others: Collection[_Movable]) -> bool:
    """Return whether a hunk that is not in `others` touches one of `others`."""
    return any(hunk.touches(other) for hunk in hunks if hunk not in others for other in others)


def merge_bytes(base: bytes, theirs: bytes, ours: bytes) -> bytes | None:
    """Merge like `merge_text`, byte for byte, in any ASCII-compatible encoding.

    :returns: None also for binaries, unless only one side changed.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    if any(b"\0" in data for data in (base, theirs, ours)):
        return None
    # one character per byte, so that bytes that are not UTF-8 survive
    merged = merge_text(*(data.decode("latin-1") for data in (base, theirs, ours)))
    return None if merged is None else merged.encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Movable:
    """A hunk that gives the same text at several places between equal lines."""

    hunk: Hunk = field(compare=False)
    highest: Hunk
    last_end: int
    """End of the hunk at its lowest place."""

    @classmethod
    def of(cls, hunk: Hunk, lines: Sequence[str]) -> _Movable:
        moved = hunk.new if not hunk.old else hunk.old
        if hunk.old and hunk.new:
            return cls(hunk, hunk, hunk.end)
        start, end, size = hunk.start, hunk.end, len(moved)
        # each line up or down rotates the block by one line
        up = 0
        while start - up > 0 and lines[start - up - 1] == moved[-1 - up % size]:
            up += 1
        down = 0
        while end + down < len(lines) and lines[end + down] == moved[down % size]:
            down += 1
        turn = up % size
        turned = (*moved[size - turn :], *moved[: size - turn])
        highest = Hunk(start - up, turned if hunk.old else (), () if hunk.old else turned)
        return cls(hunk, highest, end + down)

    @property
    def is_fixed(self) -> bool:
        """True if no other place gives the same text."""
        return self.highest.start == self.hunk.start and self.last_end == self.hunk.end

    @property
    def places(self) -> range:
        """Places between lines, from the highest start to the lowest end."""
        return range(self.highest.start, self.last_end + 1)

    def touches(self, other: _Movable) -> bool:
        return self.highest.start <= other.last_end and other.highest.start <= self.last_end


def unified_diff(change: FileChange, context: int = CONTEXT) -> str:
    """Return the change as a git patch; empty if there is no change.

    :param context: unchanged lines shown around a hunk.
    """
    # a file without lines has no lines to show, although an editor shows one empty line
    old = [] if change.after is None and not change.before else lines_of(change.before)
    new = [] if change.before is None and not change.after else lines_of(change.after)
    groups = _grouped(diff_lines(old, new), context)
    if not groups and not change.whole:
        return ""
    return "\n".join([*_header(change, bool(groups)), *_patched(groups, old, context)]) + "\n"


def hunk_diff(lines: Sequence[str], hunk: Hunk) -> str:
    """Return the git hunks of one change, starting with `@@`; empty if there is no difference.

    Only the lines of the hunk are compared.

    :param lines: of the whole text.
    """
    inner = diff_lines(hunk.old, hunk.new)
    placed = [replace(one, start=hunk.start + one.start) for one in inner]
    return "\n".join(_patched(_grouped(placed, CONTEXT), lines, CONTEXT))


def _header(change: FileChange, has_hunks: bool) -> list[str]:
    source, target = f"a/{change.path}", f"b/{change.move_to or change.path}"
    header = [f"diff --git {source} {target}"]
    modes = [_git_mode(image) for image in change.images or ()] or ["100644"] * 2
    if change.action == "create":
        header.append(f"new file mode {modes[1]}")
        source = "/dev/null"
    elif change.action == "delete":
        header.append(f"deleted file mode {modes[0]}")
        target = "/dev/null"
    elif modes[0] != modes[1]:
        header += [f"old mode {modes[0]}", f"new mode {modes[1]}"]
    if change.action == "move":
        header += [f"rename from {change.path}", f"rename to {change.move_to}"]
    return [*header, f"--- {source}", f"+++ {target}"] if has_hunks else header


def _git_mode(image: FileImage) -> str:
    if image.state.kind == "link":
        return "120000"
    return "100755" if image.state.mode & 0o100 else "100644"


def _grouped(hunks: list[Hunk], context: int) -> list[list[Hunk]]:
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        if groups and hunk.start - groups[-1][-1].end <= 2 * context:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return groups


def _patched(groups: Iterable[list[Hunk]], old: Sequence[str], context: int) -> list[str]:
    parts: list[str] = []
    shift = 0
    for group in groups:
        parts += _group(group, old, context, shift)
        shift += sum(len(hunk.new) - len(hunk.old) for hunk in group)
    return parts


def _group(group: list[Hunk], old: Sequence[str], context: int, shift: int) -> list[str]:
    first = max(0, group[0].start - context)
    last = min(len(old), group[-1].end + context)
    body: list[str] = []
    at = first
    for hunk in group:
        body += [f" {line}" for line in old[at : hunk.start]]
        body += [f"-{line}" for line in hunk.old]
        body += [f"+{line}" for line in hunk.new]
        at = hunk.end
    body += [f" {line}" for line in old[at:last]]
    added = sum(line[0] == "+" for line in body)
    removed = sum(line[0] == "-" for line in body)
    sides = _range(first, len(body) - added), _range(first + shift, len(body) - removed)
    return [f"@@ -{sides[0]} +{sides[1]} @@", *body]


def _range(first: int, count: int) -> str:
    # an empty range names the line before it
    return f"{first + 1 if count else first},{count}"


class HunkIndex:
    """Hunks of one text, numbered in the order of their addition."""

    def __init__(self, hunks: Iterable[Hunk] = ()) -> None:
        self._hunks: dict[int, Hunk] = {}
        self._owners: dict[int, list[int]] = {}
        self._added = 0
        for hunk in hunks:
            self.add(hunk)

    def add(self, hunk: Hunk) -> int:
        """Add a hunk, conflicting or not, and return its number."""
        self._hunks[self._added] = hunk
        for place in _places(hunk):
            self._owners.setdefault(place, []).append(self._added)
        self._added += 1
        return self._added - 1

    def remove(self, number: int) -> Hunk:
        """Remove a hunk and return it."""
        hunk = self._hunks.pop(number)
        for place in _places(hunk):
            self._owners[place].remove(number)
            if not self._owners[place]:
                del self._owners[place]
        return hunk

    def clashes(self, hunk: Hunk) -> bool:
        """Return whether a hunk conflicts with an indexed one."""
        return not self._owners.keys().isdisjoint(_places(hunk))

    def first_clash(self, hunk: Hunk) -> int | None:
        """Return the lowest number of a conflicting hunk."""
        return min(self.all_clashes(hunk), default=None)

    def all_clashes(self, hunk: Hunk) -> list[int]:
        """Return the numbers of all conflicting hunks."""
        return sorted({number for place in _places(hunk) for number in self._owners.get(place, ())})

    def around(self, hunk: Hunk) -> list[int]:
        """Return the numbers of the hunks that contain a hunk or that it inserts next to."""
        beside = range(2 * hunk.start - 1, 2 * hunk.start + 2)
        found = {number for place in beside for number in self._owners.get(place, ())}
        return sorted(
            number
            for number in found
            if self._hunks[number].start <= hunk.start and hunk.end <= self._hunks[number].end
        )


def _places(hunk: Hunk) -> range:
    """Return the places that a hunk covers: odd numbers for lines, even ones for the gaps between.

    Two hunks conflict exactly if they share a place.
    """
    return range(2 * hunk.start + 1, 2 * hunk.end) if hunk.old else range(2 * hunk.start, 2 * hunk.start + 1)
