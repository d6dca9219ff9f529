"""Validation of a project's changelog and checklist, and of a task's traces in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.gates import changelog, checklist
from tideate_core.gates.document_issues import DocumentIssue, ValidationResult, new_issues
from tideate_core.util.markdown import read_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.util.markdown import Markdown

__all__ = ["DocumentIssue", "DocumentValidator", "ValidationResult"]


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
        document, old = read_markdown(text), _read(before)
        issues = new_issues(changelog.check_form, document, old)
        if needs_entry and not changelog.has_entry(document, version, entry, old):
            place = version or "Unreleased"
            releases = changelog.releases(document)
            line = next((r.line for r in releases if r.version == (version or "")), 1)
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
        document = read_markdown(text)
        issues = new_issues(checklist.check_form, document, _read(before))
        return ValidationResult([*issues, *checklist.check_items(document, items)])


def _read(text: str | None) -> Markdown | None:
    return None if text is None else read_markdown(text)
