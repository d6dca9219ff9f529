"""Validation of a project's changelog and checklist, and of a task's entries in them."""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tideate_core.util.markdown import plain_words, read_markdown
from tideate_core.workspace import diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tideate_core.util.markdown import Heading, ListItem, Markdown

_MALFORMED_ITEM: Final = re.compile(
    r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{0,4}\[(?P<mark>[^\]]{0,3})\](?P<after>.{0,2})|\[[ xX]\] )"
)


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
        nearly = _MALFORMED_ITEM.match(line)
        if nearly and at not in starts and not _is_link(nearly):
            shown = line.strip()[:60]
            issues.append(
                DocumentIssue(at + 1, f"{shown!r} is not an item of a task list; write `- [ ] text`")
            )
    for item, part in _open_parts(tasks):
        issues.append(DocumentIssue(item.line, f"is checked, but its part at line {part.line} is not"))
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


SECTIONS: Final = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")

_RELEASE: Final = re.compile(
    r"\[?(?P<version>v?\d[\w.+-]{0,60})\]?(?:\([^)]{0,300}\))?"
    r"(?:[ \t]{1,5}[-\u2013\u2014][ \t]{1,5}(?P<date>\S{1,30}))?"
    r"(?P<yanked>[ \t]{1,5}\[YANKED\])?$"
)
_UNRELEASED: Final = re.compile(r"\[?unreleased\]?(?:\([^)]{0,300}\))?$", re.IGNORECASE)
_VERSION: Final = re.compile(
    r"v?\d{1,9}(?:\.\d{1,9}){0,3}(?:-[0-9A-Za-z.-]{1,40})?(?:\+[0-9A-Za-z.-]{1,40})?$"
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}$")


@dataclass(slots=True)
class Release:
    """A version's section of a changelog."""

    line: int
    """Line of its heading, 1-based."""
    version: str
    """Empty: Unreleased."""
    date: str = ""
    entries: list[str] = field(default_factory=list)
    """Each with its continuation lines."""


def is_unreleased(title: str) -> bool:
    """Return whether a heading is that of the unreleased section."""
    return _UNRELEASED.match(title) is not None


def releases(document: Markdown) -> list[Release]:
    """Return the versions of a changelog, in order."""
    found = []
    for head, items in _parts(document, 2):
        match = _RELEASE.match(head.title)
        if not match and not is_unreleased(head.title):
            continue
        release = Release(head.line, "")
        if match and not is_unreleased(head.title):
            release = Release(head.line, match["version"].removeprefix("v"), match["date"] or "")
        release.entries = [_entry(document, item) for item in items if item.level == 1]
        found.append(release)
    return found


def _parts(document: Markdown, level: int) -> Iterator[tuple[Heading, list[ListItem]]]:
    """Yield the headings of a level, each with the items of its section."""
    starts = [item.start for item in document.items]
    for head in document.headings:
        if head.level == level:
            yield head, list(document.items[bisect(starts, head.start) : bisect_left(starts, head.end)])


def _entry(document: Markdown, item: ListItem) -> str:
    return " ".join(
        [item.text, *(line.strip() for line in document.lines[item.start + 1 : item.end])]
    ).strip()


def has_entry(document: Markdown, version: str | None, entry: str, before: Markdown | None) -> bool:
    """Return whether a version has an entry, or any new one.

    :param version: None: Unreleased.
    :param entry: words of the entry; empty: any entry that `before` does not have.
    """
    wanted = (version or "").removeprefix("v")
    entries = _entries(document, wanted)
    if entry:
        return any(plain_words(entry) in known for known in entries)
    old = Counter(_entries(before, wanted) if before else [])
    return bool(Counter(entries) - old)


def _entries(document: Markdown, version: str) -> list[str]:
    return [plain_words(e) for r in releases(document) if r.version == version for e in r.entries]


def check_form(document: Markdown) -> list[DocumentIssue]:
    """Return the format errors of headings, versions, dates, their order, and sections."""
    heads = document.headings
    issues = []
    if not heads or heads[0].level != 1:
        line = heads[0].line if heads else 1
        issues.append(DocumentIssue(line, "the title is missing; write `# Changelog`"))
    for head in heads:
        if head.level == 2:
            issues += _check_head(head.line, head.title)
    found = releases(document)
    if not found:
        issues.append(DocumentIssue(1, "there is no version; write `## [Unreleased]`"))
    issues += [*_check_order(found), *_check_sections(document)]
    return sorted(issues, key=lambda issue: issue.line)


