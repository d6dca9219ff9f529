"""Warnings about valid but doubtful machines."""

from __future__ import annotations

import pytest

from tideate_core.machines.language import parse


def warnings(text: str) -> list[tuple[int, int, str]]:
    return [(*d.position, d.code) for d in parse(text).warnings]


def message(text: str) -> str:
    (warning,) = parse(text).warnings
    return warning.message


def test_a_sound_machine_has_no_warnings() -> None:
    assert warnings("* to a\na to b\nb to a\na to *") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a to a\na to *", [(1, 1, "no-entry")]),
        ("* to a\na to *\nb to a", [(3, 1, "unreachable-state")]),
        (
            "* to a\na to *\nb to c\nc to b\nc to *",
            [(3, 1, "unreachable-state"), (3, 6, "unreachable-state")],
        ),
        ("* to a\na to b\na to *", [(2, 6, "no-way-out")]),
        ("* to a\na to b\nb to a", [(1, 6, "no-way-out"), (2, 6, "no-way-out")]),
        ("* to a\na to *\na to b\nb to c\nc to b", [(3, 6, "no-way-out"), (4, 6, "no-way-out")]),
        ("* to a\na to *\n# x\na to *", [(4, 1, "duplicate-transition")]),
        ("* to a\n* to a\na to *", [(2, 1, "duplicate-transition")]),
        ("* to a\na to *\n: x", [(3, 1, "dangling-guidance")]),
        ("* to a\na to *\n: x\n# c\n: y\n\n", [(3, 1, "dangling-guidance")]),
        ("* to a:\na to *", [(1, 7, "empty-guidance")]),
        ("* to a:\n  \n\na to *", [(1, 7, "empty-guidance")]),
        (":\n* to a\na to *", [(1, 1, "empty-guidance")]),
        ("* to *", []),
    ],
)
def test_what_is_doubtful_has_a_warning_with_its_place(
    text: str, expected: list[tuple[int, int, str]]
) -> None:
    assert warnings(text) == expected
    assert parse(text).errors == ()


def test_the_order_of_the_text_does_not_matter_to_reachability() -> None:
    assert warnings("c to *\nb to c\na to b\n* to a") == []
    assert warnings("c to d\nb to c\na to b\n* to a\nd to a\nd to *") == []


def test_the_end_is_no_entry() -> None:
    """`a to *` and `* to b` do not lead from a to b, nor does b's way out help a."""
    assert warnings("* to b\nb to *\nc to *") == [(3, 1, "unreachable-state")]
    assert warnings("* to b\nb to *\nb to c\nc to c") == [(3, 6, "no-way-out")]


@pytest.mark.parametrize(
    "text",
    [
        "* to a\na too b\na to *",
        "* to a\na foo b\nb to c\nc to *",
        "* foo a\na to b\nb to *",
        "* to a\na to b\nb tp c\nc to d\nd to *",
        "* to a\na to define-project\ndefine_project to c\nc to *",
        "* to a\na b\nb to c\nc to *",
        "* to a\na to b\nb foo *",
    ],
)
def test_one_slip_of_the_pen_is_one_diagnostic(text: str) -> None:
    assert len(parse(text).errors) == 1
    assert warnings(text) == []


def test_a_machine_is_doubted_only_without_mistakes() -> None:
    text = "* to a\na {} b\nb to *\nlost to a\na to dead"
    assert warnings(text.format("foo")) == []
    assert warnings(text.format("foo") + "\nb to *") == [(6, 1, "duplicate-transition")]
    assert warnings(text.format("to")) == [(4, 1, "unreachable-state"), (5, 6, "no-way-out")]


def test_a_duplicate_says_where_the_first_one_is() -> None:
    text = "* to a\na to *: one\na to *: two"
    assert "'a to *' is already in line 2" in message(text)
    assert parse(text).warnings[0].length == len("a to *")


def test_a_slip_of_the_pen_is_recognised() -> None:
    text = "* to define_project\ndefine_project to *\ndefine_porject to define_project"
    assert message(text).endswith("did you mean 'define_project'?")
    text = "* to define_project\ndefine_project to define_porject\ndefine_project to *"
    assert message(text).endswith("did you mean 'define_project'?")


def test_a_name_that_only_shares_an_ending_is_no_slip() -> None:
    assert "did you mean" not in message("* to define_project\ndefine_project to *\nfinish_project to *")


def test_a_dead_end_says_what_to_add() -> None:
    assert "add 'b to *'" in message("* to a\na to b\na to *")
