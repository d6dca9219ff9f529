"""A trusted project is built by its own command; problems have positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp.servers.calling import held_open, serve
from tideate_core.mcp.servers.build.server import build_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.mcp.projects import Project
    from tests.mcp.servers.calling import Caller


@pytest.fixture
async def served(project: Project) -> AsyncIterator[Caller]:
    """Call the tools of the server."""
    async with held_open(serve(build_server(project.root))) as caller:
        yield caller


CLEAN = "clean:\n\trm -f made\n"


async def test_what_would_be_run_is_told_and_nothing_is_run(project: Project, served: Caller) -> None:
    project.make("build", "touch made", more=CLEAN)
    before = await served("build_detect")
    project.trust()
    after = await served("build_detect")
    assert before["build"] == {
        "tool": "make",
        "command": ["make", "build"],
        "reason": "Makefile has the target 'build'",
        "configured": False,
        "trusted": False,
    }
    assert before["clean"]["command"] == ["make", "clean"]
    assert "tideate trust" in before["advice"]
    assert (after["build"]["trusted"], after["clean"]["trusted"], after["advice"]) == (True, True, "")
    assert not (project.root / "made").exists()


async def test_a_project_without_a_build_is_told_what_a_person_can_do(
    project: Project, served: Caller
) -> None:
    known = await served("build_detect")
    words = [await served.refused(tool) for tool in ("build_run", "build_clean", "build_output")]
    assert (known["build"], known["clean"]) == (None, None)
    assert "verify.build" in known["advice"]
    assert "verify.build" in words[0]
    assert "clean" in words[1]
    assert "build_run" in words[2]


async def test_the_errors_of_a_build_are_placed(project: Project, served: Caller) -> None:
    lines = ("echo \"src/a.c:3:5: error: 'x' undeclared [E1]\" >&2", "echo 'a.c:9:1: warning: old'", "exit 2")
    project.make("build", *lines).trust()
    answer = await served("build_run")
    output = await served("build_output")
    assert (answer["status"], answer["exitCode"], answer["ending"]) == ("failed", 2, "ended with status 2")
    places = sorted((one["severity"], one["file"], one["line"], one["column"]) for one in answer["problems"])
    assert places == [("error", "src/a.c", 3, 5), ("warning", "a.c", 9, 1)]
    assert "undeclared" in answer["output"]
    assert output["output"] == answer["output"]
    assert served.progress


async def test_a_build_that_goes_well_has_warnings_at_most(project: Project, served: Caller) -> None:
    lines = ("echo 'a.c:1:1: error: only a word about one'", "echo 'a.c:9:1: warning: old'", "touch made")
    project.make("build", *lines, more=CLEAN).trust()
    built = await served("build_run")
    assert (project.root / "made").exists()
    cleaned = await served("build_clean")
    assert (built["status"], [one["severity"] for one in built["problems"]]) == ("passed", ["warning"])
    assert (cleaned["status"], cleaned["command"]) == ("passed", ["make", "clean"])
    assert not (project.root / "made").exists()


async def test_neither_runs_before_a_person_trusts_it_as_it_is(project: Project, served: Caller) -> None:
    project.make("build", "touch made", more=CLEAN)
    words = [await served.refused(tool) for tool in ("build_run", "build_clean")]
    project.trust()
    project.make("build", "touch other", more=CLEAN)
    words += [await served.refused(tool) for tool in ("build_run", "build_clean")]
    assert all("tideate trust" in one for one in words)
    assert not {"made", "other"} & project.files()


async def test_a_build_command_that_is_declared_is_no_trust_in_cleaning(
    project: Project, served: Caller
) -> None:
    project.make("build", "touch made", more=CLEAN)
    project.write(**{".tideate__config_toml": '[verify]\nbuild = ["make", "clean"]\n'}).trust()
    project.make("build", "touch made", more="clean:\n\ttouch other\n")
    assert "tideate trust" in await served.refused("build_clean")
    assert "other" not in project.files()


async def test_a_build_takes_no_arguments_that_could_reach_its_command(
    project: Project, served: Caller
) -> None:
    project.make("build", "touch made").trust()
    for argument in ("target", "args", "command"):
        assert "unknown argument" in await served.refused("build_run", **{argument: "; touch p"})
    for timeout in (0, -1, "1; touch p", 1e9):
        assert "timeout" in await served.refused("build_run", timeout=timeout)
    assert not {"made", "p"} & project.files()


async def test_every_tool_says_what_it_does_to_the_project(project: Project, served: Caller) -> None:
    tools = {tool.name: tool for tool in (await served.client.list_tools()).tools}
    looking = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert looking == {"build_detect", "build_output"}
    assert set(tools) == {*looking, "build_run", "build_clean"}
    assert all(tool.output_schema for tool in tools.values())
