"""Inputs, text and selection of a run, checked before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.config import LimitsConfig
from tideate_core.engine import RunRequest
from tideate_core.engine.begin import check_inputs, typed_inputs
from tideate_core.errors import InvalidInput, NotText
from tideate_core.workflows import BufferContext, RunContext, Selection, WorkflowDefinition

SMALL = LimitsConfig(max_file_kib=1)


def check(needs: tuple[str, ...], text: str | None = "a\nb", prompt: str = "do it", **more: Any) -> None:
    """Check a run of a workflow with these needs on a buffer, None for no buffer."""
    lines: tuple[int, int] | None = more.pop("lines", None)
    buffer = None if text is None else BufferContext(number=1, path="a.py", text=text, **more)
    selection = None if lines is None else Selection(start=lines[0], end=lines[1])
    definition = WorkflowDefinition.model_validate({"name": "w", "steps": [{"id": "s"}], "needs": needs})
    context = RunContext(buffer=buffer, selection=selection)
    check_inputs(definition, RunRequest(name="w", prompt=prompt, context=context), SMALL)


@pytest.mark.parametrize(
    ("needs", "given", "words"),
    [
        (("prompt",), {"prompt": "  "}, "w needs a prompt"),
        (("text",), {"text": None}, "open a file, or name one with --file"),
        (("text",), {"text": " \n"}, "the selection or buffer is empty"),
        (("text",), {"text": "a\n\nb", "lines": (2, 2)}, "the selection or buffer is empty"),
        (("lines",), {"modifiable": False}, r"a.py is read-only"),
        ((), {"lines": (1, 3)}, "lines 1 to 3 do not exist: the text has 2"),
        (("text",), {"text": "x" * 1025}, r"limits.max_file_kib"),
        ((), {"text": "x" * 1025, "lines": (1, 1)}, r"limits.max_file_kib"),
    ],
)
def test_a_run_that_cannot_succeed_is_refused(
    needs: tuple[str, ...], given: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        check(needs, **given)


def test_a_large_buffer_that_no_model_is_shown_is_no_hindrance() -> None:
    check(("prompt",), text="x" * 5000)


@pytest.mark.parametrize(
    ("given", "words"), [({"binary": True}, "is binary"), ({"text": "a\n\udc80"}, "a.py:2: not valid UTF-8")]
)
def test_what_is_no_text_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(NotText, match=words):
        check((), **given)


DECLARED = WorkflowDefinition.model_validate(
    {
        "name": "w",
        "steps": [{"id": "s"}],
        "inputs": {
            "count": {"type": "integer", "required": True, "description": "how many"},
            "label": {"type": "string", "default": "none"},
        },
    }
)


def test_texts_become_values_of_the_declared_types_and_the_rest_has_its_default() -> None:
    assert typed_inputs(DECLARED, {"count": "3"}) == {"count": 3, "label": "none"}
    assert typed_inputs(DECLARED, {"count": 3, "label": "7"}) == {"count": 3, "label": "7"}


def test_all_mistakes_of_inputs_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        typed_inputs(DECLARED, {"lable": "x"})
    assert str(caught.value).split("\n") == [
        "w has no input 'lable'; did you mean 'label'?",
        "w needs the input 'count' (how many)",
    ]
    with pytest.raises(InvalidInput, match=r"w: the input 'count' .*\(how many\)"):
        typed_inputs(DECLARED, {"count": "three"})
