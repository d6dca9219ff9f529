"""Definitions and errors of `.workflow` texts."""

from __future__ import annotations

import pytest

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language import (
    Lexer,
    MachineDefinition,
    Parsed,
    Parser,
    Position,
    State,
    Transition,
    diagnostics,
    explain_all,
    explanations,
    format_text,
    parse,
)


def understood(text: str) -> MachineDefinition:
    parsed = parse(text)
    assert parsed.errors == ()
    return parsed.definition


def guidance(text: str) -> str:
    return understood(text).transitions[0].guidance


def mistakes(text: str) -> list[tuple[int, int, str]]:
    return [(*d.position, d.code) for d in parse(text).errors]


def test_the_documents_example_is_understood_with_all_its_places() -> None:
    text = (
        "* to initial_loaded:\n  Load project state and display to user.\n\n"
        ": User wants to continue\ninitial_loaded to continue_project\n"
    )
    load = "Load project state and display to user."
    assert understood(text) == MachineDefinition(
        "workflow",
        {
            "initial_loaded": State("initial_loaded", load, Position(1, 6)),
            "continue_project": State("continue_project", "", Position(5, 19)),
        },
        (
            Transition("*", "initial_loaded", "", load, 1, 6),
            Transition(
                "initial_loaded",
                "continue_project",
                "User wants to continue",
                "",
                5,
                19,
            ),
        ),
    )


def test_the_name_of_a_definition_is_the_one_given() -> None:
    assert parse("* to a", "PLANNER").definition.name == "PLANNER"


def test_states_stand_in_the_order_of_their_first_mention_without_the_boundary() -> None:
    assert list(understood("* to b\nc to a\nb to *\na to b").states) == ["b", "c", "a"]


def test_a_states_guidance_is_the_first_that_is_given() -> None:
    definition = understood("* to a\nb to a: one\nc to a: two\na to *: bye")
    assert definition.states["a"].guidance == "one"
    assert [t.guidance for t in definition.transitions] == ["", "one", "two", "bye"]


@pytest.mark.parametrize("text", ["to to to", "* to to", "to to *", "to to to: to"])
def test_a_state_may_be_called_to(text: str) -> None:
    assert list(understood(text).states) == ["to"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a to b: see http://x/#y // z : w  ", "see http://x/#y // z : w"),
        ("a to b:x", "x"),
        ("a to b  :  x", "x"),
        ("a to b:\n  x\n  y", "x\ny"),
        ("a to b:\n\tx\n\ty\n", "x\ny"),
        ("a to b:\n  x\n\n \t\n  y\n\n\n", "x\n\n\ny"),
        ("a to b:\n\n\n  x\n", "x"),
        ("a to b:\n    x\n  y\n      z", "  x\ny\n    z"),
        ("a to b: x\n    y\n      z", "x\ny\n  z"),
        ("a to b: x\n\n  y", "x\n\ny"),
        ("a to b:\n  # x\n  // y\n  : z\n  a to b: c", "# x\n// y\n: z\na to b: c"),
        ("a to b:\n  x  \n  y\t\n", "x\ny"),
        ("a to b:\n  x\t\n  y", "x\ny"),
        ("a to b:\n \tx\n \t\ty", "x\n\ty"),
        ("a to b:\n\tx\n        y\n         z", "x\ny\n z"),
        ("a to b:\n \tx\n  y", "\tx\n y"),
        ("a to b:\n  \u05e9\u05dc\u05dd \u2067x\n  \u2028y", "\u05e9\u05dc\u05dd \u2067x\n\u2028y"),
    ],
)
def test_state_guidance_is_what_the_author_sees(text: str, expected: str) -> None:
    assert guidance(text) == expected
    assert guidance(text.replace("\n", "\r\n")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (": x\na to b", "x"),
        (":x: y  \na to b", "x: y"),
        (": x\n: y\na to b", "x\ny"),
        (": x\n:\n: y\na to b", "x\n\ny"),
        (":\n: x\n:\na to b", "x"),
        (": x\n\n# c\n\n: y\n// c\na to b", "x\ny"),
        (": # x\na to b", "# x"),
    ],
)
def test_guidance_lines_say_when_the_next_transition_is_taken(text: str, expected: str) -> None:
    first, second = understood(f"{text}\nb to a").transitions
    assert (first.when, second.when) == (expected, "")


