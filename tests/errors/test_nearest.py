"""The nearest of known names, by edits."""

from __future__ import annotations

import pytest

from tideate_core.errors.nearest import LONGEST, nearest

KNOWN = ["ask", "cancel", "refactor", "review", "rollback", "run", "say", "show", "status", "task", "trust"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("statsu", "status"),
        ("reviwe", "review"),
        ("refcator", "refactor"),
        ("REVIEW", "review"),
        ("aks", "ask"),
        ("rnu", "run"),
        ("shwo", "show"),
        ("tast", "task"),
        ("cancle", "cancel"),
        ("roolback", "rollback"),
        ("zzz", None),
        ("x", None),
        ("", None),
        ("a" * (LONGEST + 1), None),
    ],
)
def test_the_name_with_the_fewest_edits_is_found(name: str, wanted: str | None) -> None:
    assert nearest(name, KNOWN) == wanted


def test_of_equally_near_names_the_one_with_the_same_beginning_goes_first() -> None:
    assert nearest("bst", ["list", "best", "test"]) == "best"
    assert nearest("tet", ["bet", "ten"]) == "ten"


def test_no_name_is_near_among_none() -> None:
    assert nearest("name", []) is None
