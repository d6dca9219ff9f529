from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.engine.context.context import render_value
from tideate_core.errors import InvalidDefinition

if TYPE_CHECKING:
    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext


async def test_a_step_of_no_other_kind_is_done_by_the_handler_of_its_id(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> str:
        return step.prompt.upper()

    write("steps: [{id: work}]", work=work)
    assert (await bench.run("flow", "loud")).results == {"work": "LOUD"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ n }}", 3),
        (" {{- n -}} ", 3),
        ("{{ all }}", [1, {"a": None}]),
        ("{{ n }}{{ n }}", "33"),
        ("n is {{ n }}", "n is 3"),
        ("{% if n %}{{ n }}{% endif %}", "3"),
        ("plain", "plain"),
        ({"k": ["{{ n }}", 1.5, None, True]}, {"k": [3, 1.5, None, True]}),
    ],
)
def test_a_text_that_is_one_expression_keeps_the_values_type(text: Any, value: Any) -> None:
    assert render_value(text, {"n": 3, "all": [1, {"a": None}]}) == value


def test_an_expression_that_names_nothing_known_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="'m' is not known"):
        render_value({"a": "{{ m }}"}, {"n": 3})
