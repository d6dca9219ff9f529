"""Canonical layout of `.workflow` texts, and definitions as text."""

from __future__ import annotations

import pytest

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language import Parsed, format_text, parse, write_definition

MESSY = """\ufeff

#   top   \n


:   first
:second\t
   // between

*   to\ta  :
\t\tIndented.\t

\t\t  - deeper


a to b
a  to  c

b to c: inline   \n: x
b to *
# after
c to *: one
    two
:  dangling
# last
"""

TIDY = """\
#   top

: first
: second
// between
* to a:
  Indented.

    - deeper

a to b
a to c

b to c: inline

: x
b to *
# after
c to *:
  one
  two

: dangling
# last
"""


def test_a_messy_text_becomes_the_canonical_one() -> None:
    assert format_text(MESSY) == TIDY


def test_the_canonical_text_stays_as_it_is() -> None:
    assert format_text(TIDY) == TIDY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a to b", "a to b\n"),
        ("a to b:\n\n\nb to c", "a to b\nb to c\n".replace("\nb", "\n\nb")),
        ("a to b:\n\tx\nb to c", "a to b:\n  x\n\nb to c\n"),
        ("a to b:\n  x\n# c\nb to c", "a to b:\n  x\n\n# c\nb to c\n"),
        ("a to b\n\n\n\n# c\n\n\nb to c", "a to b\n\n# c\n\nb to c\n"),
        ("a to b\n  # c\nb to c", "a to b\n# c\nb to c\n"),
        ("a to b\n: x\nb to c", "a to b\n\n: x\nb to c\n"),
        (": x\n\n# c\n\nb to c", ": x\n# c\nb to c\n"),
        (":\na to b", ":\na to b\n"),
        ("a to b:\n\tx\n        y", "a to b:\n  x\n  y\n"),
    ],
)
def test_layout_by_rule(text: str, expected: str) -> None:
    assert format_text(text) == expected


def test_line_ends_stay_those_of_the_first_line() -> None:
    assert format_text("a to b:\r\n\tx\nb to c") == "a to b:\r\n  x\r\n\r\nb to c\r\n"
    assert "\r" not in format_text("a to b:\n\tx\r\nb to c")


def test_a_text_with_errors_is_refused_with_all_of_them() -> None:
    with pytest.raises(InvalidWorkflowFile, match=r"(?s)w:1:3: error.*w:2:6: error") as caught:
        format_text("a too b\nb to 1", "w")
    assert len(caught.value.diagnostics) >= 2


def test_a_mistake_that_nobody_reported_is_never_formatted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parsed, "errors", ())
    for text in ("a to b\nwhat is this", "a to b\n  c to d: x", "a to b\0"):
        with pytest.raises(ValueError, match="no layout for a mistake"):
            format_text(text)


def test_a_definition_written_and_parsed_is_the_same() -> None:
    definition = parse(MESSY, "n").definition
    written = write_definition(definition)
    again = parse(written, "n").definition
    assert [t[:4] for t in again.transitions] == [t[:4] for t in definition.transitions]
    assert [s[:2] for s in again.states.values()] == [s[:2] for s in definition.states.values()]
    assert format_text(written) == written


def test_an_empty_definition_is_an_empty_text() -> None:
    assert write_definition(parse("").definition) == ""
