"""Report of staged edits for a model: changed lines, new syntax errors, undefined Python names."""

from __future__ import annotations

import ast
import asyncio
import re
import warnings
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tideate_core.agents.tools.results import bounded_text, list_some
from tideate_core.gates import SyntaxProblem, is_checked, new_errors
from tideate_core.workspace import PROSE, diff_lines, language_of, lines_of, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workspace import FileChange

SHORT: Final = 12
"""Changed lines up to which a change is shown as a diff."""
LONGEST_DIFF: Final = 8_000
"""Characters of the diffs in a result."""
MOST_HUNKS: Final = 30
"""Hunks of a file listed in a result."""
MOST_ERRORS: Final = 10
"""Syntax errors listed in a result."""
MOST_UNCHECKED: Final = 5
"""Files listed in a result because their syntax is not checked."""
_PLAIN: Final = PROSE | {""}
"""Prose and unknown languages, which have no syntax to check."""
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? ")


@dataclass(frozen=True, slots=True)
class CheckedChanges:
    """New errors in changed texts."""

    word: str = ""
    """End of the summary line: no new errors, or files not checked; empty if neither is known."""
    errors: list[str] = field(default_factory=list)
    """New syntax errors."""
    names: list[str] = field(default_factory=list)
    """Undefined or unused Python names."""

    @property
    def lines(self) -> list[str]:
        """All errors and names, up to a limit for each."""
        return [*self.errors[:MOST_ERRORS], *self.names[:MOST_ERRORS]]


@dataclass(frozen=True, slots=True)
class FileProblem(SyntaxProblem):
    """A new syntax error in a changed file."""

    path: str = ""

    def __str__(self) -> str:
        return f"{self.path}, {SyntaxProblem.__str__(self)}"


def new_problems(changes: Iterable[FileChange]) -> list[FileProblem]:
    """Return the syntax errors that changes bring."""
    return [
        FileProblem(**asdict(problem), path=path)
        for change in changes
        if change.after is not None and change.after != change.before
        for path in (change.move_to or change.path,)
        for problem in new_errors(language_of(path), change.before or "", change.after)
    ]


def describe_changes(changes: Iterable[FileChange], loose: Sequence[int] = ()) -> tuple[list[str], bool]:
    """Return changes as lines for a model, and whether these are all changed lines.

    Short changes are shown as a diff, others as line numbers, because the model wrote them.

    :param loose: lines (from 1, before the edit) of inexact matches; their diff is always shown.
    """
    kept = [one for one in changes if one.action == "modify"]
    hunks = [diff_lines(lines_of(one.before), lines_of(one.after)) for one in kept]
    if sum(len(hunk.old) + len(hunk.new) for found in hunks for hunk in found) <= SHORT:
        return _diffs(kept, with_names=len(kept) > 1), True
    lines = []
    for change, found in zip(kept, hunks, strict=True):
        shift, places = 0, []
        for hunk in found:
            places.append(f"+{len(hunk.new)} -{len(hunk.old)} lines at {hunk.start + shift + 1}")
            shift += len(hunk.new) - len(hunk.old)
        lines.append(f"{change.path}: {list_some(places, MOST_HUNKS)}")
    return [*lines, *(_diffs(kept, loose) if loose else [])], False


def _diffs(changes: Iterable[FileChange], only: Sequence[int] = (), *, with_names: bool = False) -> list[str]:
    """Return the hunks of changes.

    :param only: only hunks that include one of these lines of the text before.
    """
    shown = []
    for change in changes:
        hunks = re.split(r"\n(?=@@ )", unified_diff(change).rstrip("\n"))[1:]
        hunks = [hunk for hunk in hunks if not only or any(_has_line(hunk, line) for line in only)]
        shown += [*([change.path] if with_names else []), *hunks]
    rest = "read_file shows the file as it is staged"
    return [bounded_text("\n".join(shown), rest, LONGEST_DIFF)] if shown else []


def _has_line(hunk: str, line: int) -> bool:
    found = _HUNK.match(hunk)
    if found is None:
        return False
    first = int(found[1])
    return first <= line <= first + int(found[2] or 1)


async def check_changes(staged: StagedFiles, changes: Sequence[FileChange]) -> CheckedChanges:
    """Return new syntax errors and name problems of changed texts.

    :param staged: files with the changes; Python names are compared with the texts before the first edit.
    """
    original = {one.move_to or one.path: one.before or "" for one in staged.changes()}
    return await asyncio.to_thread(_check, changes, original)


def _check(changes: Sequence[FileChange], original: dict[str, str]) -> CheckedChanges:
    parsed: list[str] = []
    unchecked: list[str] = []
    errors: list[str] = []
    names: list[str] = []
    for change in changes:
        language = language_of(change.path)
        if change.after is None or (change.action == "move" and change.before == change.after):
            continue
        place = f" in {change.path}" if len(changes) > 1 else ""
        found = new_errors(language, change.before or "", change.after)
        name = change.move_to or change.path
        if is_checked(language, change.before or "", change.after):
            parsed.append(name)
        elif language not in _PLAIN:
            unchecked.append(name)
        errors += [f"[new syntax error{place}: {problem}]" for problem in found]
        if name in original and not found:
            told = new_name_problems(name, original[name], change.after)
            names += [f"[{one}{place}]" for one in told]
    word = "; no new syntax errors" if parsed and not errors else ""
    if unchecked:
        word += f"; syntax not checked: {list_some(unchecked, MOST_UNCHECKED)}"
    return CheckedChanges(word, errors, names)


LARGEST: Final = 500_000
"""Characters of a text that is checked, which takes about a fifth of a second."""
_KINDS: Final = {
    "UndefinedName": "undefined now",
    "UndefinedLocal": "undefined now",
    "UndefinedExport": "undefined now",
    "UnusedImport": "imported, not used now",
}
"""Classes of reported pyflakes messages, with the words for them."""
_DELIBERATE: Final = re.compile(r"#\s*noqa\b|\b(\w+)\s+as\s+\1\b", re.IGNORECASE)
"""Lines that linters skip, and imports that re-export a name; they are deliberate."""


def new_name_problems(path: str, before: str, after: str) -> list[str]:
    """Return new undefined names and unused imports, one line for each kind.

    Empty if either text is not Python, or is too long.

    :param path: path of the file.
    :param before: the text before the run's first edit; empty for a new file.
    """
    if not path.endswith(".py") or max(len(before), len(after)) > LARGEST:
        return []
    had, has = _problems(before), _problems(after)
    if had is None or has is None:
        return []
    new: dict[str, list[str]] = {}
    for (kind, name), line in has.items():
        # a package's `__init__` imports names for others
        if (kind, name) not in had and not (kind == "UnusedImport" and path.endswith("__init__.py")):
            new.setdefault(_KINDS[kind], []).append(f"{name} (line {line})")
    return [f"{told}: {list_some(names)}" for told, names in new.items()]


@lru_cache(maxsize=16)
def _problems(text: str) -> Mapping[tuple[str, str], int] | None:
    """Return the first line of each problem, by kind and name; None if the text cannot be parsed."""
    if not text.strip():
        return {}
    from pyflakes.checker import Checker

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        messages = Checker(tree).messages
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # reported as a syntax error
    lines = text.split("\n")
    found: dict[tuple[str, str], int] = {}
    for message in sorted(messages, key=lambda one: (one.lineno, one.col)):
        kind = type(message).__name__
        if kind in _KINDS and not _DELIBERATE.search(lines[message.lineno - 1]):
            found.setdefault((kind, str(message.message_args[0])), message.lineno)
    return found
