"""Every name and pattern of the tables is found, and for one reason."""

from __future__ import annotations

from collections import Counter

import pytest

from tideate_core.workspace.executable_files import reason_by_path
from tideate_core.workspace.executable_tables import EXECUTED_PARTS, EXECUTED_PATHS


def test_every_pattern_finds_a_path_of_its_form() -> None:
    for words in EXECUTED_PATHS.values():
        for pattern in words.split():
            path = pattern.removesuffix("**").replace("*", "some") + ("a" if pattern.endswith("/**") else "")
            assert reason_by_path(path), pattern
            assert reason_by_path(f"deep/{path}"), pattern


def test_no_pattern_stands_under_two_reasons() -> None:
    counts = Counter(
        pattern for words in EXECUTED_PATHS.values() for pattern in set(words.casefold().split())
    )
    assert [pattern for pattern, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("name", EXECUTED_PARTS)
def test_a_file_with_parts_is_not_run_by_its_path_alone(name: str) -> None:
    assert reason_by_path(name) == ""
    assert name == name.casefold()
