"""Lanes beside steps: appearance, and agreement with the dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.harness.work import assert_linear
from tideate_core.machines.diagrams import lane_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

RIGHT, LEFT, UP, DOWN = "├─╰╭┴┬┼", "┤─╯╮┴┬┼", "│├┤┼╰╯┴", "│├┤┼╭╮┬"


def drawn(order: str, **needs: str) -> list[str]:
    """Draw steps of one letter."""
    rows = lane_rows([order], [(source, step) for step, of in needs.items() for source in of])
    return [f"{row.before}*{row.after} {step} {row.words}".rstrip() for step, row in rows.items()]


@pytest.mark.parametrize(
    ("order", "needs"), [("", {}), ("a", {}), ("ab", {"b": "a"}), ("abcd", {"b": "a", "c": "b", "d": "c"})]
)
def test_a_simple_list_has_no_lanes(order: str, needs: dict[str, str]) -> None:
    assert drawn(order, **needs) == []


def test_steps_side_by_side_between_two_others_take_two_lanes() -> None:
    assert drawn("abcde", b="a", c="a", d="a", e="bcd") == [
        "*     a",
        "├─*─╮ b",
        "├─*─┤ c",
        "╰─*─┤ d",
        "    * e",
    ]
    between = "bcdefghijklmnopqrstuvwxy"
    lines = drawn(f"a{between}z", **dict.fromkeys(between, "a"), z=between)
    assert {line[:5] for line in lines[2:-2]} == {"├─*─┤"}


def test_steps_that_begin_together_are_joined() -> None:
    assert drawn("abc", c="ab") == ["╭─*─╮ a", "╰─*─┤ b", "    * c"]
    assert drawn("ab") == ["╭─* a", "╰─* b"]


def test_batches_in_which_each_needs_all_of_the_one_before_share_a_lane() -> None:
    assert drawn("abcde", c="ab", d="ab", e="cd") == [
        "╭─*─╮     a",
        "╰─*─┤     b",
        "    ├─*─╮ c",
        "    ╰─*─┤ d",
        "        * e",
    ]


def test_a_line_passes_behind_a_lane_that_it_does_not_join() -> None:
    assert drawn("abcdef", b="a", c="a", d="b", e="c", f="de") == [
        "*       a",
        "├─*     b",
        "╰─│─*   c",
        "  *─│─╮ d",
        "    *─┤ e",
        "      * f",
    ]
    assert drawn("abcd", b="a", c="ab", d="abc")[:2] == ["*─┬─╮ a", "*─┼─┤ b"]


def test_where_there_are_too_many_lanes_words_say_what_a_step_needs() -> None:
    upper, lower = "ABCDEFGHIJKL", "abcdefghijkl"
    lines = drawn(upper + lower, **dict(zip(lower, upper, strict=True)))
    assert all(len(line) < 30 for line in lines)
    assert lines[12:14] == ["  * │ │ │ │ │ │   a", "    * │ │ │ │ │   b"]
    assert [line.split()[-3:] for line in lines[-2:]] == [["k", "←", "K"], ["l", "←", "L"]]
    many = drawn(upper + lower + "z", **dict(zip(lower, upper, strict=True)), z="HIJKL")
    assert many[-1].endswith("z ← H, I, J and 2 more")


@given(st.lists(st.sets(st.integers(1, 12), max_size=4), max_size=14))
def test_the_lines_lead_from_every_step_to_those_that_need_it_and_to_no_other(back: list[set[int]]) -> None:
    needs = {str(at): {str(at - step) for step in of if step <= at} for at, of in enumerate(back)}
    order = list(needs)
    rows = lane_rows([order], [(source, step) for step, of in needs.items() for source in of])
    if not rows:
        assert [needs[step] for step in order] == [{str(at - 1)} if at else set() for at in range(len(order))]
        return
    assert {len(f"{row.before}*{row.after}") for row in rows.values()} == {
        len(row.below) for row in rows.values()
    }
    above = " " * len(rows[order[0]].below)
    reached: dict[int, set[str]] = {}
    """By the column of a lane, the steps that it comes from."""
    for step in order:
        row = rows[step]
        place, line = len(row.before), f"{row.before}*{row.after}"
        joined = {place, *_level(line, place, -1, LEFT, RIGHT), *_level(line, place, 1, RIGHT, LEFT)}
        enters = {at for at in joined if above[at] == "│"}
        # a step comes from above it, else from its left; the other lanes take it in
        come = [place] if place in enters else sorted(at for at in enters if reached[at] == needs[step])[:1]
        if not row.words and needs[step]:
            assert [reached[at] for at in come] == [needs[step]], (step, rows)
        for at in joined:
            if at == place:
                reached[at] = {step}  # no lane passes through a step
            elif row.below[at] == "│" and at not in come:
                reached[at] = (reached[at] if above[at] == "│" else set()) | {step}
        above = row.below


def _level(line: str, start: int, way: int, outward: str, inward: str) -> Iterable[int]:
    """Yield the columns that are joined with a step on one side of it."""
    at = start + way
    while 0 <= at < len(line) and line[at] in "─│├┤┬┴┼╭╮╰╯":
        sign = line[at]
        if at % 2 == 0 and sign not in "─│":
            assert sign in inward, line
            yield at
        if sign not in outward and sign != "│":
            return
        at += way


def test_four_times_as_many_steps_are_four_times_the_work() -> None:
    def wide(count: int) -> tuple[list[list[str]], list[tuple[str, str]]]:
        middle = [f"m{number}" for number in range(count)]
        chains = [("first", step) for step in middle] + [(step, "last") for step in middle]
        return [["first"], middle, ["last"]], chains

    assert_linear(wide, lambda graph: lane_rows(*graph), 100)