def _check_head(line: int, text: str) -> list[DocumentIssue]:
    if is_unreleased(text):
        return []
    match = _RELEASE.match(text)
    if match is None:
        form = "write `## [1.2.0] - 2024-01-31` or `## [Unreleased]`"
        return [DocumentIssue(line, f"{text!r} is not a version; {form}")]
    issues = []
    version, day = match["version"], match["date"]
    if not _VERSION.match(version):
        issues.append(DocumentIssue(line, f"{version!r} is not a version number; write one as 1.2.0"))
    if day is None:
        issues.append(DocumentIssue(line, f"{version} has no date; write `## [{version}] - 2024-01-31`"))
    elif _date_of(day) is None:
        issues.append(DocumentIssue(line, f"{day!r} is not a date in the form YYYY-MM-DD"))
    return issues


def _date_of(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.match(text) else None
    except ValueError:
        return None


def _check_order(found: list[Release]) -> list[DocumentIssue]:
    issues = []
    seen: dict[str, int] = {}
    for place, release in enumerate(found):
        name = release.version or "Unreleased"
        if release.version in seen:
            issues.append(DocumentIssue(release.line, f"{name} is already at line {seen[release.version]}"))
        seen.setdefault(release.version, release.line)
        if not release.version and place:
            issues.append(DocumentIssue(release.line, "Unreleased must come before all versions"))
    released = [release for release in found if _VERSION.match(release.version)]
    for newer, older in pairwise(released):
        if _version_key(newer.version) < _version_key(older.version):
            text = f"{older.version} is newer than {newer.version} above it; the newest comes first"
            issues.append(DocumentIssue(older.line, text))
        first, second = _date_of(newer.date), _date_of(older.date)
        if first and second and first < second:
            text = (
                f"{older.version} is dated {older.date}, later than {newer.version} above it ({newer.date})"
            )
            issues.append(DocumentIssue(older.line, text))
    return issues


def _version_key(version: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    """Return the sort key of a version, as https://semver.org orders them."""
    numbers, _, pre = version.partition("+")[0].partition("-")
    parts = [int(part) if part.isdecimal() else -1 for part in numbers.split(".")]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    names = [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in pre.split(".")]
    return parts, not pre, names if pre else []


def _check_sections(document: Markdown) -> Iterator[DocumentIssue]:
    """Yield the format errors below each version."""
    sections = [head for head in document.headings if head.level == 3]
    starts = [head.start for head in sections]
    for release, items in _parts(document, 2):
        own = sections[bisect(starts, release.start) : bisect_left(starts, release.end)]
        known: dict[str, int] = {}
        for head in own:
            name = head.title
            if name not in SECTIONS:
                yield DocumentIssue(head.line, f"{name!r} is not a section; use {', '.join(SECTIONS)}")
            elif name in known:
                yield DocumentIssue(head.line, f"{name} is already at line {known[name]}")
            known.setdefault(name, head.line)
        # one issue per version is enough
        if items and not (own and own[0].start < items[0].start):
            yield DocumentIssue(items[0].line, "this entry has no section; write `### Added` or another")


def new_issues(
    check: Callable[[Markdown], list[DocumentIssue]], document: Markdown, before: Markdown | None
) -> list[DocumentIssue]:
    """Return the issues that a document did not have before, at any line."""
    found = check(document)
    if before is None or not found:
        return found
    had = Counter(_without_lines(issue) for issue in check(before))
    changed = _changed_lines(before.text, document.text)
    new = []
    # of two equal issues, the one on an unchanged line is the old one
    for issue in sorted(found, key=lambda issue: issue.line in changed):
        if had[_without_lines(issue)]:
            had[_without_lines(issue)] -= 1
        else:
            new.append(issue)
    return sorted(new, key=lambda issue: issue.line)


def _without_lines(issue: DocumentIssue) -> str:
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