@pytest.mark.parametrize(
    ("text", "places", "words"),
    [
        ("form_a too form_b", [(1, 8, "expected-to")], "expected 'to' after 'form_a', found 'too'; did you"),
        ("a TO b", [(1, 3, "expected-to")], "did you mean 'to'?"),
        ("a -> b", [(1, 3, "expected-to")], "found '->'"),
        ("a", [(1, 2, "expected-to")], "found the end of the line"),
        ("a: b", [(1, 2, "expected-to")], "found ':'"),
        ("Do the other thing.", [(1, 4, "expected-to")], "guidance stands after a ':'"),
        ("a to", [(1, 5, "expected-state")], "found the end of the line"),
        ("a to: b", [(1, 5, "expected-state")], "found ':'"),
        ("a-b to c", [(1, 1, "invalid-name")], "found 'a-b'"),
        ("a to 1b", [(1, 6, "invalid-name")], "found '1b'"),
        ("a to é", [(1, 6, "invalid-name")], "found 'é'"),
        ("a to **", [(1, 6, "invalid-name")], "found '**'"),
        ("*to a", [(1, 1, "invalid-name")], "found '*to'"),
        ("a to b c", [(1, 8, "unexpected-text")], "expected ':' or the end of the line after 'b', found 'c'"),
        ("a to b # c", [(1, 8, "trailing-comment")], "move it above"),
        ("a to b // c", [(1, 8, "trailing-comment")], "move it above"),
        ("a to b\n  x", [(2, 3, "unexpected-indent")], "end that transition with ':'"),
        ("a to b\n# c\n\tb to c", [(3, 2, "unexpected-indent")], "start the line in the first column"),
        (": x\n  y\na to b", [(2, 3, "unexpected-indent")], "begins with ':'"),
        ("a to b\n: x\ry", [(2, 4, "lone-carriage-return")], "\\r\\n"),
        ("a to b: \0", [(1, 9, "invalid-character")], "control character U+0000"),
        ("a to b: \ud83d", [(1, 9, "invalid-character")], "lone surrogate U+D83D"),
        ("a\0b to c", [(1, 2, "invalid-character")], "U+0000"),
        ("", [(1, 1, "no-transitions")], "expected at least one transition"),
        ("# only this\n", [(1, 1, "no-transitions")], "* to start"),
    ],
)
def test_a_mistake_tells_its_place_and_what_was_expected(
    text: str, places: list[tuple[int, int, str]], words: str
) -> None:
    assert mistakes(text) == places
    assert words in parse(text).errors[0].message


def test_all_mistakes_are_reported_and_the_rest_is_understood() -> None:
    text = (
        "* to a:\n  Begin.\na too b:\n  Swallowed, and no mistake of its own.\n"
        "b to c # why\n  c to d\n1d to e\ne to\n: fine\nc to *\n"
    )
    assert mistakes(text) == [
        (3, 3, "expected-to"),
        (5, 8, "trailing-comment"),
        (6, 3, "unexpected-indent"),
        (7, 1, "invalid-name"),
        (8, 5, "expected-state"),
    ]
    definition = parse(text).definition
    assert [(t.source, t.target) for t in definition.transitions] == [
        ("*", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "*"),
    ]
    assert definition.transitions[1].guidance == "Swallowed, and no mistake of its own."
    assert definition.transitions[-1].when == "fine"
    assert list(definition.states) == ["a", "b", "c", "e"]


def test_text_that_is_not_a_transition_is_never_taken_for_one() -> None:
    parsed = parse("* to a\n  a to b\n\n  b to c\nplease go home\n")
    assert [(t.source, t.target) for t in parsed.definition.transitions] == [("*", "a")]


@pytest.mark.parametrize("stray", ["  stray", "\t* to first: Do it.", " : when", "  a to b"])
@pytest.mark.parametrize("at", range(8))
def test_an_indented_line_is_a_mistake_at_every_line(at: int, stray: str) -> None:
    lines = ["* to a", "# one", "a to b", "", ": when", ": and when", "b to *"]
    text = "\n".join([*lines[:at], stray, *lines[at:]])
    places = [(line, code) for line, _, code in mistakes(text)]
    assert places == [(at + 1, "unexpected-indent")]
    with pytest.raises(InvalidWorkflowFile):
        format_text(text)


def test_a_run_of_indented_lines_is_one_mistake() -> None:
    text = "a to b\n  x\n  y\n  z\n\n  w\n"
    assert mistakes(text) == [(2, 3, "unexpected-indent"), (6, 3, "unexpected-indent")]


def test_a_guidance_line_does_not_pass_over_a_mistake_to_another_transition() -> None:
    assert parse(": x\nwhat is this\na to b").definition.transitions[0].when == ""


def test_an_indented_line_does_not_cut_guidance_off_its_transition() -> None:
    assert parse(": x\n  y\na to b").definition.transitions[0].when == "x"


