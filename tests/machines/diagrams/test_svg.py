"""SVG diagrams: all arrows, text within its box, nothing external."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from rich.cells import cell_len

from tests.machines.diagrams.machines import PLANNER, complete, machine, machines
from tideate_core.errors import MachineError
from tideate_core.machines.language import MachineDefinition, draw

SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_of_too_many_transitions_is_refused_with_the_formats_that_have_them() -> None:
    with pytest.raises(MachineError, match=r"2,027 transitions.*'mermaid'"):
        draw(complete(45), "svg")
    assert draw(complete(45), "mermaid").count("-->") == 2027


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(machines())
def test_an_svg_is_valid_and_its_words_fit_their_boxes(definition: MachineDefinition) -> None:
    root = ET.fromstring(draw(definition, "svg"))
    width, height = (float(root.get(side, "")) for side in ("width", "height"))
    frames = [_frame(box) for box in root.iter(f"{SVG}rect") if "box" in box.get("class", "").split()]
    for text in root.iter(f"{SVG}text"):
        if text.get("class") not in ("title", "when"):
            continue
        x, y, length = (float(text.get(key, "")) for key in ("x", "y", "textLength"))
        shown = "".join(title.tail or "" for title in text.iter(f"{SVG}title"))
        assert length == pytest.approx(cell_len(shown) * 7.8, abs=0.1)
        assert any(box[0] <= x and x + length <= box[1] and box[2] <= y <= box[3] for box in frames)
    assert all(min(box) >= 0 and box[1] <= width and box[3] <= height for box in frames)


def _frame(box: ET.Element) -> tuple[float, float, float, float]:
    x, y, width, height = (float(box.get(key, "")) for key in ("x", "y", "width", "height"))
    return x, x + width, y, y + height


def test_an_svg_has_each_arrow_and_is_self_contained() -> None:
    text = draw(PLANNER, "svg", current="execution")
    root = ET.fromstring(text)
    heads = [each for each in root.iter(f"{SVG}path") if each.get("class", "").startswith("head")]
    joints = [each for each in root.iter() if each.get("class", "").startswith("joint")]
    loops = [each for each in root.iter(f"{SVG}title") if (each.tail or "").startswith("↺")]
    # arrows to one target share a head, each further one joins at a joint
    assert len(heads) + len(joints) + len(loops) == len(PLANNER.transitions)
    assert [each for each in root.iter() if each.get("class") == "box current"]
    assert not re.search(r"<script|href|url\(|@import|onload", text)
    assert "prefers-color-scheme: dark" in text


def test_an_svg_shows_the_whole_words_as_tooltips() -> None:
    when = "R&D says <yes> " + "very " * 40 + '"loudly"'
    definition = machine("* > a", f"a > *: {when}", guidance={"a": "Do & tell."})
    root = ET.fromstring(draw(definition, "svg"))
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert f"→ ◉: {when}" in titles
