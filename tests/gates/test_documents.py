"""Issues of changelogs and checklists name their lines; only new issues are reported, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tideate_core.gates import DocumentValidator

TASKS = """# To do

- [x] write the `parser`
  - [x] of numbers
- [ ] write the tests
* [X] document it
1. [x] release
- [a link](x.md)
- [1]: http://example.org
- [ref][x]

```
- [] in a fence
```
"""


def checklist(text: str, *items: str, before: str | None = None) -> list[str]:
    return [str(issue) for issue in DocumentValidator().validate_checklist(text, items, before=before).issues]


@pytest.mark.parametrize(
    ("items", "issues"),
    [
        ([], []),
        (["write the parser", "Document it", "release", "of numbers"], []),
        (["write the tests"], ["line 5: 'write the tests' is not checked"]),
        (["tests"], ["line 5: 'write the tests' is not checked"]),
        (["write"], ["line 5: 'write the tests' is not checked"]),
        (
            ["write the parsre"],
            ["line 1: there is no item 'write the parsre'; did you mean 'write the parser'?"],
        ),
        (["sing"], ["line 1: there is no item 'sing'"]),
        (["in a fence"], ["line 1: there is no item 'in a fence'"]),
    ],
)
def test_the_tasks_items_are_checked(items: list[str], issues: list[str]) -> None:
    assert checklist(TASKS, *items) == issues


@pytest.mark.parametrize(
    "line", ["- [] text", "- [y] text", "-[x] text", "- [x]text", "* [ x] text", "[x] text"]
)
def test_what_is_nearly_an_item_is_told(line: str) -> None:
    [issue] = checklist(f"- [x] a\n{line}\n")
    assert issue == f"line 2: {line!r} is not an item of a task list; write `- [ ] text`"
    assert checklist(f"- [x] a\n{line}\n", before=f"{line}\n") == []


def test_an_item_is_not_done_before_its_parts_are() -> None:
    text = "- [x] whole\n  - [x] a\n    - [ ] deep\n- [x] other\n\t- [x] b\n"
    assert checklist(text) == [
        "line 1: is checked, but its part at line 3 is not",
        "line 2: is checked, but its part at line 3 is not",
    ]


@given(st.text(alphabet="#-*[]() xX1.0:\n`~<!>aUnreleased\t2024", max_size=300))
def test_any_text_is_checked(text: str) -> None:
    lines = text.count("\n") + 1
    validator = DocumentValidator()
    for result in (validator.validate_changelog(text), validator.validate_checklist(text, ["a"])):
        assert all(1 <= issue.line <= lines for issue in result.issues)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", ["#", "# ", "- [", "- [x] ", "(", "## [", "`", " ", "\t", "<!--", "1.", "## 1.0.0-a", "[x"]
)
def test_a_hostile_document_takes_no_longer_than_it_is_long(unit: str) -> None:
    validator = DocumentValidator()
    for text in (unit * (300_000 // len(unit)), (unit * 50 + "\n") * 2000):
        validator.validate_changelog(text, before="")
        validator.validate_checklist(text, ["nothing"])


GOOD = """# Changelog

