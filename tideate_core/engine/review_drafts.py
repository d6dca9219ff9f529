"""Drafts of answers: what the person did so far about a review, a plan or a document, kept over the end of an
editor or a shell.

A front end appends to the file of a question as the person decides, and reads it when the question is asked
again. It is gone when the run completes or is pruned. A line is a step, as JSON:

- `{"of": [[path, [unit, …]], …]}`, the first line, the engine's: the files and hunks that the numbers below
  mean. Where a question is asked again about other changes, the steps are renumbered: what is as it was keeps
  its decision, and what is not is open.
- `{"v": 1, "by": PID}`: the process whose review it is from there on; of the shell with `"in": "shell"`.
- `{"decided": [[file, hunk, state, comment, taken?, edit?], …]}`: decisions that were made together. Numbers
  begin at 1; file 0 is all of the change, hunk 0 is where only another compared run changes something. A
  state is its first letter; `taken` is a hunk of another run. `edit` are the lines that the person wrote in
  place of the hunk's, `{"old": […], "new": […]}` with those that stood there; false: the proposed ones again,
  as where the hunk of another run is taken.
- `{"lost": N}`, the engine's: so many decisions are about nothing in the change any more.
- `{"again": "past"}` reverts the step before, `"future"` makes it again.

Of a plan and a document the last `{"said": {…}}` counts: `comments` on it, a plan's `files` with the places
of those that are taken `out` of it, 1-based, and a document's `text` where the person changed it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.memory import digest_of
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "KeptReview",
    "draft_folder",
    "forget_drafts",
    "hunk_count_of",
    "kept_review",
    "may_have_draft",
    "prepare_draft",
    "prepare_empty_draft",
    "steps_of",
    "write_draft",
]

FOLDER: Final = "reviews"
PASSING: Final = frozenset({"buffer", "tick", "digest", "decided"})
"""What of a file may be another in the next process."""
STATES: Final = frozenset("aro")
"""Accepted, rejected and open."""
_Decision = list[Any]
_Units = list[tuple[str, list[str]]]


@dataclass(slots=True)
class KeptReview:
    """Decisions of a draft as they stand; files by their index."""

    accepted: dict[int, set[int]] = field(default_factory=dict)
    rejected: dict[int, set[int]] = field(default_factory=dict)
    added: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """Hunks that were taken of other runs of a comparison."""
    edited: dict[int, dict[int, dict[str, list[str]]]] = field(default_factory=dict)
    """The lines that the person wrote in place of hunks', with those that stood there; of none rejected."""
    proposed: dict[int, set[int]] = field(default_factory=dict)
    """Hunks that are as they were proposed again; an edit of an earlier round does not hold."""
    open: dict[int, set[int]] = field(default_factory=dict)
    """Hunks that were opened again."""
    comments: list[tuple[int | None, int | None, str]] = field(default_factory=list)
    """File, hunk and text: without a hunk about all of the file, without a file about all of the change."""
    about: set[tuple[int | None, int | None]] = field(default_factory=set)
    """What was decided or commented on, by file and hunk as in comments: no earlier comment on it holds."""

    lost: int = 0
    """The decisions that are about nothing here any more, or that cannot be read."""
    steps: int = 0
    """The steps that led here, none of which was reverted."""
    by_editor: bool = False
    """The one that wrote last was Neovim."""

    def __bool__(self) -> bool:
        return bool(self.accepted or self.rejected or self.added or self.comments or self.edited)


def prepare_draft(private: Path, run: str, step: str, key: str, files: Sequence[Mapping[str, Any]]) -> Path:
    """Return the file of a question, as one about these files; blocking.

    :param private: the project's private state.
    :param key: tells the question from others of the step.
    :param files: as the question shows them.
    :raises OSError: it cannot be made or read.
    """
    path = prepare_empty_draft(private, run, step, key)
    log, units = _Log.read(path), [(file["path"], _names(file)) for file in files]
    if log.units != units:
        log.renumber(units)
        write_atomic(path, "".join(map(_line, log.steps())).encode())
    return path


def prepare_empty_draft(private: Path, run: str, step: str, key: str) -> Path:
    """Return the file of a question, empty if it was not asked before; blocking.

    :param private: the project's private state.
    :param key: tells the question from others of the step.
    :raises OSError: it cannot be made.
    """
    path = _draft_path(private, run, step, key)
    make_private_directory(path.parent)
    os.close(open_private(path, os.O_WRONLY | os.O_CREAT))
    return path


def may_have_draft(private: Path, run: str, step: str, key: str) -> bool:
    """Tell whether a question has a file, or that cannot be known; blocking."""
    try:
        return _draft_path(private, run, step, key).stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _draft_path(private: Path, run: str, step: str, key: str) -> Path:
    return draft_folder(private, run) / f"{digest_of(step, key)}.jsonl"


