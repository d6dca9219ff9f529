"""Secrets outside files: cut texts, checks, language servers, agents, feedback, recorded runs.

Beside each secret is a plain word; a request that lacks the word would prove nothing.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings, strategies as st

from tests.attacks.planted import OurServers, Secrets
from tests.builtin.task.runs.desk import Desk
from tests.builtin.test_buffer_workflows import planned
from tests.engine.steps.conftest import Write, write
from tests.engine.steps.test_agent import agent
from tests.engine.steps.test_tool import use
from tests.engine.test_resumed_runs import Stop
from tests.harness.bench import Bench
from tests.harness.buffers import Buffers
from tests.harness.tasks import rejected
from tideate_core.agents.corrector import findings_of
from tideate_core.agents.tools.editor_queries import one_line
from tideate_core.agents.tools.results import bounded_text, cut_line
from tideate_core.builtin.task.verification import bounded
from tideate_core.config import VerifyConfig
from tideate_core.gates import CheckResult, CheckStatus, VerificationReport
from tideate_core.mentions import hide_lines, hide_secrets
from tideate_core.mentions.items import head
from tideate_core.process.output import OutputCapture
from tideate_core.toolchain import Check, ProjectTrust, parse_failures, select_tools
from tideate_core.util.cutting import beginning, ending
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.model_server import ModelServer

__all__ = ["write"]

pytestmark = [pytest.mark.attack, pytest.mark.timeout(300)]

BESIDE: Final = "quokka"
_HERE: Final = Path(__file__).parent


@pytest.fixture
def tools() -> bool:
    return True


def assert_hidden(server: ModelServer, secrets: Secrets) -> None:
    """Assert that the model was told the place but no secret."""
    sent = json.dumps(server.requests, ensure_ascii=False)
    assert BESIDE in sent, sent[-700:]
    found = secrets.leaks_in(sent)
    assert found == set(), [sent[max(0, sent.find(one) - 90) :][:200] for one in found][:3]


def captured(text: str) -> str:
    capture = OutputCapture(3_000)
    capture.feed(text.encode())
    return capture.output().text


def failures_of(text: str) -> str:
    found = parse_failures(f"src/a.c:3:7: error: {text}\n", root=_HERE, tool="gcc", most=9).found
    return "\n".join(map(str, found))


def checked(text: str) -> str:
    result = CheckResult(check=Check.LINT, status=CheckStatus.FAILED, command=["make"], output=text)
    return findings_of(bounded(VerificationReport(checks=[result])))


CUTS: Final[dict[str, Callable[[str], str]]] = {
    "beginning": lambda text: beginning(text, 1_000),
    "ending": lambda text: ending(text, 1_000),
    "head": lambda text: head(text, 1_000),
    "cut_line": lambda text: cut_line(text, 1_000),
    "bounded_text": lambda text: bounded_text(text, "ask for less", 1_000),
    "one_line": lambda text: one_line(text, 1_000),
    "process": captured,
    "failures": failures_of,
    "check": checked,
}
"""Functions that cut a text before it is looked through as a whole."""


@settings(max_examples=60)
@given(
    cut=st.sampled_from(sorted(CUTS)),
    seed=st.integers(0, 10_000),
    before=st.integers(0, 4_200),
    word=st.sampled_from(["x ", "xy\n", "x"]),
)
def test_no_part_of_a_secret_stays_at_a_cut(cut: str, seed: int, before: int, word: str) -> None:
    secrets = Secrets(seed, str(seed))
    filler = (word * before)[:before]
    text = f"{filler} {secrets.token()} {filler}\n{secrets.variable()}\n{secrets.key()}\n{filler}"
    left = CUTS[cut](text)
    if cut != "process":  # keys are longer than what is left of them
        found = secrets.leaks_in(hide_secrets(left))
        assert found == set(), hide_secrets(left)[-300:]
    one = Secrets(seed, str(seed))
    left = CUTS[cut](f"{filler} {one.token()} {filler}")
    assert one.leaks_in(hide_secrets(left)) == set()
    assert one.leaks_in(hide_lines(left)) == set()


def revealing(root: Path, secrets: Secrets) -> Buffers:
    """Return an editor with language servers that reveal secrets."""
    long = f"{'x' * 1_985} {secrets.token()} {'y' * 4_000}"
    said = [f"{BESIDE} {secrets.token()}", f"{BESIDE}\n{secrets.key()}\n{secrets.variable()}", long]
    diagnostics = [
        {"path": str(root / "a.py"), "line": 1, "severity": "error", "message": one, "source": "lint"}
        for one in [*said, f"{'x' * 485} {secrets.token()} {'y' * 400}"]
    ]
    answers = [{"client": secrets.name(), "result": one} for one in said]
    return Buffers(
        hover={"answers": answers, "errors": [secrets.token()]},
        diagnostics={"diagnostics": diagnostics, "total": 9, "clients": [secrets.name()]},
    )


@pytest.mark.parametrize("seed", range(3))
async def test_words_of_language_servers(bench: Bench, write: Write, seed: int) -> None:
    secrets = Secrets(seed, str(seed))
    bench.write("a.py", "one = 1\n")
    bench.front.editor = revealing(bench.root, secrets)  # type: ignore[assignment]
    write("steps: [{id: a, task: Look at it, tools: [look, editor]}]")
    bench.server.calls("Look", "lsp_hover", {"path": "a.py", "line": 1, "symbol": "one"}, times=1)
    bench.server.calls("Look", "diagnostics", {"path": "a.py"}, times=1)
    bench.server.answers("Look", "seen")
    result = await bench.run("flow")
    assert result.ok, (result.error, bench.server.unmatched)
    assert len(bench.server.requests) == 3
    assert_hidden(bench.server, secrets)


async def test_an_agent_that_fails_and_the_words_of_its_file(bench: Bench, write: Write) -> None:
    secrets = Secrets(1, "agents")
    for name, keys in (("chef", "agents: [cook]"), ("cook", f"description: {BESIDE} {secrets.token()}")):
        agent(bench, name, f"---\n{keys}\n---\nYou are {name} {secrets.token()}.\n{secrets.key()}\n")
    write("steps: [{id: menu, agent: chef, task: Make a menu}]")
    bench.server.calls("Make a menu", "agent_cook", {"task": "Name a soup"}, times=1)
    bench.server.fails("Name a soup", 400, body={"error": {"message": f"{BESIDE} {secrets.token()}"}})
    bench.server.answers("Make a menu", "bread")
    result = await bench.run("flow")
    assert result.ok, (result.error, bench.server.unmatched)
    assert "Name a soup" in json.dumps(bench.server.requests)
    assert_hidden(bench.server, secrets)


READ: Final = """
steps:
  - {id: a, task: "Look at it", tools: [look, other/*], retries: 1, retry_delay: 0}
  - {id: stop, dependencies: [a]}
  - {id: b, dependencies: [a, stop], task: "Go on with {{ steps.a.result }}", tools: [look, other/*]}
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_retries_compaction_and_a_run_that_is_taken_up(bench: Bench, write: Write, seed: int) -> None:
    secrets = Secrets(seed, str(seed))
    bench.write("notes.txt", f"{BESIDE}\n{secrets.key()}\n" + "plain words\n" * 500)
    await bench.limit(8_000)
    use(bench, OurServers(bench.root, secrets))
    write(READ, stop=Stop(bench))
    for kind in ("text", "long", "json", "none"):
        bench.server.calls("Look at it", "other__tell", {"kind": kind}, times=1)
        bench.server.calls("Look at it", "read_file", {"path": "notes.txt"}, times=1)
    for number in range(1, 7):
        bench.server.calls("Look at it", "read_result", {"call": number, "first": 2}, times=1)
    bench.server.fails("Look at it", 400, body={"error": {"message": secrets.token()}}, times=1)
    bench.server.answers("Look at it", f"looked {BESIDE}")
    bench.server.calls("Go on", "other__tell", {"kind": "value"}, times=1)
    bench.server.answers("Go on", f"went on {BESIDE}")
    bench.front.answer = lambda request: Decision(True, by="policy")
    left = await bench.run("flow")
    assert left.cancelled, (left.error, bench.server.unmatched)
    use(bench, OurServers(bench.root, secrets))
    result = await bench.runner.resume_run(left.execution_id)
    assert result.ok, (result.error, bench.server.unmatched)
    assert "was left out to save room" in json.dumps(bench.server.requests)
    assert_hidden(bench.server, secrets)
    again = await bench.run("flow", continues=result.execution_id, prompt="Go on with it, Look at it")
    assert again.error is None or "conversation" in str(again.error)
    assert_hidden(bench.server, secrets)


@pytest.mark.slow
@pytest.mark.parametrize("status", [0, 3])
async def test_the_output_of_checks(
    bench: Bench, write: Write, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets(status, str(status))
    lines = [
        f"src/a.c:{at}:7: error: {BESIDE} {'x' * (540 + at)} {secrets.token()} end" for at in range(1, 40)
    ]
    lines += [secrets.key(), secrets.variable(), f"{'y' * 970} {secrets.token()}", BESIDE]
    monkeypatch.setattr(Bench, "private", tmp_path / "private")
    bench.write("out.txt", "\n".join(lines) + "\n")
    bench.write("Makefile", f"lint:\n\t@cat out.txt; exit {status}\n")
    ProjectTrust(bench.root).trust(chain.from_iterable(select_tools(bench.root, VerifyConfig()).values()))
    write("steps: [{id: a, task: Look at it, tools: [checks]}]")
    bench.server.calls("Look", "run_check", {"check": "lint"}, times=1)
    bench.server.answers("Look", "seen")
    result = await bench.run("flow")
    assert result.ok, (result.error, bench.server.unmatched)
    assert_hidden(bench.server, secrets)


@pytest.mark.slow
async def test_prompts_of_multi_file(bench: Bench) -> None:
    secrets = Secrets(4, "multi")
    bench.write("AGENTS.md", f"Keep it {BESIDE}.\n")
    bench.write("settings.py", f"K = '{secrets.token()}'\n")
    bench.write(f"{secrets.name()}.py", "x = 1\n")
    planned(bench)
    bench.front.answer = lambda request: Decision(request.kind != "gate", by="policy")
    await bench.run("multi_file", "move f into a library @tree @symbols")
    assert len(bench.server.requests) > 1
    assert_hidden(bench.server, secrets)


@pytest.mark.slow
async def test_prompts_of_a_task(tmp_path: Path, server: ModelServer) -> None:
    secrets = Secrets(5, "task")
    desk = Desk(tmp_path, server)
    with desk.site.person():
        path = desk.root / "docs" / "notes.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{BESIDE} {secrets.token()}\n{secrets.key()}\n")
        desk.model.says("auditor", rejected(f"too much {BESIDE}"))
        desk.front.answer = lambda request: Decision(request.kind != "gate", by="policy")
        await desk.run("count the lines of a text @tree @file:docs/notes.md")
        await desk.aclose()
    assert_hidden(server, secrets)
