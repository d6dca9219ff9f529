"""The roles of a task have rules and memory once, those who write with the rules of their files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past
from tests.support.tally import TASK
from tideate_core.engine import EventName
from tideate_core.store import Store

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk


@pytest.mark.slow
async def test_every_role_has_the_rules_and_the_memory_once(desk: Desk) -> None:
    (desk.root / "MEMORY.md").write_text("MEMORY-NOTES\n")
    with closing(Store.open(desk.site.private)) as store:
        past = Past(store, request={"prompt": TASK})
        log = await past.begin()
        log.event(EventName.WORKFLOW_STARTED.value, NOON, {"adapter": "fake"})
        await past.end(response="MEMORY-EARLIER")
    (desk.root / "AGENTS.md").write_text("RULE-ROOT\n")
    (desk.root / "src/tally/AGENTS.md").write_text("RULE-TALLY\n")
    (desk.root / "unused").mkdir()
    (desk.root / "unused/AGENTS.md").write_text("RULE-UNUSED\n")
    result = await desk.run()
    assert result.ok, result.error
    prompts = {role: desk.model.prompts(role) for role in ("planner", "auditor", "executor", "documenter")}
    assert all(prompts.values())
    for given in ("RULE-ROOT", "MEMORY-NOTES", "MEMORY-EARLIER"):
        assert {words.count(given) for role in prompts.values() for words in role} == {1}
    assert [words.count("RULE-TALLY") for words in prompts["executor"]] == [1]
    assert [words.count("RULE-TALLY") for words in prompts["planner"]] == [0]
    assert not any("RULE-UNUSED" in words for role in prompts.values() for words in role)
