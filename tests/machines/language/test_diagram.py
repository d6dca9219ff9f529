"""Machine diagrams: errors, and sanitized text in all formats."""

from __future__ import annotations

import unicodedata

import pytest

from tests.machines.diagrams.machines import PLANNER, machine
from tideate_core.errors import MachineError
from tideate_core.machines.diagrams import FORMATS, Format
from tideate_core.machines.language import draw


@pytest.mark.parametrize("form", FORMATS)
def test_control_characters_of_a_file_do_not_reach_the_drawing(form: Format) -> None:
    evil = "red \x1b[31m \x07 \u202e back \r\n over \u2028 line \x9b2J"
    drawing = draw(machine("* > a", f"a > *: {evil}", guidance={"a": evil}, name=f"n{evil}"), form)
    assert not [char for char in drawing if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Zl")]


@pytest.mark.parametrize("form", FORMATS)
def test_an_unknown_current_state_is_refused_with_the_nearest(form: Format) -> None:
    with pytest.raises(MachineError, match="did you mean 'execution'"):
        draw(PLANNER, form, current="exekution")


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(MachineError, match=r"did you mean 'svg'\? \(known: text, mermaid, svg\)"):
        draw(PLANNER, "svgs")  # type: ignore[arg-type]
