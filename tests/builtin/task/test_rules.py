"""Rules and memory reach each role once; writing roles also get the rules of their files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.harness.model_server import ModelServer
from tests.harness.tally import TASK
from tests.store.past import Past
from tideate_core.engine import EventName
from tideate_core.store import Store

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk


EARLIER = "MEMORY-EARLIER"


async def run_before(desk: Desk) -> None:
    """Record an earlier run of the same task by the same adapter."""
    with closing(Store.open(desk.site.private)) as store:
        past = Past(store, request={"prompt": TASK})
        log = await past.begin()
        await log.remember("", f"asked:fake {desk.model.server.base_url}", value=True)
        await past.end(response=EARLIER)


@pytest.mark.slow
async def test_every_role_has_the_rules_and_the_memory_once(desk: Desk) -> None:
    (desk.root / "MEMORY.md").write_text("MEMORY-NOTES\n")
    await run_before(desk)
    (desk.root / "AGENTS.md").write_text("RULE-ROOT\n")
    (desk.root / "src/tally/AGENTS.md").write_text("RULE-TALLY\n")
    (desk.root / "unused").mkdir()
    (desk.root / "unused/AGENTS.md").write_text("RULE-UNUSED\n")
    await desk.succeed()
    prompts = {role: desk.model.prompts(role) for role in ("planner", "auditor", "executor", "documenter")}
    assert all(prompts.values())
    for given in ("RULE-ROOT", "MEMORY-NOTES", EARLIER):
        assert {words.count(given) for role in prompts.values() for words in role} == {1}
    assert [words.count("RULE-TALLY") for words in prompts["executor"]] == [1]
    assert [words.count("RULE-TALLY") for words in prompts["planner"]] == [0]
    assert not any("RULE-UNUSED" in words for role in prompts.values() for words in role)
    told = [data["message"].partition(" (")[0] for data in desk.front.data(EventName.NOTICE)]
    assert [words for words in told if words.startswith("memory: ")] == [
        "memory: MEMORY.md",
        "memory: @run:00000000",
    ]


@pytest.mark.slow
async def test_a_role_with_another_adapter_has_the_notes_and_no_earlier_runs(desk: Desk) -> None:
    (desk.root / "MEMORY.md").write_text("MEMORY-NOTES\n")
    await run_before(desk)
    with ModelServer() as other:
        second = desk.gives_role_to("auditor", other)
        result = await desk.run()
    assert result.ok, result.error
    assert (desk.model.asked("auditor"), second.asked("planner")) == (0, 0)
    (words,) = second.prompts("auditor")
    assert ("MEMORY-NOTES" in words, EARLIER in words) == (True, False)
    assert all(EARLIER in words for words in desk.model.prompts("planner"))
