"""Error codes, and suggestions of the nearest known name."""

from __future__ import annotations

import pytest

from tideate_core.errors import LONGEST_NAME, SlowSchema, TideateError, did_you_mean, nearest

KNOWN = ["ask", "cancel", "refactor", "review", "rollback", "run", "say", "show", "status", "task", "trust"]


def test_the_code_is_the_name_of_the_class_itself() -> None:
    assert (TideateError("x").code, SlowSchema("x").code) == ("TideateError", "SlowSchema")


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
        ("a" * (LONGEST_NAME + 1), None),
    ],
)
def test_the_name_with_the_fewest_edits_is_suggested(name: str, wanted: str | None) -> None:
    assert nearest(name, KNOWN) == wanted
    assert did_you_mean(name, KNOWN) == (f"; did you mean {wanted!r}?" if wanted else "")
    assert nearest(name, []) is None


def test_of_equally_near_names_the_one_with_the_same_beginning_goes_first() -> None:
    assert nearest("bst", ["list", "best", "test"]) == "best"
    assert nearest("tet", ["bet", "ten"]) == "ten"