def test_the_text_and_its_tokens_give_the_same() -> None:
    text = ": x\n* to a:\n  y\na too b\n\0"
    from_tokens = Parser(Lexer(text).tokens(), "n").parse()
    assert from_tokens.definition == parse(text, "n").definition
    assert from_tokens.diagnostics == parse(text, "n").diagnostics
    assert (from_tokens.text, parse(text).text) == ("", text)


def test_diagnostics_stand_in_the_order_of_the_text() -> None:
    parsed = parse("* to a\n\0\na to b c\nlost to x\n")
    assert [d.position for d in parsed.diagnostics] == sorted(d.position for d in parsed.diagnostics)
    assert {*parsed.errors, *parsed.warnings} == {*parsed.diagnostics}


def test_require_explains_every_error_and_keeps_the_diagnostics() -> None:
    parsed = parse("* to a\na too b\n  c\nb to * x\n")
    with pytest.raises(InvalidWorkflowFile) as caught:
        parsed.require("f.workflow")
    message = str(caught.value)
    assert [message.count(f"f.workflow:{place}: error:") for place in ("2:3", "3:3", "4:8")] == [1, 1, 1]
    assert "  a too b\n    ^^^" in message
    assert caught.value.diagnostics == parsed.diagnostics


def test_require_returns_a_definition_that_has_only_warnings() -> None:
    parsed = parse("a to b")
    assert parsed.warnings
    assert parsed.require("x") is parsed.definition


def shown(text: str) -> list[str]:
    parsed = parse(text)
    return explain_all(parsed.errors[:1], text, "f")[0].split("\n")


def test_an_explanation_is_the_place_the_line_and_the_caret() -> None:
    assert shown("* to a\na too bc") == [
        "f:2:3: error: expected 'to' after 'a', found 'too'; did you mean 'to'? [expected-to]",
        "  a too bc",
        "    ^^^",
    ]


@pytest.mark.parametrize(
    ("text", "line", "caret"),
    [
        ("a\tto\tb\tc", "  a    to    b    c", "                  ^"),
        ("\ufeffa to b c", "  a to b c", "         ^"),
        ("a to b # 日本", "  a to b # 日本", "         ^^^^^^"),
        ("日本 to b", "  日本 to b", "  ^^^^"),
        ("日本 x\0", "  日本 x\ufffd", "        ^"),
        ("e\u0301e\0", "  e\u0301e\ufffd", "    ^"),
        (": \x1b[31m\na to b", "  : \ufffd[31m", "    ^"),
        (": \u202ex\udc00\na to b", "  : \ufffdx\ufffd", "      ^"),
        ("a to\r\nb to c\r\n", "  a to", "      ^"),
    ],
)
def test_the_caret_stands_under_what_is_meant(text: str, line: str, caret: str) -> None:
    assert shown(text)[1:] == [line, caret]


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    _, line, caret = shown("a to b" + " " * 1000 + "c" * 2**20)
    assert len(line) < 120
    assert line.startswith("  …")
    assert line.endswith("c…")
    assert line[len(caret) - len(caret.lstrip(" "))] == "c"
    assert set(caret.strip()) == {"^"}


def test_an_explanation_needs_no_text() -> None:
    parsed: Parsed = Parser(Lexer("a too b").tokens()).parse()
    assert explain_all(parsed.errors[:1], parsed.text, "f")[0].count("\n") == 0


def test_of_very_many_mistakes_the_first_hundred_are_told() -> None:
    parsed = parse("x\n" * 5000)
    told = explain_all(parsed.errors, parsed.text, "f")
    assert len(parsed.errors) == 5000
    assert len(told) == 101
    assert told[-1] == "f: and 4900 more"


def test_explanations_are_those_of_each_and_have_no_limit() -> None:
    text = "a to b\nx\n" * 300
    errors = parse(text).errors
    told = list(explanations(errors, text, "f"))
    assert len(told) == 300
    assert told[:3] == explain_all(errors[:3], text, "f")


def test_explanations_look_at_the_whole_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n" * 50 + "x\n" * 300
    read: list[str] = []

    def plain_text(text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr(diagnostics, "plain_text", plain_text)
    assert len(list(explanations(parse(text).errors, text, "f"))) == 300
    assert read == [text]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_very_many_mistakes_below_very_many_empty_lines_are_explained() -> None:
    """Looking through the empty lines again for each mistake would take minutes."""
    text = "\n" * 300_000 + "x\n" * 30_000
    assert sum(1 for _ in explanations(parse(text).errors, text, "f")) == 30_000


def test_every_explanation_can_be_encoded() -> None:
    text = "\ud800\n\udfff to a\na to \ud800: x"
    for diagnostic in parse(text).diagnostics:
        assert explain_all([diagnostic], text, "f")[0].encode()
