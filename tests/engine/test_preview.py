"""Preview of a run's first prompt: exactly the sent text, without side effects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.adapters import AdapterPool
from tideate_core.engine import PromptPreview, RunRequest
from tideate_core.errors import InvalidInput
from tideate_core.workflows.parsing import WorkflowParser

if TYPE_CHECKING:
    from tests.harness.bench import Bench

CODE = "def f(x):\n    return x\n\n\ndef g(x):\n    return f(x)\n"
FLOW = """
name: flow
inputs:
  who: {type: string, required: true}
steps:
  - id: one
    task: Greet {{ inputs.who }} as @file:a.txt says.
  - id: two
    task: And then {{ steps.one.result }}
    dependencies: [one]
"""


async def preview(bench: Bench, name: str, prompt: str = "", **rest: Any) -> PromptPreview:
    return await bench.runner.preview(RunRequest(name=name, prompt=prompt, **rest))


@pytest.mark.parametrize("name", ["ask", "summarize", "refactor", "generate", "multi_file"])
async def test_a_preview_of_a_built_in_workflow_is_what_the_run_sends(bench: Bench, name: str) -> None:
    bench.write("AGENTS.md", "Write short lines.\n")
    bench.write("a.py", CODE)
    context = bench.context("a.py", 1, 2)
    shown = await preview(bench, name, "rename x", context=context)
    assert bench.server.requests == []
    assert shown.exact
    bench.server.answers("", "```python\ndef f(y):\n    return y\n```")
    await bench.run(name, "rename x", context=context)
    sent = bench.server.requests[0]["messages"]
    assert [shown.system, shown.user] == [sent[0]["content"], sent[-1]["content"]]
    assert shown.tokens == (len(shown.system) + len(shown.user)) // 4


async def test_a_preview_leaves_no_run_and_tells_nobody(bench: Bench) -> None:
    bench.write("a.py", CODE)
    before = bench.fingerprint()
    await preview(bench, "ask", "see @file:a.py", context=bench.context("a.py"))
    assert bench.front.events == []
    assert bench.front.requests == []
    assert bench.fingerprint() == before
    assert not bench.private.exists()
    assert bench.runner.running == []


async def test_a_secret_is_left_out_and_the_question_is_named(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    shown = await preview(bench, "ask", "what is in @file:.env?")
    assert "hunter2" not in json.dumps(shown.as_json())
    (question,) = shown.asks
    assert question.startswith("Give @file:.env to the model?")
    assert bench.front.requests == []


async def test_what_a_mention_brings_stands_in_the_preview(bench: Bench) -> None:
    bench.write("a.txt", "from a\n")
    shown = await preview(bench, "ask", "see @file:a.txt and @Nothing")
    assert "from a" in shown.user
    assert any("no mention is called @Nothing" in notice for notice in shown.notices)


async def test_of_steps_that_may_do_anything_the_templates_and_the_material_are_shown(bench: Bench) -> None:
    bench.write("a.txt", "from a\n")
    bench.write("AGENTS.md", "Write short lines.\n")
    parsed = WorkflowParser().parse(FLOW, format="yaml", name="flow", path=None)
    bench.registry.register(parsed.require(), {})
    shown = await preview(bench, "flow", inputs={"who": "Ada"})
    assert not shown.exact
    assert shown.tasks == {"one": "Greet {{ inputs.who }} as @file:a.txt says."}
    assert shown.inputs == {"who": "Ada"}
    assert "from a" in shown.user
    assert "Write short lines." in shown.user


async def test_code_of_others_is_not_run_for_a_preview(bench: Bench) -> None:
    ran = []

    async def one(step: Any) -> str:
        ran.append(step)
        return "done"

    bench.register("mine", {"one": one})
    shown = await preview(bench, "mine", "go")
    assert (ran, shown.exact) == ([], False)


async def test_of_a_machine_the_material_of_the_prompt_is_shown(bench: Bench) -> None:
    bench.write("a.txt", "from a\n")
    shown = await preview(bench, "task", "see @file:a.txt")
    assert not shown.exact
    assert "from a" in shown.user


async def test_a_run_that_could_not_begin_says_so_in_its_preview(bench: Bench) -> None:
    with pytest.raises(InvalidInput):
        await preview(bench, "refactor", "go")


async def test_the_tools_that_a_model_may_call_are_named(bench: Bench) -> None:
    tooled = bench.config.adapters["fake"].model_copy(update={"tools": True})
    config = bench.config.model_copy(update={"adapters": {"fake": tooled}})
    await bench.pool.aclose()
    bench.pool = AdapterPool(config)
    bench.runner = bench.make_runner(config)
    assert "read_file" in (await preview(bench, "ask", "why?")).tools
    assert bench.server.requests == []
