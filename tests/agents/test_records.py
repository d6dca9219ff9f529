"""An entry stands where Keep a Changelog wants it, and nothing else of the text is changed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.agents.records import add_entry, other_changelogs, tick_items
from tideate_core.gates import SECTIONS, DocumentValidator

HEAD = "# Changelog\n\n"
RELEASE = "## [1.0.0] - 2024-01-01\n\n### Added\n\n- Old."
LINKS = "\n\n[1.0.0]: https://example.org/1"


OURS = "## [Unreleased]\n\n"
ENTRY = "### Fixed\n\n- New.\n\n"
A = "### Added\n\n- A.\n\n"
EXAMPLE = "```\n## [Unreleased]\n```\n\n"

BEFORE_A_RELEASE = {
    "no Unreleased": ("", OURS + ENTRY),
    "an empty Unreleased": (OURS, OURS + ENTRY),
    "behind other entries": (
        OURS + "### Fixed\n\n- A.\n  More of it.\n\n",
        OURS + "### Fixed\n\n- A.\n  More of it.\n- New.\n\n",
    ),
    "another style": (
        "## Unreleased\n### fixed\n* A.\n### Security\n* B.\n",
        "## Unreleased\n### fixed\n* A.\n* New.\n### Security\n* B.\n",
    ),
    "a section in the standard's order": (
        OURS + A + "### Security\n\n- B.\n\n",
        OURS + A + ENTRY + "### Security\n\n- B.\n\n",
    ),
    "an empty section": (OURS + "### Fixed\n\n", OURS + ENTRY),
    "an example is not a heading": (EXAMPLE, EXAMPLE + OURS + ENTRY),
}


@pytest.mark.parametrize(("before", "after"), BEFORE_A_RELEASE.values(), ids=BEFORE_A_RELEASE)
def test_an_entry_stands_in_its_place_above_a_release(before: str, after: str) -> None:
    assert add_entry(HEAD + before + RELEASE, "Fixed", "New.") == HEAD + after + RELEASE


TO_THE_END = {
    "above link references": (HEAD + OURS + A.strip() + LINKS, HEAD + OURS + A + ENTRY.strip() + LINKS),
    "no version at all": ("# Changelog" + LINKS, HEAD + OURS + ENTRY.strip() + LINKS),
    "empty": ("", HEAD + OURS + ENTRY.strip()),
}


@pytest.mark.parametrize(("before", "after"), TO_THE_END.values(), ids=TO_THE_END)
def test_an_entry_stands_in_its_place_where_there_is_no_release(before: str, after: str) -> None:
    assert add_entry(before, "Fixed", "New.") == after


def test_line_ends_of_a_text_that_mixes_them_are_kept() -> None:
    before = "# Changelog\r\n\r\n## [Unreleased]\r\n\r\n### Fixed\r\n\r\n- A.\r\nlast"
    assert "- A.\r\nlast\r\n- New." in add_entry(before, "Fixed", "New.")
    assert add_entry(HEAD + "odd\r\n\n## [Unreleased]\n", "Fixed", "New.").count("\r") == 1


BLOCKS = st.sampled_from(
    [
        "## [Unreleased]",
        "### Added",
        "### Fixed",
        "### Removed",
        "- A.",
        "  more",
        "",
        "* B.",
        RELEASE,
        "text",
    ]
)


@pytest.mark.slow
@given(st.lists(BLOCKS, max_size=10), st.sampled_from(SECTIONS), st.booleans())
def test_the_entry_is_there_and_nothing_is_lost(blocks: list[str], section: str, carriage: bool) -> None:
    before = "\n".join(["# Changelog", "", *blocks])
    before = before.replace("\n", "\r\n") if carriage else before
    after = add_entry(before, section, "Something new.")
    result = DocumentValidator().validate_changelog(after, before=before, entry="Something new.")
    assert not [issue for issue in result.issues if "no entry" in issue.message]
    kept = [line for line in after.splitlines() if line.strip()]
    for line in (line for line in before.splitlines() if line.strip()):
        assert kept.count(line) >= before.splitlines().count(line)
    assert len(after.splitlines()) - len(before.splitlines()) <= 7


CHECKLIST = (
    "# List\n\n- [ ] one [ ] two\n* [x] done\n1. [ ] three\n\n```\n- [ ] no item\n```\n- [ ] one [ ] two"
)


def test_only_the_boxes_that_are_meant_are_ticked() -> None:
    lines = CHECKLIST.split("\n")
    after = tick_items(CHECKLIST, {3, 4, 5, 8, 99}).split("\n")
    assert [number for number, line in enumerate(after, 1) if line != lines[number - 1]] == [3, 5]
    assert (after[2], after[4]) == ("- [x] one [ ] two", "1. [x] three")


def test_carriage_returns_stay() -> None:
    assert tick_items("- [ ] a\r\n- [ ] b\r", {1}) == "- [x] a\r\n- [ ] b\r"


def test_changelogs_in_other_forms_are_found() -> None:
    files = ["CHANGES.rst", "docs/history.txt", "changelog.d/12.fix.md", "src/newsfragments/1.bugfix", "NEWS"]
    other = ["CHANGELOG.md", "src/history.py", "docs/changes/page.md", "tests/news_test.py"]
    assert other_changelogs([*files, *other]) == [
        "CHANGES.rst",
        "NEWS",
        "changelog.d/",
        "docs/history.txt",
        "src/newsfragments/",
    ]