All notable changes. The format is that of [Keep a Changelog](https://keepachangelog.com/en/1.1.0/).

## [Unreleased]

### Added

- A `thing` that is **new**
  and goes on.

## [1.10.0](https://example.org/c) - 2024-03-01

### Fixed

* A mistake.

## 1.9.0 - 2024-02-29 [YANKED]

### Security

- A hole.

## [1.9.0-rc.1] - 2024-02-01

[Unreleased]: https://example.org/compare
"""


def changelog(text: str, **options: object) -> list[str]:
    result = DocumentValidator().validate_changelog(text, needs_entry=False, **options)  # type: ignore[arg-type]
    assert result.valid is not bool(result.issues)
    return [str(issue) for issue in result.issues]


def test_a_changelog_in_order_has_no_issue() -> None:
    assert changelog(GOOD) == []


def test_the_projects_own_changelog_is_in_order() -> None:
    own = Path(__file__).parents[2] / "CHANGELOG.md"
    assert changelog(own.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "issue"),
    [
        ("# Changelog\n", "", "line 4: the title is missing"),
        ("## [Unreleased]", "## Soon", "line 5: 'Soon' is not a version"),
        ("## 1.9.0 - 2024-02-29 [YANKED]", "## 1.9.0", "line 18: 1.9.0 has no date"),
        ("2024-02-29", "2024-02-30", "line 18: '2024-02-30' is not a date in the form"),
        ("2024-02-29", "29.02.2024", "line 18: '29.02.2024' is not a date in the form"),
        ("2024-02-29", "2024-3-1", "line 18: '2024-3-1' is not a date in the form"),
        ("1.9.0-rc.1", "1.9..0", "line 24: '1.9..0' is not a version number"),
        ("1.9.0-rc.1", "1.9.0", "line 24: 1.9.0 is already at line 18"),
        ("1.9.0-rc.1", "2.0.0", "line 24: 2.0.0 is newer than 1.9.0 above it"),
        ("1.10.0", "1.2.0", "line 18: 1.9.0 is newer than 1.2.0 above it"),
        ("2024-02-01", "2024-04-01", "line 24: 1.9.0-rc.1 is dated 2024-04-01, later than 1.9.0"),
        ("### Added", "### New", "line 7: 'New' is not a section; use Added, Changed"),
        ("### Added\n\n", "", "line 7: this entry has no section"),
        ("  and goes on.\n", "\n### Added\n\n- x\n", "line 11: Added is already at line 7"),
    ],
)
def test_what_is_not_in_order_is_told_with_its_line(old: str, new: str, issue: str) -> None:
    assert GOOD.count(old) >= 1
    [said] = changelog(GOOD.replace(old, new, 1))
    assert said.startswith(issue)


def test_unreleased_stands_first_and_once() -> None:
    moved = "# Changelog\n\n## [1.0.0] - 2024-01-01\n\n## [Unreleased]\n\n## unreleased\n"
    assert changelog(moved) == [
        "line 5: Unreleased must come before all versions",
        "line 7: Unreleased is already at line 5",
        "line 7: Unreleased must come before all versions",
    ]


@pytest.mark.parametrize("text", ["", "# Changelog\n", "just words\n"])
def test_one_without_a_version_is_told_how_to_begin(text: str) -> None:
    assert "line 1: there is no version; write `## [Unreleased]`" in changelog(text)


def test_what_stands_in_a_fence_or_a_comment_is_no_heading() -> None:
    extra = "\n```markdown\n## nonsense\n```\n<!--\n## more\n-->\n<!-- ## one -->\n~~~~\n## x\n~~~\n~~~~\n"
    assert changelog(GOOD + extra) == []


def test_old_mistakes_are_not_held_against_the_task_and_new_ones_are() -> None:
    old = GOOD.replace("### Fixed", "### Bugs")
    assert changelog("preface\n" + old, before=old) == []
    assert changelog(old.replace("### Added", "### Bugs"), before=old) == [
        "line 7: 'Bugs' is not a section; use Added, Changed, Deprecated, Removed, Fixed, Security"
    ]


def test_an_old_mistake_that_names_a_line_stays_old_when_it_moves() -> None:
    old = GOOD.replace("  and goes on.\n", "\n### Added\n\n- x\n")
    assert changelog(old) == ["line 11: Added is already at line 7"]
    assert changelog(old.replace("\n## [Unr", "\nMore.\n\n## [Unr"), before=old) == []


@pytest.mark.parametrize(
    ("entry", "version", "found"),
    [
        ("a thing that is new and goes on", None, True),
        ("THING that", None, True),
        ("a mistake", None, False),
        ("a mistake", "1.10.0", True),
        ("a mistake", "v1.10.0", True),
        ("a hole", "1.9.0", True),
        ("a hole", "7.0.0", False),
    ],
)
def test_the_tasks_entry_stands_under_its_version(entry: str, version: str | None, found: bool) -> None:
    result = DocumentValidator().validate_changelog(GOOD, entry=entry, version=version)
    assert result.valid is found
    assert found or "there is no entry for" in str(result.issues[0])


def test_an_entry_of_another_version_or_an_old_one_is_not_the_tasks() -> None:
    validate = DocumentValidator().validate_changelog
    assert not validate(GOOD, before=GOOD).valid
    assert not validate(GOOD.replace("* A mistake.", "* A mistake.\n* New."), before=GOOD).valid
    assert validate(GOOD.replace("  and goes on.", "  and goes on.\n- New."), before=GOOD).valid
