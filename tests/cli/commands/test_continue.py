"""Runs that go on with others at the terminal: `--continue`, `--turn`, `--thread`, `--search`, a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import kill, object_of, refactored

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def looking(shell: Shell, server: ModelServer) -> ModelServer:
    """A model that can call tools."""
    other = f'[adapters.other]\nbase_url = "{server.base_url}"\nmodel = "another"\ntools = false\n'
    shell.use(server, tools=True, more=other)
    return server


def asked_about_b(shell: Shell, server: ModelServer) -> str:
    shell.write("b.py", "X = 41\n")
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    server.answers("X = 41", "It is 41.", times=1)
    done = shell.ok("run", "ask", "what is in b?\nTell me.", "--json")
    return str(object_of(done)["execution_id"])


def test_the_nearest_run_is_printed_in_one_line_and_dropped_by_an_option(
    shell: Shell, looking: ModelServer
) -> None:
    looking.answers("", "Twice the radius.")
    first = shell.run("run", "ask", "why do circles flicker?", "--json")
    near = ("run", "ask", "do circles flicker still?")
    told = f"memory: @run:{object_of(first)['execution_id'][:8]} (ask, completed, "
    assert told in shell.run(*near).stderr
    assert "Twice the radius." in str(looking.requests[-1])
    assert told not in shell.run(*near, "--no-memory").stderr
    assert "Twice the radius." not in str(looking.requests[-1])


def test_a_conversation_goes_on_and_is_shown(shell: Shell, looking: ModelServer) -> None:
    first = asked_about_b(shell, looking)
    looking.answers("and in c", "Nothing.")
    second = shell.json("run", "ask", "and in c?", "--continue", "last")
    assert second["response"] == "Nothing."

    listed = shell.json("history")["runs"]
    assert [(run["title"], run["continues"]) for run in listed] == [
        ("and in c?", first),
        ("what is in b?", None),
    ]
    rows = [row.rstrip() for row in shell.run("history").stdout.splitlines()]
    assert f"↳ {first[:8]} and in c?" in rows[1]
    assert "what is in b?" in rows[2]
    assert f"continues   the run {first[:8]}" in shell.run("show", second["execution_id"]).stdout

    thread = shell.run("show", second["execution_id"], "--thread").stdout
    in_order = ("── you", "── 1 scripted", '  → read_file {"path": "b.py"}', "  ← read_file: ")
    places = [thread.index(words) for words in (*in_order, "── 2 scripted", "It is 41.", "── 3 scripted")]
    assert places == sorted(places)
    said = shell.json("show", second["execution_id"], "--thread")["thread"]
    assert [one["role"] for one in said] == ["user", "model", "tool", "model", "user", "model"]
    assert said[1]["calls"] == [{"tool": "read_file", "arguments": {"path": "b.py"}}]
    assert [one["turn"] for one in said if one["role"] == "model"] == [1, 2, 3]


def test_a_fork_at_a_turn_asks_another_model_without_what_came_after(
    shell: Shell, looking: ModelServer
) -> None:
    first = asked_about_b(shell, looking)
    looking.answers("say it anew", "Anew.")
    fork = ("run", "ask", "say it anew", "--continue", first[:8], "--turn")
    done = shell.run(*fork, "2", "--adapter", "other")
    assert (done.returncode, done.stdout) == (0, "Anew.\n"), done.stderr
    sent = looking.requests[-1]
    assert sent["model"] == "another"
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "user"]
    shell.fails(2, "there is no turn 3: the conversation has 2 turns", *fork, "3")
    shell.fails(2, "--turn requires --continue", "run", "ask", "hello", "--turn", "1")


def test_runs_are_found_by_what_was_said(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    answering.answers("weather", "Snow in Oslo.")
    shell.run("run", "ask", "the weather")
    for words, names in (("oslo", ["ask"]), ("IT ADDS UP", ["refactor"]), ("nobody said", [])):
        found = shell.json("history", "--search", words)["runs"]
        assert [one["workflow"] for one in found] == names
    assert run[:8] in shell.run("history", "--search", "adds up").stdout
    assert shell.run("history", "--search", "nobody said").stderr == "no runs match\n"
    (found,) = shell.json("history", "ADD", "up", "--since", "1h")["runs"]
    assert (found["execution_id"], "it adds up" in found["match"]) == (run, True)
    for arguments, names in (
        (["--file", "a.py"], ["refactor"]),
        (["--file", "b.py"], []),
        (["--workflow", "ask"], ["ask"]),
        (["--workflow", "ask", "up"], []),
        (["--since", "2999-01-01"], []),
        (["--since", "2w"], ["ask", "refactor"]),
        (["os*"], ["ask"]),
    ):
        runs = shell.json("history", *arguments)["runs"]
        assert [one["workflow"] for one in runs] == names, arguments
    for arguments in (["--since", "soon"], ["*"], ["x", "--prune"], ["--file", "x", "--costs"]):
        assert shell.run("history", *arguments).returncode == 2, arguments


def test_a_run_without_a_conversation_has_no_thread(shell: Shell, answering: ModelServer) -> None:
    answering.fails("hello", 401)
    shell.run("run", "ask", "hello")
    run = shell.json("history")["runs"][0]["execution_id"]
    done = shell.run("show", run, "--thread")
    assert done.returncode != 0
    assert f"run {run[:8]} has no conversation" in done.stderr


@pytest.mark.crash
def test_a_continued_run_that_is_killed_goes_on_with_the_same_conversation(
    shell: Shell, looking: ModelServer
) -> None:
    first = asked_about_b(shell, looking)
    shell.write("c.py", "Y = 42\n")
    looking.calls("and in c", "read_file", {"path": "c.py"}, times=1)
    gate = looking.holds("Y = 42", text="It is 42.")
    process = shell.start("run", "ask", "and in c?", "--continue", first)
    gate.wait_started()
    kill(process, gate)
    # what it goes on with is its own
    shell.ok("history", "--prune", "--keep", "0", "--yes")
    assert shell.run("show", first).returncode != 0
    asked = len(looking.requests)
    done = shell.ok("resume", "--yes")
    assert done.stdout == "It is 42.\n"
    assert len(looking.requests) == asked + 1, "no turn was asked for again"
    messages = looking.requests[-1]["messages"]
    assert [one["role"] for one in messages] == [
        *("system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool")
    ]
    assert "It is 41." in str(messages)
