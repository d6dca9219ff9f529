"""Changelogs: releases and entries, and the format checks of https://keepachangelog.com/en/1.1.0/."""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tideate_core.gates.document_issues import DocumentIssue
from tideate_core.util.markdown import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.util.markdown import Heading, ListItem, Markdown

__all__ = ["SECTIONS", "Release", "check_form", "has_entry", "is_unreleased", "releases"]

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
        issues.append(DocumentIssue(line, "it begins with no title; write `# Changelog`"))
    for head in heads:
        if head.level == 2:
            issues += _check_head(head.line, head.title)
    found = releases(document)
    if not found:
        issues.append(DocumentIssue(1, "it has no version; write `## [Unreleased]`"))
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
        issues.append(DocumentIssue(line, f"{day!r} is not a date of the calendar as YYYY-MM-DD"))
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
            issues.append(DocumentIssue(release.line, f"{name} stands at line {seen[release.version]} too"))
        seen.setdefault(release.version, release.line)
        if not release.version and place:
            issues.append(DocumentIssue(release.line, "Unreleased does not stand above all versions"))
    released = [release for release in found if _VERSION.match(release.version)]
    for newer, older in pairwise(released):
        if _key(newer.version) < _key(older.version):
            text = f"{older.version} is newer than {newer.version} above it; the newest comes first"
            issues.append(DocumentIssue(older.line, text))
        first, second = _date_of(newer.date), _date_of(older.date)
        if first and second and first < second:
            text = f"{older.version} is of {older.date}, later than {newer.version} above it ({newer.date})"
            issues.append(DocumentIssue(older.line, text))
    return issues


def _key(version: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
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
                yield DocumentIssue(head.line, f"{name} stands at line {known[name]} too")
            known.setdefault(name, head.line)
        # one issue per version is enough
        if items and not (own and own[0].start < items[0].start):
            yield DocumentIssue(items[0].line, "this entry has no section; write `### Added` or another")
