"""Edits of real files as models write them: right, careless and wrong ones, with the truth known beforehand.

An edit is made first, as changes of lines; so what the file has to be afterwards is known without any
matching. Then the answer is written in one of the forms and spoiled in one of the ways of models.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.edits_files import Source, sources
from benchmarks.edits_forms import FORMS, Form, Hunk, Row, write_whole
from benchmarks.edits_ways import SEVERAL, SPOILED, WAYS_OF, Edit, blank_lines, misremembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.edits_ways import Expected

MOST_CONTEXT: Final = 6
SEED: Final = 5


@dataclass(frozen=True, slots=True)
class Case:
    """Answer of a model with its expected result."""

    name: str
    form: Form
    way: str
    """How it was spoiled."""
    expected: Expected
    answer: str
    files: dict[str, bytes]
    truth: dict[str, bytes]
    places: tuple[int, ...]
    """Lines (0-based) that are meant, of the first file."""


def corpus(count: int, seed: int = SEED) -> list[Case]:
    """Return so many cases, by turns in every form and every way."""
    rng = random.Random(seed)
    files = sources(seed)
    plan = [(form, way) for way, forms in WAYS_OF.items() for form in sorted(forms)]
    cases: list[Case] = []
    while len(cases) < count:
        form, way = plan[len(cases) % len(plan)]
        name, dice = f"{len(cases)}", random.Random(rng.random())
        case = _several(name, files, form, way, dice) if way in SEVERAL else None
        if way not in SEVERAL:
            case = _single(name, next(files), form, way, dice)
        if case is not None:
            cases.append(case)
    return cases


def _single(name: str, source: Source, form: Form, way: str, rng: random.Random) -> Case | None:
    edit = _edit(source, rng, unique=way != "not the only place")
    if edit is None or not SPOILED[way](edit) or _means_another_place(edit):
        return None
    path = _path(source)
    if form == "whole":
        if [_is_edge(edit.after, end) for end in (0, -1)] != [_is_edge(source.lines, end) for end in (0, -1)]:
            return None  # blank lines at the edges of a fence are not the text's
        answer = write_whole(path, edit.whole, cut=edit.cut, rng=rng)
    else:
        answer = FORMS[form]([(path, edit.hunks)], edit.numbers, rng)
        answer = _cut(answer, edit) if edit.cut else answer
    return _case(name, form, way, answer, {path: edit})


def _is_edge(lines: Sequence[str], end: int) -> bool:
    return not lines[end].strip()


def _several(name: str, files: Iterator[Source], form: Form, way: str, rng: random.Random) -> Case | None:
    """Edit three files in one answer, in the second way one of them wrongly: then none may be changed."""
    edits: dict[str, Edit] = {}
    while len(edits) < 3:
        source = next(files)
        edit = _edit(source, rng, unique=True)
        if edit is not None:
            edits[f"{len(edits)}/{_path(source)}"] = edit
    spoiled = rng.choice(list(edits.values()))
    if way == SEVERAL[1] and not (misremembered(spoiled) and not _means_another_place(spoiled)):
        return None
    answer = FORMS[form]([(path, edit.hunks) for path, edit in edits.items()], "right", rng)
    return _case(name, form, way, answer, edits)


def _case(name: str, form: Form, way: str, answer: str, edits: dict[str, Edit]) -> Case:
    before = {path: edit.source.bytes_of(edit.source.lines) for path, edit in edits.items()}
    after = {path: edit.source.bytes_of(edit.after) for path, edit in edits.items()}
    expected: Expected = (
        "refused" if any(edit.expected == "refused" for edit in edits.values()) else "applied"
    )
    places = tuple(hunk.start for edit in edits.values() for hunk in edit.hunks)
    return Case(name, form, way, expected, answer, before, after, places)


def _path(source: Source) -> str:
    return f"src/{source.path.rpartition('/')[2]}"


# -- edits whose outcome is known -----------------------------------------------------------------------


def _edit(source: Source, rng: random.Random, *, unique: bool) -> Edit | None:
    """Change one to three places of a file, each with enough context to be unique."""
    lines = source.lines
    hunks: list[Hunk] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        hunk = _hunk(lines, rng, unique=unique)
        if hunk is not None and all(hunk.end <= other.start or other.end <= hunk.start for other in hunks):
            hunks.append(hunk)
    if not hunks:
        return None
    hunks.sort(key=lambda hunk: hunk.start)
    after: list[str] = []
    at = 0
    for hunk in hunks:
        after += [*lines[at : hunk.start], *hunk.new]
        at = hunk.end
    after += lines[at:]
    return None if after == list(lines) else Edit(source, hunks, after, rng, whole=list(after))


def _hunk(lines: Sequence[str], rng: random.Random, *, unique: bool) -> Hunk | None:
    start = rng.randrange(len(lines) - 4)
    end = start + rng.choice((0, 1, 1, 2, 3, 4))
    old = list(lines[start:end])
    new = _new(old, lines, start, rng)
    # of equal blank lines nobody can tell which one is new
    if new == old or not any(line.strip() for line in [*old, *new]) or blank_lines(new) > blank_lines(old):
        return None
    keys = [_loose(line) for line in lines]
    least = 1 if start == end else 0
    for around in range(least, MOST_CONTEXT + 1):
        first, last = max(0, start - around), min(len(lines), end + around)
        single = _count(keys, keys[first:last]) == 1 and any(keys[first:last])
        if single is unique and any(keys[first:last]):
            rows = [Row(" ", line) for line in lines[first:start]]
            rows += [Row("-", line) for line in old]
            rows += [Row("+", line) for line in new]
            rows += [Row(" ", line) for line in lines[end:last]]
            return Hunk(first, rows)
        if not unique:
            return None
    return None


def _new(old: list[str], lines: Sequence[str], at: int, rng: random.Random) -> list[str]:
    kind = rng.choice(("change", "change", "change", "delete", "more")) if old else "insert"
    if kind == "delete":
        return []
    if kind == "insert":
        return [_changed(lines[at], rng).rstrip(), _changed(lines[at + 1], rng).rstrip()][
            : rng.choice((1, 2))
        ]
    changed = [_changed(line, rng) if rng.random() < 0.7 else line for line in old]
    return changed if kind == "change" else [*changed, _changed(old[-1], rng)]


def _changed(line: str, rng: random.Random) -> str:
    words = list(re.finditer(r"[A-Za-z_]{3,}", line))
    if not words:
        return f"{line.rstrip()}0" if line.strip() else line
    line = line.rstrip()
    word = rng.choice(words)
    return f"{line[: word.start()]}{word[0]}_{rng.choice(('new', 'v2', 'old', 'x'))}{line[word.end() :]}"


def _loose(line: str) -> str:
    return re.sub(r"\W+", " ", line).strip() or line.strip()


def _count(keys: list[str], wanted: list[str]) -> int:
    size = len(wanted)
    return sum(keys[at : at + size] == wanted for at in range(len(keys) - size + 1))


def _means_another_place(edit: Edit) -> bool:
    """Tell whether a damaged hunk exactly matches other lines, which it then edits."""
    lines = list(edit.source.lines)
    for hunk in edit.hunks:
        old, size = hunk.old, len(hunk.old)
        places = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == old]
        if len(places) == 1 and places[0] != hunk.start:
            return True
    return False


def _cut(answer: str, edit: Edit) -> str:
    """End an answer within its last hunk, as at a limit of tokens."""
    last = edit.hunks[-1].rows[-1].text
    at = answer.rfind(last) if last.strip() else len(answer) - 20
    return answer[: max(at, len(answer) * 2 // 3)]
