"""The roles with a real adapter: typed answers over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, role
from tests.harness.model_server import ModelServer
from tests.harness.project import write_files
from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.sources import ServerSource
from tideate_core.agents import apply_fixes, audit_plan, document_task, execute_plan, plan_task
from tideate_core.agents.auditor import AuditAnswer
from tideate_core.agents.documenter import DocumentationAnswer
from tideate_core.agents.planner import PlanAnswer
from tideate_core.config import AdapterConfig
from tideate_core.errors import StepFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from tideate_core.adapters import Prompt, Reply

PLAN = {
    "objective": "double numbers",
    "steps": [{"type": "edit", "description": "add double", "files": ["a.py"]}],
    "files": ["a.py"],
    "rollback_strategy": "revert",
}
AUDIT = {
    "approval": "conditional",
    "auto_fixable": True,
    "issues": [{"severity": "warning", "description": "no name", "step": 1}],
    "fixes": [{"step": 1, "description": "add `double`"}],
}
DOCUMENTATION = {"section": "Added", "entry": "`double`.", "items": [], "documents": []}


class WiredStep(StageStep):
    """A step that asks a model server."""

    def __init__(self, root: Path, adapter: ModelAdapter) -> None:
        super().__init__(root)
        self.adapter = adapter

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        tools: Sequence[str] = (),
    ) -> Reply:
        return await self.adapter.ask(prompt, schema=schema)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.answers("Plan this task.", json.dumps(PLAN))
        running.answers("Audit this plan.", json.dumps(AUDIT))
        running.answers("Carry out this plan.", "```python\na = 2\n```")
        running.answers("Document this change.", json.dumps(DOCUMENTATION))
        yield running


@pytest.fixture
async def step(tmp_path: Path, server: ModelServer) -> AsyncIterator[Any]:
    write_files(tmp_path, {"a.py": "a = 1\n", "CHANGELOG.md": "# Changelog\n"})
    config = AdapterConfig(base_url=server.base_url, model="scripted")
    adapter = ModelAdapter("fake", ServerSource("fake", config))
    yield WiredStep(tmp_path, adapter)
    await adapter.aclose()


async def test_the_stages_work_over_http(step: Any, server: ModelServer) -> None:
    plan = await plan_task(step, role("planner"), BRIEF)
    assert plan.model_dump() == PLAN
    audit = await audit_plan(step, role("auditor"), BRIEF, plan)
    plan = apply_fixes(plan, audit)
    assert plan.steps[0].description == "add `double`"
    done = await execute_plan(step, role("executor"), BRIEF, plan)
    assert [change.after for change in done.changes] == ["a = 2"]
    documented = await document_task(step, role("documenter"), BRIEF, plan, "+a = 2", ["a.py"])
    assert documented.result.entry == "`double`."
    assert server.unmatched == []


async def test_a_budget_holds_for_what_a_server_counts(step: Any, server: ModelServer) -> None:

    with pytest.raises(StepFailed, match=r"'planner' used \d+ tokens for this stage and may use 10"):
        await plan_task(step, replace(role("planner"), tokens=10), BRIEF)
    assert len(server.requests) == 1


@pytest.mark.parametrize("schema", [PlanAnswer, AuditAnswer, DocumentationAnswer])
def test_every_text_and_list_of_an_answer_is_bounded(schema: type[BaseModel]) -> None:
    def unbounded(shape: Any) -> list[Any]:
        if isinstance(shape, list):
            return [found for each in shape for found in unbounded(each)]
        if not isinstance(shape, dict):
            return []
        free = (shape.get("type") == "string" and not {"maxLength", "enum"} & shape.keys()) or (
            shape.get("type") == "array" and "maxItems" not in shape
        )
        return [*([shape] if free else []), *unbounded(list(shape.values()))]

    assert unbounded(schema.model_json_schema()) == []
