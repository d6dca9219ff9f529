"""Task lists of Markdown: whether they are well formed, and whether items are checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tideate_core.gates.markdown import DocumentIssue, prose_lines, same_words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TaskItem", "check_form", "check_items", "task_items"]

_ITEM: Final = re.compile(
    r"(?P<indent>[ \t]{0,40})(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)"
)
_NEARLY: Final = re.compile(
    r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{0,4}\[(?P<mark>[^\]]{0,3})\](?P<after>.{0,2})|\[[ xX]\] )"
)


@dataclass(frozen=True, slots=True)
class TaskItem:
    """An item of a task list."""

    line: int
    """1-based."""
    indent: int
    """Columns; a tab counts as four."""
    checked: bool
    text: str


def task_items(text: str) -> list[TaskItem]:
    """Return the items of all task lists of a document."""
    found = []
    for number, line in prose_lines(text):
        if match := _ITEM.match(line):
            indent = len(match["indent"].expandtabs(4))
            found.append(TaskItem(number, indent, match["mark"] != " ", match["text"].strip()))
    return found


def check_form(text: str) -> list[DocumentIssue]:
    """Return what looks like an item and is none, and items that are checked before their parts are."""
    issues = []
    for number, line in prose_lines(text):
        nearly = _NEARLY.match(line)
        if nearly and not _ITEM.match(line) and not _is_link(nearly):
            shown = line.strip()[:60]
            issues.append(DocumentIssue(number, f"{shown!r} is no item of a task list; write `- [ ] text`"))
    items = task_items(text)
    for place, item in enumerate(items):
        if item.checked and (part := _open_part(items, place)):
            issues.append(DocumentIssue(item.line, f"is checked, and its part at line {part.line} is not"))
    return sorted(issues, key=lambda issue: issue.line)


def _is_link(nearly: re.Match[str]) -> bool:
    """Tell whether an item is a list's item with a short link or a reference: `- [a](b)`, `- [1]: x`."""
    return (nearly["after"] or "").startswith(("(", "[", ":"))


def _open_part(items: Sequence[TaskItem], place: int) -> TaskItem | None:
    for item in items[place + 1 :]:
        if item.indent <= items[place].indent:
            return None
        if not item.checked:
            return item
    return None


def check_items(text: str, wanted: Sequence[str]) -> list[DocumentIssue]:
    """Return which of these items are not there, or not checked.

    :param wanted: an item's words, or enough of them that only one item has them.
    """
    items = task_items(text)
    known = [(same_words(item.text), item) for item in items]
    issues = []
    for name in wanted:
        words = same_words(name)
        found = [item for text, item in known if text == words] or [i for text, i in known if words in text]
        if not found:
            near = get_close_matches(words, [text for text, _ in known], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            issues.append(DocumentIssue(1, f"there is no item {name!r}{hint}"))
        issues += [
            DocumentIssue(item.line, f"{item.text!r} is not checked") for item in found if not item.checked
        ]
    return issues