def kept_review(path: Path) -> KeptReview:
    """Return what a draft says; blocking. Lines that cannot be read are left out.

    :raises OSError: it cannot be read.
    """
    return _Log.read(path).kept()


def write_draft(path: Path, steps: Iterable[Mapping[str, Any]]) -> None:
    """Append steps; blocking. A line that a crash has cut is ended before.

    :raises OSError: they cannot be written.
    """
    with os.fdopen(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+b") as file:
        if size := file.tell():
            file.seek(size - 1)
        cut = bool(size) and file.read() != b"\n"
        file.write("".join(("\n" if cut else "", *map(_line, steps))).encode())


def draft_folder(private: Path, run: str) -> Path:
    """Return the folder of a run's drafts."""
    return private / FOLDER / run


async def forget_drafts(private: Path, run: str, warn: Callable[[str], object]) -> None:
    """Remove the drafts of a run that has completed.

    :param warn: told where they cannot be removed.
    """
    try:
        await asyncio.to_thread(shutil.rmtree, draft_folder(private, run))
    except FileNotFoundError:
        pass  # nothing was reviewed
    except OSError as error:
        warn(f"what was decided in the reviews of the run {run} cannot be removed: {error}")


def steps_of(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the steps of a draft, None for a line that a crash has cut or damaged."""
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return
    for line in filter(None, text.split("\n")):
        try:
            step = json.loads(line)
            _line(step).encode()  # surrogates could not be written again
        except (ValueError, RecursionError):
            yield None
        else:
            # an empty one ends a line that was cut
            yield step if isinstance(step, dict) else None if step else {}


def _line(step: Mapping[str, Any]) -> str:
    return f"{json.dumps(step, ensure_ascii=False, separators=(',', ':'))}\n"


def hunk_count_of(file: Mapping[str, Any]) -> int:
    """Return how many parts of a file of a review are decided."""
    return len(_names(file))


def _names(file: Mapping[str, Any]) -> list[str]:
    """Return names of what is decided of a file: the place and a digest of each hunk, or of the whole."""
    hunks = file["hunks"]
    if file["action"] != "modify" or file.get("whole") or not hunks:
        return [f"*:{digest_of({name: value for name, value in file.items() if name not in PASSING})}"]
    return [f"{hunk['start']}:{digest_of(hunk['old'], hunk['new'])}" for hunk in hunks]


@dataclass(slots=True)
class _Log:
    """Steps of a draft."""

    units: _Units = field(default_factory=list)
    owner: dict[str, Any] | None = None
    """The last process's line."""
    past: list[list[_Decision]] = field(default_factory=list)
    future: list[list[_Decision]] = field(default_factory=list)
    """What was reverted, the last one at the end."""
    lost: int = 0

    @classmethod
    def read(cls, path: Path) -> _Log:
        log = cls()
        for step in steps_of(path):
            if step is None:
                log.lost += 1
            else:
                log._add(step)
        return log

    def _add(self, step: dict[str, Any]) -> None:
        made, again, lost = step.get("decided"), step.get("again"), step.get("lost")
        if type(lost) is int:
            self.lost += max(lost, 0)
        elif "of" in step:
            # what was decided is about the units before it
            if _are_units(step["of"]) and not (self.past or self.future):
                self.units = [(path, names) for path, names in step["of"]]
        elif "by" in step:
            self.owner = step
        elif isinstance(made, list):
            self.past.append([one for one in made if self._is_decision(one)])
            self.lost += len(made) - len(self.past[-1])
            self.future = []
        elif again == "past" and self.past:
            self.future.append(self.past.pop())
        elif again == "future" and self.future:
            self.past.append(self.future.pop())

    def _is_decision(self, one: Any) -> bool:
        if not isinstance(one, list) or len(one) not in (4, 5, 6):
            return False
        file, hunk, state, comment = one[:4]
        if not (type(file) is type(hunk) is int and 0 <= file <= len(self.units)):
            return False
        if not isinstance(state, str) or (file and state not in STATES):
            return False
        if comment is not None and not (isinstance(comment, dict) and isinstance(comment.get("text"), str)):
            return False
        if len(one) > 4 and one[4] is not None and not _is_hunk(one[4]):
            return False
        if len(one) == 6 and one[5] is not False and not _is_edit(one[5]):
            return False
        return file == 0 or 0 <= hunk <= len(self.units[file - 1][1])

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps that lead here."""
        undone = [*reversed(self.future)]
        return [
            {"of": self.units},
            *([self.owner] if self.owner else []),
            *([{"lost": self.lost}] if self.lost else []),
            *({"decided": made} for made in (*self.past, *undone)),
            *({"again": "past"} for _ in undone),
        ]

    def renumber(self, units: _Units) -> None:
        """Keep the decisions on what is among other changes, too, and no others."""
        places = _Places(self.units, units)
        self.lost += sum(_is_decided(one) and places.moved(one) is None for one in self._last().values())
        self.past, self.future = (
            [kept for made in steps if (kept := [*filter(None, map(places.moved, made))])]
            for steps in (self.past, self.future)
        )
        self.units = units

    def kept(self) -> KeptReview:
        kept = KeptReview(
            lost=self.lost, steps=len(self.past), by_editor="in" not in (self.owner or {"in": ""})
        )
        edits = self._edits()
        for place, (file, hunk, state, comment, *taken) in self._last().items():
            at, own = file - 1, hunk - 1
            edit = edits.get(place) if hunk else None
            if edit is False:
                kept.proposed.setdefault(at, set()).add(own)
            elif edit is not None and state != "r":
                kept.edited.setdefault(at, {})[own] = edit
            if state == "a" and taken and taken[0]:
                kept.added.setdefault(at, []).append(taken[0])
            elif state == "a" and hunk:
                kept.accepted.setdefault(at, set()).add(own)
            # in the place of the own hunk stands the one that was taken
            if hunk and (state == "r" or (state == "a" and taken and taken[0])):
                kept.rejected.setdefault(at, set()).add(own)
            if hunk and state == "o":
                kept.open.setdefault(at, set()).add(own)
            where = (None, None) if not file else (at, own if hunk else None)
            if hunk or not file:
                kept.about.add(where)
            if comment is not None:
                kept.comments.append((*where, comment["text"]))
        return kept

    def _last(self) -> dict[tuple[int, int, str], _Decision]:
        """Return the last decision on each place."""
        return {_place(one): one for made in self.past for one in made}

    def _edits(self) -> dict[tuple[int, int, str], Any]:
        """Return what was made of hunks by their places; false: they are as they were proposed."""
        edits = {}
        for one in (one for made in self.past for one in made):
            if len(one) == 6:
                edits[_place(one)] = one[5]
            elif len(one) == 5 and one[4]:
                edits[_place(one)] = False
        return edits


def _are_units(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and _are_texts(one[1])
        for one in value
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_hunk(value: Any) -> bool:
    return _is_edit(value) and type(value.get("start")) is int and value["start"] >= 0


def _is_edit(value: Any) -> bool:
    if not isinstance(value, dict) or not all(_are_texts(value.get(name)) for name in ("old", "new")):
        return False
    return not any("\n" in line for line in (*value["old"], *value["new"]))


def _is_decided(one: _Decision) -> bool:
    """Tell whether a decision is one, or has words or lines of the person's."""
    return one[2] in ("a", "r") or any(one[3:])


def _place(one: _Decision) -> tuple[int, int, str]:
    """Return what a decision is about; of what only another run has, its lines tell it."""
    file, hunk, *_ = one
    return file, hunk, "" if hunk or not file else json.dumps(one[4:], sort_keys=True)


class _Places:
    """Places of hunks among other changes.

    A hunk is the same where it stands at the same line, or elsewhere if its lines are there only once.
    """

    def __init__(self, known: _Units, units: _Units) -> None:
        self._known = known
        self._exact: dict[tuple[str, str], tuple[int, int]] = {}
        self._files: dict[str, int] = {}
        for file, (path, names) in enumerate(units, start=1):
            self._files.setdefault(path, file)
            self._exact |= {(path, name): (file, hunk) for hunk, name in enumerate(names, start=1)}
        before, after = _by_content(known), _by_content(units)
        self._anywhere = {
            content: self._exact[after[content][0]]
            for content, names in before.items()
            if len(names) == len(after.get(content, ())) == 1
        }

    def moved(self, one: _Decision) -> _Decision | None:
        """Return a decision with the numbers that it has here, None where it is about nothing here."""
        file, hunk, *rest = one
        if file == 0:
            return one
        path, names = self._known[file - 1]
        if hunk == 0:  # only another run has a hunk there
            return [self._files[path], 0, *rest] if path in self._files else None
        name = path, names[hunk - 1]
        place = self._exact.get(name) or self._anywhere.get(_content(*name))
        return None if place is None else [*place, *rest]


def _by_content(units: _Units) -> dict[tuple[str, str], list[tuple[str, str]]]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path, names in units:
        for name in names:
            found.setdefault(_content(path, name), []).append((path, name))
    return found


def _content(path: str, name: str) -> tuple[str, str]:
    return path, name.partition(":")[2]
