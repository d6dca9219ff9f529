"""Validation of a project's changelog and checklist, and of a task's entries in them."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tideate_core.gates.changelog import check_form, has_entry, releases
from tideate_core.gates.document_issues import DocumentIssue, ValidationResult, new_issues
from tideate_core.util.markdown import plain_words, read_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.util.markdown import ListItem, Markdown

__all__ = ["DocumentIssue", "DocumentValidator", "ValidationResult"]

_NEARLY: Final = re.compile(
    r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{0,4}\[(?P<mark>[^\]]{0,3})\](?P<after>.{0,2})|\[[ xX]\] )"
)


class DocumentValidator:
    """Checks texts of documents; the caller provides the texts and their earlier versions."""

    def validate_changelog(
        self,
        text: str,
        *,
        before: str | None = None,
        entry: str = "",
        version: str | None = None,
        needs_entry: bool = True,
    ) -> ValidationResult:
        """Check a changelog against Keep a Changelog 1.1.0, and for an entry of the task.

        :param before: the text before the task; its defects are ignored.
        :param entry: words of the task's entry; empty: any new entry.
        :param version: version of the entry; None: Unreleased.
        """
        document, old = read_markdown(text), _read(before)
        issues = new_issues(check_form, document, old)
        if needs_entry and not has_entry(document, version, entry, old):
            place = version or "Unreleased"
            line = next((r.line for r in releases(document) if r.version == (version or "")), 1)
            wanted = f"{entry!r}" if entry else "this task"
            issues.append(DocumentIssue(line, f"there is no entry for {wanted} under {place}"))
        return ValidationResult(issues)

    def validate_checklist(
        self, text: str, items: Sequence[str] = (), *, before: str | None = None
    ) -> ValidationResult:
        """Check the task lists of a document, and that items are checked.

        :param items: the task's own items: their words, or enough of them to identify each.
        :param before: the text before the task; its defects are ignored.
        """
        document = read_markdown(text)
        issues = new_issues(_checklist_form, document, _read(before))
        return ValidationResult([*issues, *_checked_items(document, items)])


def _read(text: str | None) -> Markdown | None:
    return None if text is None else read_markdown(text)


def _checklist_form(document: Markdown) -> list[DocumentIssue]:
    """Return malformed items, and checked items with unchecked sub-items."""
    issues = []
    tasks = document.tasks
    starts = {item.start for item in tasks}
    for at, line in document.prose():
        nearly = _NEARLY.match(line)
        if nearly and at not in starts and not _is_link(nearly):
            shown = line.strip()[:60]
            issues.append(
                DocumentIssue(at + 1, f"{shown!r} is not an item of a task list; write `- [ ] text`")
            )
    for item, part in _open_parts(tasks):
        issues.append(DocumentIssue(item.line, f"is checked, and its part at line {part.line} is not"))
    return sorted(issues, key=lambda issue: issue.line)


def _open_parts(tasks: Sequence[ListItem]) -> Iterator[tuple[ListItem, ListItem]]:
    """Yield each checked item together with its first unchecked sub-item."""
    around: list[ListItem] = []
    for task in tasks:
        while around and not around[-1].has_part(task):
            around.pop()
        if task.checked:
            around.append(task)
        else:
            yield from ((item, task) for item in around)
            around.clear()


def _is_link(nearly: re.Match[str]) -> bool:
    """Return whether an apparent checkbox is a short link or a reference: `- [a](b)`, `- [1]: x`."""
    return (nearly["after"] or "").startswith(("(", "[", ":"))


def _checked_items(document: Markdown, wanted: Sequence[str]) -> list[DocumentIssue]:
    """Return issues for items that are missing or not checked.

    :param wanted: words of each item, or enough of them to identify it.
    """
    known = [(plain_words(item.text), item) for item in document.tasks]
    issues = []
    for name in wanted:
        words = plain_words(name)
        found = [item for text, item in known if text == words] or [i for text, i in known if words in text]
        if not found:
            near = get_close_matches(words, [text for text, _ in known], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            issues.append(DocumentIssue(1, f"there is no item {name!r}{hint}"))
        issues += [
            DocumentIssue(item.line, f"{item.text!r} is not checked") for item in found if not item.checked
        ]
    return issues
