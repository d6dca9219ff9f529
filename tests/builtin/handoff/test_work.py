"""Execution of a handoff plan: step order, and staged results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.tasks import Model, edits
from tideate_core.agents import Roles
from tideate_core.builtin.handoff.models import PlanFile, StepProgress
from tideate_core.builtin.handoff.work import PlanWork, in_order, refuse_unknown_agents
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult
    from tideate_core.workflows import StepContext

ANALYSE = "You analyse a piece of work"
CODE = {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["greet.py"]}


def ordered(**dependencies: str) -> str:
    """Return the ids of one-letter steps in execution order."""
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


async def carried_out(bench: Bench, *steps: dict[str, Any]) -> WorkflowResult:
    """Run a plan; the result has the changes, the analyses and the last report."""
    plan = PlanFile.model_validate({"planId": "p", "objective": "Greet.", "steps": list(steps)})
    told: list[dict[str, StepProgress]] = []

    async def report(progress: dict[str, StepProgress]) -> None:
        told.append(dict(progress))

    async def work(step: StepContext) -> dict[str, Any]:
        done = PlanWork(step, plan, report)
        await done.run()
        outputs = {identity: one.output for identity, one in told[-1].items()}
        changes = [[one.action, one.path, one.after] for one in done.changes]
        return {"changes": changes, "analyses": done.analyses, "outputs": outputs}

    bench.register("work", {"one": work})
    return await bench.run("work")


async def test_an_analysis_is_written_into_the_files_that_its_step_names(bench: Bench) -> None:
    bench.write("docs/old.md", "To be thought over.\n")
    bench.server.answers(ANALYSE, "Only `greet` is missing.", pieces=1)
    Model(bench.server).says("executor", edits({"greet.py": "x = 1\n"}))
    names = ["docs/new.md", "docs/old.md"]
    think = {"id": "p", "name": "think", "type": "planning", "expectedOutputs": names}
    result = await carried_out(bench, think, {**CODE, "dependencies": ["p"]})
    assert result.ok, (result.error, bench.server.unmatched)
    text = "Only `greet` is missing.\n"
    assert sorted(result.as_json()["response"]["changes"]) == [
        ["create", "docs/new.md", text],
        ["create", "greet.py", "x = 1"],
        ["modify", "docs/old.md", text],
    ]
    assert result.as_json()["response"]["analyses"] == {}, "it is kept in its files"
    assert result.as_json()["response"]["outputs"] == {"p": text.strip(), "a": "changed: greet.py"}
    assert bench.fingerprint() == {"docs/old.md": b"To be thought over.\n"}, "nothing is written yet"


async def test_a_file_that_cannot_be_read_fails_the_step_that_was_to_write_it(bench: Bench) -> None:
    (bench.root / "greet.py").write_bytes(b"\xff\xfe\x00")
    Model(bench.server)
    result = await carried_out(bench, CODE)
    assert (result.ok, result.error_code) == (False, "StepFailed")
    assert str(result.error).startswith("the plan's step 'a' (write it): ")
    assert "greet.py" in str(result.error)


async def test_a_steps_agent_does_the_step(bench: Bench) -> None:
    """Document 4, `WorkflowStepDTO.agent`."""
    bench.write(".tideate/agents/greeter.md", "---\ndescription: greets\n---\nYou greet in Latin.\n")
    bench.server.answers("You greet in Latin.", edits({"greet.py": "ave = 1\n"}), pieces=1)
    Model(bench.server).says("executor", edits({"more.py": "x = 1\n"}))
    more = {"id": "b", "name": "more", "type": "coding", "agent": "coder", "expectedOutputs": ["more.py"]}
    result = await carried_out(bench, {**CODE, "agent": "greeter"}, more)
    assert result.ok, (result.error, bench.server.unmatched)
    assert [change[1:] for change in result.as_json()["response"]["changes"]] == [
        ["greet.py", "ave = 1"],
        ["more.py", "x = 1"],
    ]


def test_a_plan_with_an_unknown_agent_is_refused(bench: Bench) -> None:
    steps = [{**CODE, "agent": "nobody"}]
    plan = PlanFile.model_validate({"planId": "p", "steps": steps})
    with pytest.raises(InvalidInput, match=r"the plan's step 'a': .*'nobody'"):
        refuse_unknown_agents(Roles(bench.root), plan)
