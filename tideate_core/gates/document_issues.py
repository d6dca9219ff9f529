"""Issues of a document by line, limited to the new ones of a task."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.workspace import diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.util.markdown import Markdown

__all__ = ["DocumentIssue", "ValidationResult", "new_issues"]


@dataclass(frozen=True, slots=True)
class DocumentIssue:
    """A defect of a document."""

    line: int
    """1-based."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The issues of a document, by line."""

    issues: list[DocumentIssue] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """True if there are no issues."""
        return not self.issues


def new_issues(
    check: Callable[[Markdown], list[DocumentIssue]], document: Markdown, before: Markdown | None
) -> list[DocumentIssue]:
    """Return the issues that a document did not have before, at any line."""
    found = check(document)
    if before is None or not found:
        return found
    had = Counter(_key(issue) for issue in check(before))
    changed = _changed_lines(before.text, document.text)
    new = []
    # of two equal issues, the one on an unchanged line is the old one
    for issue in sorted(found, key=lambda issue: issue.line in changed):
        if had[_key(issue)]:
            had[_key(issue)] -= 1
        else:
            new.append(issue)
    return sorted(new, key=lambda issue: issue.line)


def _key(issue: DocumentIssue) -> str:
    # line numbers in messages change with the text above
    return re.sub(r"\bline \d+", "line", issue.message)


def _changed_lines(before: str, text: str) -> set[int]:
    """Return the numbers of changed and new lines of a text."""
    changed: set[int] = set()
    shift = 0
    for hunk in diff_lines(lines_of(before), lines_of(text)):
        first = hunk.start + shift + 1
        changed.update(range(first, first + len(hunk.new)))
        shift += len(hunk.new) - len(hunk.old)
    return changed
