"""Files beside the plan: one question about all that a change names, and none about what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.agents.writer import within_plan
from tideate_core.workflows import MISSING, Decision

if TYPE_CHECKING:
    from tideate_core.agents.tools.tool import MayChange

PLANNED = {"a.py": "", "kept.md": "somebody else keeps it"}


class Step:
    """A `StepContext`, as far as the question needs it; the person says yes or no to all."""

    step = "execute"

    def __init__(self, *, accept: bool) -> None:
        self.memory: dict[str, Any] = {}
        self.asked: list[tuple[str, str]] = []
        self._accept = accept

    def recall(self, key: str) -> Any:
        return self.memory.get(key, MISSING)

    async def remember(self, key: str, value: Any) -> None:
        self.memory[key] = value

    async def confirm(self, _kind: str, message: str, *, details: str = "") -> Decision:
        self.asked.append((message, details))
        return Decision(self._accept)


def asking(step: Step) -> MayChange:
    return within_plan(step, PLANNED.get)  # type: ignore[arg-type]


async def test_one_question_is_about_all_files_of_a_change_and_is_not_asked_again() -> None:
    step = Step(accept=True)
    assert await asking(step)(["a.py", "b.py", "c.py"]) == ""
    assert await asking(step)(["c.py"]) == ""
    ((message, details),) = step.asked
    assert message == "execute: may 2 more files be changed, too? The plan does not name them."
    assert details.startswith("- b.py\n- c.py\n\n")


@pytest.mark.parametrize(("paths", "named"), [(["b.py"], "it"), (["b.py", "c.py"], "them")])
async def test_a_no_is_told_with_the_names_and_is_not_asked_again(paths: list[str], named: str) -> None:
    step = Step(accept=False)
    words = (
        f"{', '.join(paths)}: the plan does not name {named}, and the person does not want {named} changed"
    )
    for _ in range(2):
        assert await asking(step)(["a.py", *paths]) == words
    assert len(step.asked) == 1


async def test_what_may_not_be_changed_at_all_is_asked_about_with_nothing() -> None:
    step = Step(accept=True)
    assert await asking(step)(["b.py", "kept.md"]) == "kept.md: somebody else keeps it"
    assert step.asked == []
