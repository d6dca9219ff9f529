"""Nothing that users and other tools hold on to changes unnoticed."""

from __future__ import annotations

import difflib

import pytest

from tests.public_surface import PACKAGES, RECORD, SECTIONS, recorded, rendered

REMEDY = "if this change is meant: `python -m tests.public_surface --write`, and a line in CHANGELOG.md"


@pytest.mark.parametrize("section", SECTIONS)
def test_the_public_surface_is_the_recorded_one(section: str) -> None:
    before, now = rendered(recorded()[section]), rendered(SECTIONS[section]())
    difference = difflib.unified_diff(before.splitlines(), now.splitlines(), "recorded", "now", "", "", 2, "")
    if before != now:
        pytest.fail("\n".join([*difference, REMEDY]), pytrace=False)


def test_every_name_that_the_design_promises_can_be_imported() -> None:
    assert SECTIONS["python"]() == {package: sorted(names.split()) for package, names in PACKAGES.items()}


def test_the_record_is_sorted_and_has_all_sections() -> None:
    assert RECORD.read_text(encoding="utf-8") == rendered(recorded()) + "\n"
    assert list(recorded()) == sorted(SECTIONS)
