"""Work of a plan: the order of its steps."""

from __future__ import annotations

from tideate_core.builtin.handoff.models import PlanFile
from tideate_core.builtin.handoff.work import in_order


def ordered(**dependencies: str) -> str:
    """Return the ids of one-letter steps in the order in which they are carried out."""
    steps = [
        {"id": one, "name": one, "type": "coding", "dependencies": list(after)}
        for one, after in dependencies.items()
    ]
    return "".join(step.id for step in in_order(PlanFile.model_validate({"planId": "p", "steps": steps})))


def test_steps_without_dependencies_are_carried_out_as_listed() -> None:
    assert ordered(b="", a="", c="") == "bac"


def test_a_step_comes_after_all_that_it_depends_on() -> None:
    assert ordered(d="ab", a="", b="c", c="") == "acbd"


def test_a_step_that_became_ready_comes_at_its_place_in_the_list() -> None:
    assert ordered(a="c", b="", c="") == "bca"
