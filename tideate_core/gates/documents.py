"""Whether a project's documents are in order, and say what a task did."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.gates import changelog, checklist
from tideate_core.gates.markdown import DocumentIssue
from tideate_core.workspace import diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DocumentIssue", "DocumentValidator", "ValidationResult"]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What is wrong with a document, by line."""

    issues: list[DocumentIssue] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Nothing is."""
        return not self.issues


class DocumentValidator:
    """Checks documents as texts; whose text, and how it was before, the caller knows."""

    def validate_changelog(
        self,
        text: str,
        *,
        before: str | None = None,
        entry: str = "",
        version: str | None = None,
        needs_entry: bool = True,
    ) -> ValidationResult:
        """Check a changelog against Keep a Changelog 1.1.0, and that it tells of the task.

        :param before: the text before the task; what was wrong in it is not held against the task.
        :param entry: words of the task's entry; empty: any entry that is new.
        :param version: that the entry stands under; None: Unreleased.
        """
        issues = _new(changelog.check_form, text, before)
        if needs_entry and not changelog.has_entry(text, version, entry, before):
            place = version or "Unreleased"
            line = next((r.line for r in changelog.releases(text) if r.version == (version or "")), 1)
            wanted = f"{entry!r}" if entry else "this task"
            issues.append(DocumentIssue(line, f"there is no entry for {wanted} under {place}"))
        return ValidationResult(issues)

    def validate_checklist(
        self, text: str, items: Sequence[str] = (), *, before: str | None = None
    ) -> ValidationResult:
        """Check the task lists of a document, and that items are checked.

        :param items: the task's own; an item's words, or enough of them.
        :param before: the text before the task; what was wrong in it is not held against the task.
        """
        issues = _new(checklist.check_form, text, before)
        return ValidationResult([*issues, *checklist.check_items(text, items)])


def _new(check: Callable[[str], list[DocumentIssue]], text: str, before: str | None) -> list[DocumentIssue]:
    """Return the issues that a text did not have before, wherever they stood."""
    found = check(text)
    if before is None or not found:
        return found
    had = Counter(_key(issue) for issue in check(before))
    touched = _touched(before, text)
    new = []
    # of two that are alike the one on a line that nobody touched is the old one
    for issue in sorted(found, key=lambda issue: issue.line in touched):
        if had[_key(issue)]:
            had[_key(issue)] -= 1
        else:
            new.append(issue)
    return sorted(new, key=lambda issue: issue.line)


def _key(issue: DocumentIssue) -> str:
    # a line that a message names moves with what is written above it
    return re.sub(r"\bline \d+", "line", issue.message)


def _touched(before: str, text: str) -> set[int]:
    """Return the numbers of the lines of a text that are not those of before."""
    touched: set[int] = set()
    shift = 0
    for hunk in diff_lines(lines_of(before), lines_of(text)):
        first = hunk.start + shift + 1
        touched.update(range(first, first + len(hunk.new)))
        shift += len(hunk.new) - len(hunk.old)
    return touched
