"""Model of a review of several files, for random walks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.engine import KeptReview

__all__ = [
    "ALL",
    "CLOSED",
    "CREATED",
    "DELETED",
    "FILES",
    "OPENED",
    "UNITS",
    "Model",
    "Unit",
    "as_kept",
    "units_of",
    "without_reason",
]

OPENED, CLOSED, CREATED, DELETED = FILES = ("a.txt", "b.txt", "new.txt", "old.txt")
COUNTS = (8, 4, 1, 1)
UNITS = [(path, hunk) for path, count in zip(FILES, COUNTS, strict=True) for hunk in range(count)]
"""Of the review, in its order: file and hunk."""
ALL = len(UNITS)
"""The index of what is said of all of it, behind the units."""


@dataclass(frozen=True)
class Unit:
    """A visible hunk, a whole file, or the comments on everything."""

    state: str = "open"
    comment: str = ""
    because: bool = False
    edit: tuple[str, str] | None = None
    """The line that stood there, and what the person wrote in place of the proposed one."""


def without_reason(unit: Unit) -> Unit:
    return replace(unit, comment="", because=False) if unit.because else unit


Lines = list[tuple[int | None, str]]
"""Lines of a text, each with the unit that is about it."""


@dataclass
class Model:
    """Decisions, and the texts that only the person changes."""

    lines: Lines = field(default_factory=list)
    """Of the file that is open."""
    closed: Lines = field(default_factory=list)
    """Of the one that is not."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    past: list[dict[int, Unit]] = field(default_factory=list)
    future: list[dict[int, Unit]] = field(default_factory=list)
    undo: list[Lines] = field(default_factory=list)

    @classmethod
    def first(cls) -> Model:
        """Return the model of texts in which every fifth line is to be changed."""
        opened, closed = units_of(OPENED), units_of(CLOSED)
        model = cls(spread(opened, "line"), spread(closed, "row"))
        model.old = [""] * ALL
        model.new = [""] * ALL
        return model

    def text(self) -> str:
        return "".join(f"{text}\n" for _, text in self.lines)

    def row(self, at: int) -> int:
        """Return the row of the line that a unit is about, 0 for a whole file."""
        return next((row for row, (of, _) in enumerate(self.lines_with(at)) if of == at), 0)

    def lines_with(self, at: int) -> Lines:
        return {OPENED: self.lines, CLOSED: self.closed}.get(UNITS[at][0], [])

    def now(self, at: int) -> str:
        """Return the line that a unit is about, as it stands; empty for a whole file."""
        lines = self.lines_with(at)
        return lines[self.row(at)][1] if lines else ""

    def stale(self, at: int) -> bool:
        """Tell whether the person changed a line in the buffer: on the disk the review does not look."""
        edit = self.units[at].edit
        return UNITS[at][0] == OPENED and self.now(at) != (edit[0] if edit else self.old[at])

    def change(self, wanted: dict[int, Unit]) -> None:
        if wanted:
            self.past.append({at: self.units[at] for at in wanted})
            self.future.clear()
            for at, unit in wanted.items():
                self.units[at] = unit

    def travel(self, source: list[dict[int, Unit]], target: list[dict[int, Unit]]) -> None:
        if source:
            step = source.pop()
            target.append({at: self.units[at] for at in step})
            for at, unit in step.items():
                self.units[at] = unit

    def decide(self, among: Iterable[int], state: str) -> None:
        """Decide several units at once: the open ones, or reopen the others."""
        units = {at: self.units[at] for at in among}
        if state == "open":
            wanted = {at: without_reason(unit) for at, unit in units.items() if unit.state != "open"}
        else:
            wanted = {at: unit for at, unit in units.items() if unit.state == "open"}
        if state == "accepted":
            wanted = {at: unit for at, unit in wanted.items() if not self.stale(at)}
        self.change({at: replace(unit, state=state) for at, unit in wanted.items()})

    def of(self, state: str) -> list[int]:
        return [at for at in range(ALL) if self.units[at].state == state]

    def comments(self) -> list[dict[str, Any]]:
        about = [
            {"path": path, "hunk": hunk, "text": unit.comment}
            for (path, hunk), unit in zip(UNITS, self.units, strict=False)
            if unit.comment
        ]
        said = self.units[ALL].comment
        return [*([{"text": said}] if said else []), *about]

    def summary(self) -> str:
        parts = [f"{len(self.of(name))} {name}" for name in ("accepted", "rejected", "open") if self.of(name)]
        count = len(self.comments())
        words = f" · {count} comment{'' if count == 1 else 's'}" if count else ""
        return f"{ALL} hunks: {', '.join(parts)}{words}"

    def answer(self) -> list[dict[str, Any]]:
        """Return the expected answer of a front end about the files."""
        found = []
        for path in FILES:
            units = {at: self.units[at] for at in units_of(path)}
            file: dict[str, Any] = {
                "path": path,
                **{
                    state: [UNITS[at][1] for at, unit in units.items() if unit.state == state]
                    for state in ("accepted", "rejected")
                },
            }
            edited = [
                {
                    "hunk": UNITS[at][1],
                    "old": [unit.edit[0]] if UNITS[at][0] != CREATED else [],
                    "new": [unit.edit[1]],
                }
                for at, unit in units.items()
                if unit.edit and unit.state != "rejected"
            ]
            found.append({**file, "edited": edited} if edited else file)
        return found

    def kept(self) -> list[Kept]:
        """Return the state of each unit, and of the whole, that the next Neovim and the shell must find."""
        return [
            Kept(unit.state, unit.comment, unit.edit[1] if unit.edit and unit.state != "rejected" else None)
            for unit in self.units
        ]


class Kept(NamedTuple):
    state: str
    comment: str
    edit: str | None


def as_kept(first: Iterable[Unit], review: KeptReview) -> list[Kept]:
    """Return the final decisions of a round.

    :param first: what was decided when it began.
    """
    said = {(file, hunk): text for file, hunk, text in review.comments}
    found = []
    for unit, place in zip(first, [*map(place_of, UNITS), (None, None)], strict=True):
        file, hunk = place
        states = {"open": review.open, "accepted": review.accepted, "rejected": review.rejected}
        state = next(
            (name for name, kept in states.items() if file is not None and hunk in kept.get(file, ())),
            unit.state,
        )
        edit = review.edited.get(file, {}).get(hunk) if file is not None and hunk is not None else None
        found.append(Kept(state, said.get(place, ""), edit["new"][0] if edit else None))
    return found


def place_of(unit: tuple[str, int]) -> tuple[int, int]:
    return FILES.index(unit[0]), unit[1]


def units_of(path: str) -> list[int]:
    return [at for at, (name, _) in enumerate(UNITS) if name == path]


def spread(units: list[int], word: str) -> Lines:
    """Return a text with five lines for each unit; the third is the unit's."""
    return [(units[row // 5] if row % 5 == 2 else None, f"{word} {row:02}") for row in range(len(units) * 5)]
