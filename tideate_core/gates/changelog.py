"""Whether a changelog is one as https://keepachangelog.com/en/1.1.0/ wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Final

from tideate_core.gates.markdown import DocumentIssue, headings, prose_lines, same_words

__all__ = ["Release", "check_form", "has_entry", "releases"]

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
_ITEM: Final = re.compile(r"(?P<indent>[ \t]{0,20})[-*+][ \t]+(?P<text>\S.*)")


@dataclass(slots=True)
class Release:
    """One version's part of a changelog."""

    line: int
    """Of its heading, 1-based."""
    version: str
    """Empty: what is not released yet."""
    date: str = ""
    entries: list[str] = field(default_factory=list)
    """Each with the lines that belong to it."""


def releases(text: str) -> list[Release]:
    """Return the versions of a changelog, as they stand."""
    heads = [head for head in headings(text) if head.level == 2]
    found = []
    for head in heads:
        match = _RELEASE.match(head.text)
        if _UNRELEASED.match(head.text):
            found.append(Release(head.line, ""))
        elif match:
            found.append(Release(head.line, match["version"].removeprefix("v"), match["date"] or ""))
    starts = {head.line for head in heads}
    current: Release | None = None
    by_line = {release.line: release for release in found}
    for number, line in prose_lines(text):
        if number in starts:
            current = by_line.get(number)
        elif current is not None:
            _add_line(current, line)
    return found


def _add_line(release: Release, line: str) -> None:
    item = _ITEM.match(line)
    if item and not item["indent"]:
        release.entries.append(item["text"])
    elif release.entries and line[:1] in (" ", "\t"):
        release.entries[-1] += " " + line.strip()


def has_entry(text: str, version: str | None, entry: str, before: str | None) -> bool:
    """Tell whether a version has the entry, or any that it did not have before.

    :param version: None: what is not released yet.
    :param entry: words of it; empty: any that is new.
    """
    wanted = (version or "").removeprefix("v")
    entries = [same_words(e) for r in releases(text) if r.version == wanted for e in r.entries]
    if entry:
        return any(same_words(entry) in known for known in entries)
    old = [same_words(e) for r in releases(before or "") if r.version == wanted for e in r.entries]
    return any(entries.count(known) > old.count(known) for known in entries)


def check_form(text: str) -> list[DocumentIssue]:
    """Return what is not as it should be: headings, versions, dates, their order, sections."""
    heads = headings(text)
    issues = []
    if not heads or heads[0].level != 1:
        line = heads[0].line if heads else 1
        issues.append(DocumentIssue(line, "it begins with no title; write `# Changelog`"))
    for head in heads:
        if head.level == 2:
            issues += _check_head(head.line, head.text)
    found = releases(text)
    if not found:
        issues.append(DocumentIssue(1, "it has no version; write `## [Unreleased]`"))
    return sorted([*issues, *_check_order(found), *_check_sections(text)], key=lambda issue: issue.line)


def _check_head(line: int, text: str) -> list[DocumentIssue]:
    if _UNRELEASED.match(text):
        return []
    match = _RELEASE.match(text)
    if match is None:
        form = "write `## [1.2.0] - 2024-01-31` or `## [Unreleased]`"
        return [DocumentIssue(line, f"{text!r} is no version; {form}")]
    issues = []
    version, day = match["version"], match["date"]
    if not _VERSION.match(version):
        issues.append(DocumentIssue(line, f"{version!r} is no version number; write one as 1.2.0"))
    if day is None:
        issues.append(DocumentIssue(line, f"{version} has no date; write `## [{version}] - 2024-01-31`"))
    elif _date_of(day) is None:
        issues.append(DocumentIssue(line, f"{day!r} is no date of the calendar as YYYY-MM-DD"))
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
    """Return what versions are ordered by, as https://semver.org does."""
    numbers, _, pre = version.partition("+")[0].partition("-")
    parts = [int(part) if part.isdecimal() else -1 for part in numbers.split(".")]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    names = [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in pre.split(".")]
    return parts, not pre, names if pre else []


def _check_sections(text: str) -> list[DocumentIssue]:
    """Check what stands below each version."""
    issues: list[DocumentIssue] = []
    section = ""
    known: dict[str, int] = {}
    inside = False
    heads = {head.line: head for head in headings(text)}
    for number, line in prose_lines(text):
        head = heads.get(number)
        if head is not None and head.level <= 2:
            inside, section, known = head.level == 2, "", {}
        elif head is not None and head.level == 3 and inside:
            section = head.text
            if section not in SECTIONS:
                issues.append(DocumentIssue(number, f"{section!r} is no section; use {', '.join(SECTIONS)}"))
            elif section in known:
                issues.append(DocumentIssue(number, f"{section} stands at line {known[section]} too"))
            known.setdefault(section, number)
        elif inside and not section and _ITEM.match(line):
            issues.append(DocumentIssue(number, "this entry has no section; write `### Added` or another"))
            section = "-"  # once is enough
    return issues
