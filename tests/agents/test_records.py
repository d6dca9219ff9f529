"""Changelog entries, checklists and the memory file are read and updated; the rest is unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, strategies as st

from tests.agents.stage import StageStep, texts
from tests.agents.test_documenter import CHANGELOG, answer, documented
from tests.harness.project import write_files
from tideate_core.agents.records import (
    LONGEST_MEMORY,
    MEMORY_FILE,
    add_entry,
    memory_material,
    other_changelogs,
    tick_items,
)
from tideate_core.gates import SECTIONS, DocumentValidator
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext

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


NOTES = "# Notes\n\n- The tests need a clock.\n"


async def shown(step: StageStep) -> str:
    return await memory_material(cast("StepContext", step))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"CHANGELOG.md": CHANGELOG, MEMORY_FILE: NOTES, "src/a.py": ""})
    return tmp_path


async def test_a_role_is_shown_the_memory(root: Path) -> None:
    text = await shown(StageStep(root))
    assert "(MEMORY.md):\n\n```markdown\n# Notes\n\n- The tests need a clock.\n```" in text


async def test_without_a_memory_nothing_is_shown(root: Path, tmp_path: Path) -> None:
    (root / MEMORY_FILE).unlink()
    assert await shown(StageStep(root)) == ""
    (root / MEMORY_FILE).write_text("  \n")
    assert await shown(StageStep(root)) == ""


async def test_a_long_memory_is_cut_off_with_a_word(root: Path) -> None:
    (root / MEMORY_FILE).write_text("x" * LONGEST_MEMORY + "y")
    text = await shown(StageStep(root))
    assert "y" not in text.rpartition("x")[0]
    assert "and more that is not shown here" in text


async def test_a_memory_that_leads_out_of_the_project_is_not_read(root: Path, tmp_path: Path) -> None:
    (root / MEMORY_FILE).unlink()
    (root / MEMORY_FILE).symlink_to("/etc/hosts")
    step = StageStep(root, answer())
    assert await shown(step) == ""
    assert "the project's memory was not read" in step.notices[0]
    done = await documented(step)
    assert texts(done).keys() == {"CHANGELOG.md"}


async def test_a_secret_in_the_memory_is_not_shown_unasked(root: Path) -> None:
    (root / MEMORY_FILE).write_text("token = ghp_" + "a1B2" * 9 + "\n")
    step = StageStep(root, decisions=(Decision(False),))
    assert await shown(step) == ""
    assert "MEMORY.md was left out" in step.notices[0]


async def test_the_documenter_changes_the_memory_where_the_change_taught_something(root: Path) -> None:
    step = StageStep(root, answer(documents=(MEMORY_FILE,)), f"```markdown\n{NOTES}- Doubling is exact.\n```")
    done = await documented(step)
    first, second = step.asked
    assert "MEMORY.md keeps what later tasks have to know" in first.user
    assert "take out what is no longer true" in second.user
    assert texts(done)[MEMORY_FILE] == f"{NOTES}- Doubling is exact."
    assert done.result.docs == [MEMORY_FILE]


async def test_the_memory_stays_as_it_is_where_nothing_was_learned(root: Path) -> None:
    step = StageStep(root, answer())
    done = await documented(step)
    assert texts(done).keys() == {"CHANGELOG.md"}
