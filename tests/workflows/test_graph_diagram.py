"""Step diagrams in all formats, with hostile names escaped."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from tideate_core.errors import InvalidInput
from tideate_core.machines.diagrams import FORMATS, Format
from tideate_core.workflows import WorkflowDefinition, draw_steps

SVG = "{http://www.w3.org/2000/svg}"


def workflow(*steps: dict[str, Any], **rest: Any) -> WorkflowDefinition:
    return WorkflowDefinition.model_validate({"name": "report", "steps": steps, **rest})


def step(name: str, *dependencies: str, **rest: Any) -> dict[str, Any]:
    return {"id": name, "task": f"Do {name}", "dependencies": list(dependencies), **rest}


REPORT = workflow(
    step("plan"),
    step("facts", "plan", for_each="steps.plan.result"),
    {"id": "style", "tool": {"server": "git", "name": "log"}, "dependencies": ["plan"]},
    step("draft", "facts", "style", confirm="Go on?"),
    {"id": "review", "machine": "careful", "dependencies": ["draft"], "when": "steps.plan.result"},
    {"id": "end", "workflow": "ask", "dependencies": ["review", "plan"], "parallel": False},
    title="Write a report",
)

TEXT = """\
Write a report: 6 steps in 5 batches

1  ● plan    assistant
   │
2  ┌ facts   assistant        ← plan  for each of steps.plan.result
   └ style   tool git/log     ← plan
   │
3 ▶● draft   assistant        ← facts, style  asks first
   │
4  ● review  machine careful  ← draft  when steps.plan.result
   │
5  ● end     workflow ask     ← review, plan  alone
"""


def test_the_text_has_the_batches_and_what_each_step_waits_for() -> None:
    assert draw_steps(REPORT, "text", current="draft") == TEXT


@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_line_of_the_text_is_wider_than_it_may_be(width: int) -> None:
    assert max(map(len, draw_steps(REPORT, "text", width=width).splitlines())) <= width


def test_mermaid_has_a_subgraph_for_each_batch_and_all_edges() -> None:
    drawing = draw_steps(REPORT, "mermaid", current="draft")
    assert drawing.startswith(
        'flowchart TD\n    subgraph b1["1"]\n        s0["plan<br/>assistant"]\n    end\n'
    )
    assert drawing.count("subgraph ") == 5
    edges = re.findall(r"s(\d) --> s(\d)", drawing)
    assert edges == [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4"), ("4", "5"), ("0", "5")]
    assert drawing.endswith("    class s3 current\n")


def test_the_svg_has_a_box_for_each_step_and_an_arrow_for_each_dependency() -> None:
    root = ElementTree.fromstring(draw_steps(REPORT, "svg", current="draft"))
    boxes = [box.get("class") for box in root.iter(f"{SVG}rect") if "box" in (box.get("class") or "")]
    assert sorted(filter(None, boxes)) == ["box"] * 5 + ["box current"]
    # arrows to one step share a head, each further one joins at a joint
    classes = [element.get("class", "").split()[:1] for element in root.iter()]
    assert classes.count(["head"]) + classes.count(["joint"]) == 7
    batches = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "batch"]
    assert batches == ["1", "2", "3", "4", "5"]
    details = [text for text in root.iter(f"{SVG}text") if text.get("class") == "detail"]
    assert "tool git/log" in {title.tail for text in details for title in text}


def test_boxes_of_the_svg_stay_apart_and_on_the_paper_and_nearer_within_a_batch() -> None:
    wide = workflow(step("a"), *(step(f"b{at}" + "x" * at, "a") for at in range(12)), step("c", "a", "b3xxx"))
    root = ElementTree.fromstring(draw_steps(wide, "svg"))
    boxes = [
        [float(box.get(key, "")) for key in ("x", "y", "width", "height")]
        for box in root.iter(f"{SVG}rect")
        if box.get("class") == "box"
    ]
    assert len(boxes) == 14
    for x, y, width, height in boxes:
        assert 0 <= x < x + width <= float(root.get("width", ""))
        assert 0 <= y < y + height <= float(root.get("height", ""))
    gaps = [below[1] - above[1] - above[3] for above, below in pairwise(boxes)]
    assert min(gaps) > 0
    assert gaps[0] == gaps[-1] > max(gaps[1:-1])


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_file_says_steers_nothing(form: Format) -> None:
    evil = 'x"] \x1b[2J\n  click s0 "javascript:alert(1)" <script>&\\n</script> \u202e -->'
    tool = {"server": evil[:100], "name": evil}
    drawing = draw_steps(
        workflow({"id": "a", "name": evil, "tool": tool}, step("b", "a", when=evil), title=evil), form
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", drawing)
    if form == "mermaid":
        assert not re.search(r"^\s*click", drawing, re.MULTILINE)
        assert 'x"]' not in drawing
    if form == "svg":
        assert not list(ElementTree.fromstring(drawing).iter("script"))
        assert "<script" not in drawing


def test_a_step_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="'draf' is not a step of workflow 'report'; did you mean 'draft'"):
        draw_steps(REPORT, "text", current="draf")


def test_too_much_for_an_svg_is_told_and_listed_as_text() -> None:
    many = workflow(*(step(f"s{at}", *(f"s{other}" for other in range(at))) for at in range(64)))
    with pytest.raises(InvalidInput, match="too large for an SVG: 64 steps and 2,016 dependencies"):
        draw_steps(many, "svg")
    assert draw_steps(many, "text").count("\n") == 2 + 2 * 64 - 1
    assert draw_steps(many, "mermaid").count(" --> ") == 2016
