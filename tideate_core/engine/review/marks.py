"""Marks for important changes of a review, the order of changes, and changes of form only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from tideate_core.workspace import is_test, language_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tideate_core.workspace import FileChange

_ASSERTION: Final = re.compile(
    r"\b(?:assert\w*|expect|(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?|require\.\w+|should|pytest\.raises)\b"
)
_SKIP: Final = re.compile(
    r"\b(?:skip\w*|xfail|xit|xdescribe|xtest|pending|todo|t\.Skip\w*)\b|@(?:Disabled|Ignore)\b|#\[ignore"
    r"|\b(?:it|test|describe)\.(?:only|skip|todo)\b",
    re.IGNORECASE,
)
_LOCK: Final = re.compile(
    r"(?:.*/)?(?:[^/]*\.lock|[^/]*\.lockb|[^/]*-lock\.(?:json|ya?ml)|npm-shrinkwrap\.json|go\.sum"
    r"|packages\.lock\.json|[^/]*\.lockfile|package\.resolved|cartfile\.resolved)",
    re.IGNORECASE,
)
_LITERAL: Final = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|`[^`]*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
)
_FREE: Final = frozenset(
    {
        "c",
        "cpp",
        "csharp",
        "dart",
        "go",
        "java",
        "javascript",
        "json",
        "kotlin",
        "lua",
        "objc",
        "php",
        "python",
    }
    | {"rust", "scala", "swift", "typescript", "zig"}
)
"""Languages where white space next to brackets and operators has no meaning."""
_SPACE: Final = re.compile(
    r"\s+(?=[(){}\[\],;])|(?<=[(){}\[\],;])\s+|(?<=\w)\s+(?=[^\w\s])|(?<=[^\w\s])\s+(?=\w)"
)
_LARGEST: Final = 1 << 20
"""Maximum characters of a text whose formatting is compared."""

Fold = Literal["moved", "formatting"]


def marks_of(change: FileChange) -> list[str]:
    """Return warnings about a change."""
    marks = []
    count = len(change.conflicts)
    if count and change.whole:
        marks.append("conflict")
    elif count:
        marks.append(f"{count} conflict{'' if count == 1 else 's'}")
    path = change.move_to or change.path
    if is_test(path) and change.before is not None:
        marks += _test_marks(change.before, change.after or "")
    if _LOCK.fullmatch(path):
        marks.append("lock file")
    return marks


def _test_marks(before: str, after: str) -> list[str]:
    lost = len(_ASSERTION.findall(before)) - len(_ASSERTION.findall(after))
    words = [f"{lost} fewer assertion{'' if lost == 1 else 's'}"] if lost > 0 else []
    if len(_SKIP.findall(after)) > len(_SKIP.findall(before)):
        words.append("skips tests")
    return words


def fold_of(change: FileChange) -> Fold | None:
    """Return the kind of a change of form: a file only moves, or only its white space changes."""
    if change.conflicts:
        return None
    if change.action == "move":
        images = change.images
        same = images is None or images[0].state == images[1].state
        return "moved" if same and change.before == change.after else None
    if change.action != "modify" or change.images is not None or change.exact:
        return None
    language = language_of(change.path, change.filetype)
    return "formatting" if _same_words(change.before or "", change.after or "", language) else None


def _same_words(before: str, after: str, language: str) -> bool:
    if language not in _FREE or max(len(before), len(after)) > _LARGEST or "<<<" in before:
        return False
    if _LITERAL.findall(before) != _LITERAL.findall(after):
        return False
    return _words(before, language) == _words(after, language)


def _words(text: str, language: str) -> list[tuple[str, str]]:
    """Return indentation and words of each line that is not blank."""
    found = []
    for line in text.split("\n"):
        if words := line.strip():
            indentation = line[: len(line) - len(line.lstrip())] if language == "python" else ""
            found.append((indentation, _SPACE.sub("", re.sub(r"\s+", " ", words))))
    return found


def in_order(changes: Sequence[FileChange], executed: Collection[str]) -> list[FileChange]:
    """Sort changes by importance for the reader, then by path.

    :param executed: paths of changed files that other tools execute.
    """
    return sorted(changes, key=lambda change: (_rank(change, executed), change.path))


def _rank(change: FileChange, executed: Collection[str]) -> int:
    kinds = {image.state.kind for image in change.images or ()}
    tests = is_test(change.path) and change.before is not None
    ranks = (
        bool(change.conflicts),
        change.action == "delete",
        (change.move_to or change.path) in executed,
        change.is_of_mode,
        "link" in kinds,
        change.images is not None and change.before is change.after is None,
        tests and bool(_test_marks(change.before or "", change.after or "")),
        _LOCK.fullmatch(change.path) is not None,
        fold_of(change) is None,
        fold_of(change) == "moved",
    )
    return next((rank for rank, holds in enumerate(ranks) if holds), len(ranks))
