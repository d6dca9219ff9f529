"""Tests of a trusted project run by its own runner, with uniform results."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from tests.mcp.projects import there
from tests.mcp.servers.calling import serve
from tideate_core.mcp.servers import commands
from tideate_core.mcp.servers.test.server import test_server as make_server
from tideate_core.toolchain.testing.results import TestResults

if TYPE_CHECKING:
    from tests.harness.processes import Brood
    from tests.mcp.projects import Project
    from tests.mcp.servers.calling import Caller

pytestmark = pytest.mark.slow

QUIET = '[tool.pytest.ini_options]\naddopts = "-p no:cacheprovider -p no:asyncio -p no:hypothesispytest"\n'
PYTEST = {
    "pyproject_toml": QUIET,
    "test_small_py": (
        "import pytest\n\n\ndef test_fine():\n    pass\n\n\nclass TestSum:\n    def test_wrong(self):\n"
        "        assert 1 + 1 == 3\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n\n\n"
        "@pytest.fixture\ndef broken():\n    raise KeyError('none')\n\n\ndef test_set_up(broken):\n    pass\n"
    ),
    "sub__test_other_py": "def test_other():\n    pass\n",
}


def counts(answer: dict[str, Any]) -> list[int | None]:
    return [answer[key] for key in ("passed", "failed", "errors", "skipped")]


async def test_a_run_of_pytest_is_counted_and_its_failures_are_placed(
    project: Project, served: Caller
) -> None:
    project.write(**PYTEST).trust()
    answer = await served("test_run")
    assert (answer["status"], answer["runner"], answer["exitCode"]) == ("failed", "pytest", 1)
    assert counts(answer) == [2, 1, 1, 1]
    wrong, broken = sorted(answer["failures"], key=lambda one: str(one["kind"]), reverse=True)
    assert wrong == {
        "kind": "failed",
        "name": "test_small.py::TestSum::test_wrong",
        "file": "test_small.py",
        "line": 10,
        "message": "assert (1 + 1) == 3",
    }
    assert (broken["kind"], broken["line"], broken["message"]) == ("error", 20, "KeyError: 'none'")
    assert served.progress == sorted(served.progress, key=lambda one: one[0])
    assert served.progress


async def test_a_run_is_written_to_the_report(project: Project, served: Caller) -> None:
    project.write(**PYTEST).trust()
    none = await served("test_run", pattern="nowhere")
    answer = await served("test_run", files=["./sub"], pattern="other or wrong")
    written = (project.root / answer["report"]).read_text()
    assert answer["report"] == ".tideate/qa/reports/test_results.json"
    results = TestResults.model_validate_json(written)
    assert (results.status, results.passed, results.files) == ("passed", 1, ["sub"])
    assert (results.pattern, none["status"]) == ("other or wrong", "no_tests")
    assert json.loads(written).items() <= answer.items()
    assert {path.name for path in (project.private / "qa/reports").iterdir()} == {"test_results.json"}


async def test_a_target_of_make_is_run_as_it_is(project: Project, served: Caller) -> None:
    project.make("test", "echo 'small.c:3:5: error: wrong'", "echo 'ran what there was'", "exit 3").trust()
    answer = await served("test_run")
    refused = await served.refused("test_run", pattern="one")
    everything = await served("test_run", pattern="one", or_all=True)
    assert (everything["pattern"], everything["command"]) == ("", answer["command"])
    assert (answer["status"], answer["runner"], answer["exitCode"]) == ("failed", "make", 2)
    assert counts(answer) == [None] * 4
    [failure] = answer["failures"]
    assert (failure["file"], failure["line"], failure["message"]) == ("small.c", 3, "wrong")
    assert "cannot be limited" in refused


async def test_a_configured_command_is_run_as_it_stands(project: Project, served: Caller) -> None:
    project.make("test", "touch ran").trust()
    project.private.mkdir(exist_ok=True)
    command = ["sh", "-c", "echo 'Tests:       1 failed, 2 passed, 3 total'; exit 1"]
    (project.private / "config.toml").write_text(f"[verify]\ntests = {json.dumps(command)}\n")
    before = await served.refused("test_run")
    project.trust()
    answer = await served("test_run")
    refused = await served.refused("test_run", pattern="x")
    assert "verify.tests" in before  # and what is detected does not run in its place
    assert "tideate trust" in before
    assert not (project.root / "ran").exists()
    assert answer["command"] == command
    assert counts(answer) == [2, 1, 0, 0]
    assert "verify.tests is configured" in refused


async def test_no_path_outside_the_root_is_told(project: Project, served: Caller) -> None:
    config = project.root.parent / "config/tideate/config.toml"
    config.write_text("[verify]\nunknown = 1\n")
    words = await served.refused("test_run")
    assert "unknown key 'verify.unknown'" in words
    assert str(config.parent) not in words


async def test_what_was_started_is_gone_before_a_cancelled_call_is(project: Project) -> None:
    begun, released, ended = asyncio.Event(), asyncio.Event(), []

    async def work(_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            asyncio.get_running_loop().call_later(0.1, released.set)
            await released.wait()  # is not cut short by the cancellation
            ended.append("all")

    async def stop(scope: anyio.CancelScope) -> None:
        await begun.wait()
        scope.cancel()

    with anyio.CancelScope() as scope:
        stopping = asyncio.create_task(stop(scope))
        await commands.report_while(cast("Any", None), project.root, work)
    await stopping
    assert ended == ["all"]


async def test_nothing_runs_before_a_person_trusts_it(project: Project, served: Caller) -> None:
    project.make("test", "touch ran")
    words = await served.refused("test_run")
    project.trust()
    await served("test_run")
    assert (project.root / "ran").exists()
    project.make("test", "touch again")
    changed = await served.refused("test_run")
    assert "`make test`" in words
    assert "tideate trust" in words
    assert "tideate trust" in changed
    assert not (project.root / "again").exists()


async def test_tests_that_are_off_are_refused_with_the_reason(project: Project, served: Caller) -> None:
    project.private.mkdir()
    (project.private / "config.toml").write_text('[verify]\ntests = "off"\n')
    project.make("test", "touch ran").trust()
    assert '"off"' in await served.refused("test_run")


async def test_the_output_comes_in_pages(project: Project, served: Caller) -> None:
    project.make("test", 'i=0; while [ $$i -lt 3000 ]; do echo "line $$i of many"; i=$$((i+1)); done').trust()
    assert "no tests were run" in await served.refused("test_output")
    answer = await served("test_run")
    pages, cursor = [answer["output"]], answer["nextCursor"]
    while cursor:
        rest = await served("test_output", cursor=cursor)
        pages.append(rest["output"])
        cursor = rest["nextCursor"]
    wrong = await served.refused("test_output", cursor="12")
    assert len(pages) > 2
    assert "".join(pages).splitlines() == [f"line {number} of many" for number in range(3000)]
    assert "cursor" in wrong


async def test_a_run_that_takes_too_long_is_ended_with_all_it_started(
    project: Project, brood: Brood, served: Caller
) -> None:
    project.make("test", "sleep 300 & echo begun; wait").trust()
    answer = await served("test_run", timeout=0.5)
    assert answer["status"] == "timed_out"
    assert "did not end within its time" in answer["ending"]
    assert not brood.commands()


async def test_a_cancelled_run_is_ended_and_the_next_one_runs(
    project: Project, brood: Brood, served: Caller
) -> None:
    ends = 'trap ": >asked; exit 1" TERM; : >begun; sleep 300 & wait'
    project.make("test", f"[ -f go ] || sh -c '{ends}'").trust()
    call = asyncio.create_task(served.call("test_run"))
    await there(project.root / "begun")
    call.cancel()
    await asyncio.wait([call])
    assert await asyncio.to_thread(brood.gone, 60), brood.commands()
    assert (project.root / "asked").exists()  # before it was killed
    (project.root / "go").touch()
    async with asyncio.timeout(60):
        answer = await served("test_run")
    assert answer["status"] == "passed"


@pytest.mark.concurrency
async def test_a_second_run_at_once_is_refused_with_words(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "PATIENCE", 0.1)
    project.make("test", "touch begun", "while [ ! -f go ]; do sleep 0.02; done").trust()
    async with serve(make_server(project.root)) as served, serve(make_server(project.root)) as other:
        call = asyncio.create_task(served("test_run"))
        await there(project.root / "begun")
        words = [await served.refused("test_run"), await other.refused("test_run")]
        (project.root / "go").touch()
        answer = await call
    assert all("in progress" in one for one in words)
    assert answer["status"] == "passed"


async def test_a_private_folder_that_leads_out_is_not_written_to(project: Project, served: Caller) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    project.make("test", "true").trust()
    (project.private).mkdir(exist_ok=True)
    (project.private / "qa").symlink_to(outside)
    words = await served.refused("test_run")
    assert "it is a link, or there is a link on the way to it" in words
    assert not list(outside.iterdir())


async def test_a_runner_that_is_missing_is_said_without_paths_outside(
    project: Project, monkeypatch: pytest.MonkeyPatch, served: Caller
) -> None:
    project.write(go_mod="module small\n").trust()
    monkeypatch.setenv("PATH", str(project.root))
    words = await served.refused("test_run")
    assert "go is not installed" in words
    assert "verify.tests" in words
