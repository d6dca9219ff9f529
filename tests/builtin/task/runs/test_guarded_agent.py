"""A task whose roles are an agent with tools of its own, over ACP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import harness
from tests.harness.tally import AFTER, DONE, ENTRY, TASK
from tests.harness.tasks import CODE, PLAN, approved

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk

AGENT = Path(harness.__file__).with_name("acp_agent.py")
ENTRY_TURN = {"section": "Added", "entry": ENTRY, "items": [1], "documents": ["docs/usage.md"]}
WRITES = [{"write": [name, text.replace("\r\n", "\n")]} for name, text in CODE.items()]


def says(value: object) -> list[dict[str, Any]]:
    return [{"text": f"```json\n{json.dumps(value)}\n```"}]


@pytest.fixture
def scripts(desk: Desk) -> Path:
    """Let the agent `helper` play scripts of this directory."""
    place = desk.site.home / "scripts"
    place.mkdir()
    command = [sys.executable, "-S", str(AGENT), str(place / "helper.json")]
    desk.configure(f"[adapters.helper]\nacp = {json.dumps(command)}\n")
    desk.configure(f'[agents.helper]\nwritable = ["{place}"]\n')
    return place


def plays(scripts: Path, *turns: list[dict[str, Any]]) -> None:
    (scripts / "helper.json").write_text(json.dumps({"turns": turns}))


def prompts(scripts: Path) -> list[str]:
    told = map(json.loads, (scripts / "helper.log").read_text().splitlines())
    return [one["params"]["prompt"][0]["text"] for one in told if one.get("method") == "session/prompt"]


@pytest.mark.slow
async def test_an_agent_plans_audits_edits_and_documents(desk: Desk, scripts: Path) -> None:
    page = [{"text": f"````markdown\n{AFTER['docs/usage.md']}````\n"}]
    planning = [{"write": ["stray.txt", "thrown away"]}, *says(PLAN)]
    plays(scripts, planning, says(approved()), [*WRITES, {"text": "done"}], says(ENTRY_TURN), page)
    result = await desk.succeed(adapter="helper")
    assert desk.changed() == DONE
    assert desk.kinds() == ["document", "review", "review"]
    assert sorted(result.files) == sorted(DONE)
    assert TASK in prompts(scripts)[0]
    assert list((desk.site.private / "guard" / "sessions").iterdir()) == []
