"""Report of staged edits for a model: changed lines, new syntax errors, undefined Python names."""

from __future__ import annotations

import ast
import asyncio
import re
import warnings
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tideate_core.agents.tools.results import bounded_text, list_some
from tideate_core.gates import SyntaxProblem, is_checked, new_errors
from tideate_core.mentions import code_language
from tideate_core.workspace import PROSE, language_of, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workspace import FileChange

AROUND: Final = 1
"""Unchanged lines shown around a hunk."""
ENDS: Final = 4
"""First and last lines shown of a long run of removed or added lines."""
LONGEST_DIFF: Final = 6_000
"""Characters of the hunks in a result."""
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
    """Return the hunks of changes with one context line, and whether they show all changed lines.

    Long runs of lines lose their middle.

    :param loose: lines (from 1, before the edit) of inexact matches; their hunks are shown in full.
    """
    kept = [one for one in changes if one.action == "modify"]
    lines, all_shown = [], True
    for change in kept:
        hunks = re.split(r"\n(?=@@ )", unified_diff(change, AROUND).rstrip("\n"))[1:]
        shown = [one if any(_has_line(one, at) for at in loose) else _shortened(one) for one in hunks]
        all_shown = all_shown and shown == hunks
        lines += [*([change.path] if len(kept) > 1 else []), *shown]
    text = "\n".join(lines)
    rest = "read_file shows the file as it is staged"
    return [bounded_text(text, rest, LONGEST_DIFF)] if text else [], all_shown and len(text) <= LONGEST_DIFF


def _shortened(hunk: str) -> str:
    """Return a hunk without the middle of long runs of removed or added lines."""
    shown: list[str] = []
    for sign, run in groupby(hunk.split("\n"), key=lambda line: line[:1]):
        lines = list(run)
        left = len(lines) - 2 * ENDS
        if sign in ("-", "+") and left > 1:
            lines[ENDS:-ENDS] = [f"{sign} […{left} lines]"]
        shown += lines
    return "\n".join(shown)


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
    without_names: list[str] = []
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
        told = None if found else new_name_problems(name, original.get(name, ""), change.after)
        names += [f"[{one}{place}]" for one in told or ()]
        if told is None and code_language(name):
            without_names.append(name)
    word = "; no new syntax errors" if parsed and not errors else ""
    if word and without_names:
        word += "; undefined and unused names not checked"
    elif word and not names and any(map(code_language, parsed)):
        word += ", undefined or unused names"
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


def new_name_problems(path: str, before: str, after: str) -> list[str] | None:
    """Return new undefined names and unused imports, one line for each kind.

    None if they are not checked: a text is not Python, too long, or cannot be parsed.

    :param path: path of the file.
    :param before: the text before the run's first edit; empty for a new file.
    """
    if not path.endswith(".py") or max(len(before), len(after)) > LARGEST:
        return None
    had, has = _problems(before), _problems(after)
    if had is None or has is None:
        return None
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
