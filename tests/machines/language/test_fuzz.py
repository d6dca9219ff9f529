"""Random texts: only documented errors, round trips, linear time."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, strategies as st

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language import (
    EXIT,
    Lexer,
    MachineDefinition,
    Parser,
    Success,
    Workflow,
    explain_all,
    format_text,
    parse,
    write_definition,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "to", "_", "State_1", "*"])
BLANK = st.sampled_from([" ", "\t", "  ", " \t "])
EDGE = st.sampled_from(["", " ", "\t"])
PROSE = st.text(
    st.one_of(
        st.sampled_from(" \t:#/*ato"),
        st.characters(exclude_categories=["Cc", "Cs"]),
    ),
    max_size=12,
)
NEWLINE = st.sampled_from(["\n", "\r\n"])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.one_of(st.tuples(BLANK, PROSE).map("".join), EDGE), max_size=4))
    return "".join(f"\n{line}" for line in lines)


@st.composite
def transitions(draw: st.DrawFn) -> str:
    move = f"{draw(NAMES)}{draw(BLANK)}to{draw(BLANK)}{draw(NAMES)}{draw(EDGE)}"
    opened = st.builds("{}:{}{}".format, st.just(move), PROSE, blocks())
    return draw(st.one_of(st.just(move), opened))


VALID_LINES = st.one_of(
    transitions(),
    PROSE.map(":{}".format),
    st.builds("{}{}{}".format, EDGE, st.sampled_from(["#", "//"]), PROSE),
    EDGE,
)


@st.composite
def valid_texts(draw: st.DrawFn) -> str:
    """Text that the grammar allows, at least one transition in it."""
    lines = [*draw(st.lists(VALID_LINES, max_size=6)), draw(transitions())]
    lines += draw(st.lists(VALID_LINES, max_size=4))
    text = "\n".join(lines).replace("\n", draw(NEWLINE))
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"]))


FRAGMENTS = st.sampled_from(
    ["a to b", "* to ", " to ", "\n", "\r\n", "\r", ":", "#", "//", "  ", "\t", "*", "é", "\0", "\ud800"]
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(st.characters(), max_size=50),
    st.lists(st.one_of(FRAGMENTS, VALID_LINES), max_size=20).map("".join),
)


def meaning(definition: MachineDefinition) -> tuple[Any, ...]:
    """All but the positions."""
    states = [(name, state.name, state.guidance) for name, state in definition.states.items()]
    return definition.name, states, [transition[:4] for transition in definition.transitions]


@given(TEXTS)
def test_no_text_raises_anything_but_our_own_error(text: str) -> None:
    parsed = parse(text)
    for diagnostic in parsed.diagnostics:
        line, column = diagnostic.position
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
        assert diagnostic.length >= 1
        assert explain_all([diagnostic], text, "f")[0].encode()
    try:
        workflow, formatted = Workflow(text), format_text(text)
    except InvalidWorkflowFile as error:
        assert parsed.errors
        assert error.diagnostics == parsed.diagnostics
        assert str(error).encode()
    else:
        assert not parsed.errors
        assert formatted.encode()
        workflow.machine()


@given(TEXTS)
def test_the_lexer_loses_no_line_that_says_something(text: str) -> None:
    """Every line that is not blank belongs to a token, and no two tokens share one."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    said = {number for number, line in enumerate(lines, 1) if line.strip(" \t")}
    tokens = [token for token in Lexer(text).tokens() if token.kind.name != "CHARACTER"]
    covered = [
        number for token in tokens for number in range(token.line, token.line + 1 + token.block.count("\n"))
    ]
    assert len(covered) == len(set(covered))
    assert said <= set(covered)


@given(TEXTS)
def test_text_and_tokens_parse_to_the_same(text: str) -> None:
    by_tokens = Parser(Lexer(text).tokens()).parse()
    assert (by_tokens.definition, by_tokens.diagnostics) == (parse(text).definition, parse(text).diagnostics)


@given(st.one_of(valid_texts(), TEXTS))
@example("  * to first: Do it.\n* to a\na to *\n")
@example("\t: when\n  a to b\n* to a\n")
def test_formatting_keeps_the_meaning_and_is_idempotent(text: str) -> None:
    before = parse(text)
    if before.errors:
        with pytest.raises(InvalidWorkflowFile):
            format_text(text)
        return
    formatted = format_text(text)
    assert parse(formatted).errors == ()
    assert meaning(parse(formatted).definition) == meaning(before.definition)
    assert format_text(formatted) == formatted
    kept = [token.text for token in Lexer(text).tokens() if token.kind.name == "COMMENT"]
    assert [token.text for token in Lexer(formatted).tokens() if token.kind.name == "COMMENT"] == kept


@given(st.lists(NAMES, min_size=2, max_size=8), st.data())
def test_an_indented_line_that_no_block_takes_is_never_lost(names: list[str], data: st.DataObject) -> None:
    lines = [f"{source} to {target}" for source, target in pairwise(names)]
    at = data.draw(st.integers(0, len(lines)))
    lines.insert(at, data.draw(BLANK) + data.draw(transitions()).partition("\n")[0])
    assert [error.position.line for error in parse("\n".join(lines)).errors] == [at + 1]


@given(valid_texts())
def test_the_grammar_is_accepted(text: str) -> None:
    assert parse(text).errors == ()


@given(TEXTS)
def test_any_definition_a_parse_gives_is_written_and_read_back(text: str) -> None:
    parsed = parse(text)
    if parsed.errors:
        return
    written = write_definition(parsed.definition)
    again = parse(written)
    assert again.errors == ()
    assert meaning(again.definition) == meaning(parsed.definition)


@given(valid_texts(), st.lists(NAMES, max_size=8))
def test_the_engine_and_its_machine_allow_the_same_moves(text: str, walk: list[str]) -> None:
    workflow = Workflow(text)
    machine, current = workflow.machine(), "*"
    for following in walk:
        result = workflow.transition(current, following)
        assert machine.transition(following) is isinstance(result, Success)
        if isinstance(result, Success):
            current = following
            assert machine.get_state() == (EXIT if result.ended else following)
            if result.ended:
                break


def calls(action: Callable[[], object]) -> int:
    """How many functions, of Python and of C, an action calls."""
    count = 0

    def step(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def grows_no_faster_than_eightfold(text: str, action: Callable[[str], object]) -> None:
    # behind the first copies, at whose edge there may be less to do than at all others
    first, few, many = (calls(lambda n=n: action(text * n)) for n in (4, 8, 36))  # type: ignore[misc]
    assert many - first <= 8.5 * (few - first) + 200


@given(TEXTS)
def test_eight_times_the_text_is_at_most_eight_times_the_work(text: str) -> None:
    grows_no_faster_than_eightfold(text + "\n", parse)


@given(valid_texts())
def test_eight_times_a_valid_text_is_at_most_eight_times_the_work_to_format(text: str) -> None:
    grows_no_faster_than_eightfold(text.removeprefix("\ufeff") + "\n", format_text)
