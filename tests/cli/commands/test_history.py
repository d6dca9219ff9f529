"""`tideate history`: lists, metrics, costs and pruning of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, REFACTOR, killed, object_of, only_run, refactored, scripted

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_without_runs_nothing_is_listed_and_nothing_made(shell: Shell) -> None:
    for options, words in (([], "no runs yet\n"), (["--costs"], "no model has been asked yet\n")):
        done = shell.ok("history", *options)
        assert (done.stdout, done.stderr) == ("", words)
    assert not (shell.project / ".tideate").exists()


def test_the_list_shows_how_runs_ended(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    answering.fails("hello", 401)
    assert shell.run("run", "ask", "hello").returncode == 1
    done = shell.run("history")
    failed, completed = (line.split() for line in done.stdout.splitlines()[1:])
    assert (failed[:2], completed[:2], completed[-1]) == (
        ["failed", "hello"],
        ["completed", "shorten"],
        run[:8],
    )
    assert "2/2" in shell.run("history", "--wide").stdout.splitlines()[2].split()
    of_one = shell.json("history", "--status", "failed", "--name", "ask")["runs"]
    assert [(one["workflow"], one["error_code"]) for one in of_one] == [("ask", "AuthenticationFailed")]
    assert shell.json("history", "--status", "completed", "--name", "ask")["runs"] == []


def test_a_terminal_of_80_columns_shows_each_run_as_one_line(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    answering.answers("please", "hi there")
    shell.ok("run", "ask", "please explain this in very many words " * 4)
    terminal = shell.open("history", columns=80)
    assert terminal.wait_exit() == 0
    header, asked, shortened = (line.rstrip() for line in terminal.text.splitlines())
    assert header.split() == ["title", "workflow", "when", "id"]
    assert asked.startswith("✓  please explain this in very many words")
    assert "…" in asked
    assert max(map(len, (asked, shortened))) <= 80
    assert shortened.split() == ["✓", "shorten", "refactor", "just", "now", run[:8]]


def test_a_declined_run_has_the_same_word_in_lists_and_filters(shell: Shell, answering: ModelServer) -> None:
    shell.write("a.py", LOOP)
    scripted(answering)
    assert shell.run(*REFACTOR[:-1], "--no").returncode == 3
    run = only_run(shell)["execution_id"]
    assert shell.run("history").stdout.splitlines()[1].split()[0] == "declined"
    assert "declined" in shell.run("show", run).stdout.splitlines()[2]
    assert [one["execution_id"] for one in shell.json("history", "--status", "declined")["runs"]] == [run]
    assert shell.json("history", "--status", "cancelled")["runs"] == []


def test_metrics_count_runs_by_workflow_and_day(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    (counted,) = shell.json("history", "--metrics")["metrics"]
    assert (counted["workflow"], counted["total"], counted["successful"]) == ("refactor", 1, 1)
    assert (counted["avg_steps_completed"], counted["checkpoints"]) == (2.0, 2)


@pytest.mark.crash
def test_an_interrupted_run_is_hinted_at_and_never_forgotten(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    done = shell.run("history", "--status", "interrupted")
    assert f"tideate resume {run[:8]}" in done.stdout
    assert f"`tideate resume {run[:8]}` resumes it" in done.stderr
    forgotten = shell.json("history", "--prune", "--keep", "0", "--yes")
    assert forgotten["runs"] == []


def test_what_can_be_rolled_back_is_forgotten_only_when_that_is_said(
    shell: Shell, answering: ModelServer
) -> None:
    run = refactored(shell, answering)
    answering.answers("hello", "hi")
    shell.run("run", "ask", "hello")
    ahead = shell.json("history", "--prune", "--keep", "0", "--dry-run")
    done = shell.json("history", "--prune", "--keep", "0", "--yes")
    assert (ahead["runs"], len(done["runs"]), done["kept_for_rollback"]) == (done["runs"], 1, 1)
    kept = shell.json("history")["runs"]
    assert [one["execution_id"] for one in kept] == [run]
    everything = shell.json("history", "--prune", "--keep", "0", "--changes", "--yes")
    assert everything["runs"] == [run]
    assert shell.run("rollback", "--yes", run).returncode == 2


def test_a_run_that_was_rolled_back_is_shown_as_one(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    assert f"tideate rollback {run[:8]}" in shell.run("show", run).stdout
    assert "rolled back" not in shell.run("history").stdout
    back = ("history", "--status", "rolled-back", "--json")
    assert object_of(shell.run(*back))["runs"] == []
    shell.ok("rollback", "--yes", run)
    answering.answers("hello", "hi")
    shell.run("run", "ask", "hello")
    for more in ([], ["--file", "a.py"], ["--workflow", "refactor"]):
        assert [one["execution_id"] for one in object_of(shell.run(*back, *more))["runs"]] == [run]
    assert object_of(shell.run(*back, "hello"))["runs"] == []
    assert "rolled back" in shell.run("history").stdout
    shown = shell.run("show", run).stdout
    assert "rolled back" in shown
    assert "tideate rollback" not in shown


def test_the_configuration_says_what_is_kept(shell: Shell, answering: ModelServer) -> None:
    answering.answers("hello", "hi")
    shell.run("run", "ask", "hello")
    shell.fails(3, "--yes deletes", "history", "--prune", "--keep", "0")
    kept = shell.json("history", "--prune", "--yes")
    assert kept["runs"] == [], "the newest 1000 are kept"
    config = shell.home / "config" / "tideate" / "config.toml"
    config.write_text(config.read_text() + "[history]\nkeep_runs = 0\n")
    assert len(shell.json("history", "--prune", "--yes")["runs"]) == 1


def test_options_that_do_not_go_together_are_wrong_usage(shell: Shell) -> None:
    for *options, named in (
        ["--keep", "3", "--keep"],
        ["--dry-run", "--dry-run"],
        ["--days", "3", "--days"],
        ["--prune", "--metrics", "--metrics"],
        ["--costs", "--metrics", "--metrics"],
        ["--limit", "-1", "--limit"],
    ):
        done = shell.run("history", *options)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert named in done.stderr


def test_costs_are_shown_by_day_and_model(shell: Shell, answering: ModelServer) -> None:
    answering.answers("hello", "hi there")
    answering.cached_tokens = 3
    first = shell.json("run", "ask", "hello")
    assert first["usage"]["cached_tokens"] == 3
    shell.run("run", "ask", "hello again")
    told = shell.json("history", "--costs")
    (row,) = told["costs"]
    assert (row["model"], row["runs"], row["answers"], row["answers_without_price"]) == ("scripted", 2, 2, 2)
    assert row["usage"] == told["total"]
    assert row["usage"]["cached_tokens"] == 6
    done = shell.run("history", "--costs")
    assert "scripted" in done.stdout
    assert "unknown" in done.stdout
    assert " %" in shell.run("history", "--wide").stdout
    assert "% cached)" in shell.run("show", first["execution_id"]).stdout
