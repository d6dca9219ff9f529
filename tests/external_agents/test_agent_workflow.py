"""The workflow `agent` with each real agent: its work is landed, a follow-up continues, a stop ends it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.external_agents.turns import Turn, edit, read, shell, write
from tests.harness.bench import Bench
from tideate_core.adapters import AcpAgent, AdapterPool
from tideate_core.config import Config
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.external_agents.rig import Rig
    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow


class Desk(Bench):
    """Bench whose adapter is a rig's agent."""

    def __init__(self, rig: Rig, server: ModelServer, place: Path) -> None:
        self.place = place
        super().__init__(rig.root, server)
        values = {
            "adapter": "real",
            "adapters": {"real": {"acp": list(rig.agent.acp)}},
            "agents": {"real": {"writable": [str(rig.home), rig.environment["TMPDIR"]]}},
        }
        self.config = Config.model_validate(values)
        self.pool = AdapterPool(self.config, root=rig.root)
        self.runner = self.make_runner(self.config)

    @property
    def private(self) -> Path:
        return self.place / "private"

    @property
    def copies(self) -> list[Path]:
        return list((self.private / "guard").glob("sessions/*"))


@pytest.fixture
async def desk(
    rig: Rig, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    environment = rig.environment
    monkeypatch.setattr(AcpAgent, "_environment", lambda _agent: dict(environment))
    desk = Desk(rig, server, tmp_path)
    try:
        yield desk
    finally:
        await desk.aclose()


def all_but_b(request: ConfirmationRequest) -> Decision:
    """Reject the hunks of b.txt with a reason, and accept all others."""
    files = request.payload["files"]
    verdicts = [
        {"accepted": [] if file["path"] == "b.txt" else [*range(max(1, len(file["hunks"])))]}
        for file in files
    ]
    said = [{"path": file["path"], "text": "leave it as it is"} for file in files if file["path"] == "b.txt"]
    return Decision(True, {"files": verdicts, "comments": said})


async def test_the_work_of_an_agent_is_landed_and_a_comment_and_a_follow_up_continue_it(
    rig: Rig, desk: Desk
) -> None:
    rig.provider.plays(
        Turn("I look.", [read(rig.root / "a.txt")]),
        Turn("I edit.", [edit(rig.root / "a.txt", "two", "zwei")]),
        Turn("I run.", [shell("echo more >> b.txt; rm c.txt; git commit -qam theirs")]),
        Turn("Finished."),
        Turn("And more.", [write(rig.root / "new.txt", "new\n")]),
        Turn("Done again."),
    )
    desk.front.answer = all_but_b
    result = await desk.succeed("agent", "change the files")
    assert "Finished." in str(result.response)
    assert "Done again." in str(result.response)
    assert (rig.read("a.txt"), rig.read("b.txt"), rig.read("new.txt")) == (
        "one\nzwei\nthree\n",
        "b\n",
        "new\n",
    )
    assert not (rig.root / "c.txt").exists()
    assert any("leave it as it is" in asked.text for asked in rig.provider.requests)
    kinds = {data["tool"] for data in desk.front.data(EventName.TOOL_COMPLETED) if data["ok"]}
    assert {"edit", "execute"} <= kinds
    rig.provider.plays(Turn("Last.", [shell("echo last > last.txt")]), Turn("The end."))
    await desk.succeed("agent", "and a last file", continues=result.execution_id)
    assert rig.read("last.txt") == "last\n"
    assert desk.copies == []


async def test_an_agent_in_a_long_command_is_stopped_with_it(rig: Rig, desk: Desk) -> None:
    sleep = "perl -e 'select(undef,undef,undef,300)'"
    rig.provider.plays(Turn("I wait.", [shell(f"touch started; {sleep} & {sleep}")]), Turn("Never."))
    run = desk.begin("agent", "wait")
    started = desk.private / "guard/sessions"
    while not list(started.glob("*/upper/started")):  # noqa: ASYNC110 the file of another process
        await asyncio.sleep(0.05)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert rig.brood.pids() == set()
    assert not (rig.root / "started").exists()
    assert desk.copies == []
