"""`tideate compare`: choice of one answer, mixed hunks, left and killed comparisons."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import harness
from tests.cli.interrupted import kill, object_of
from tests.harness.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

WORDS = "one\ntwo\nthree\nfour\nfive\n"
LOUD = "ONE\ntwo\nthree\nfour\nFIVE\n"
GERMAN = "one\nzwei\nthree\nfour\nfünf\n"
MODELS = ("compare", "refactor", "translate", "--file", "a.txt", "--models", "a,b")


@pytest.fixture
def servers(shell: Shell) -> Iterator[dict[str, ModelServer]]:
    """Two models with different refactorings of `a.txt`."""
    with ModelServer(model="a") as a, ModelServer(model="b") as b:
        known = {"a": a, "b": b}
        shell.configure(
            'adapter = "a"\n'
            + "".join(
                f'[adapters.{name}]\nbase_url = "{server.base_url}"\nmodel = "{name}"\ntools = false\n'
                for name, server in known.items()
            )
        )
        shell.write("a.txt", WORDS)
        for name, text in (("a", LOUD), ("b", GERMAN)):
            known[name].answers("what must not change", "the order", times=1)
            known[name].answers("in one fenced block", f"```\n{text}```")
        yield known


def test_hunks_of_two_models_are_mixed_at_a_terminal(shell: Shell, servers: dict[str, ModelServer]) -> None:
    terminal = shell.open(*MODELS)
    terminal.wait_for("Take which of 2 answers? [1/2/n/d]")
    assert "── 1 a ──" in terminal.text
    assert "+fünf" in terminal.text
    assert "+2 -2 lines in 1 file" in terminal.text
    assert shell.read("a.txt") == WORDS
    terminal.type("1\n")
    terminal.answer(
        ("Apply the change to a.txt (+2 -2 lines)? [y/N/p/c/d]", "p"),
        ("Accept hunk 1/2 of a.txt? [y/N/e/b/a/s/q]", "y"),
        "1 · the adapter 'b' has here:",
        ("Accept hunk 2/2 of a.txt? [y/N/e/1/b/a/s/q]", "1"),
        "only the adapter 'b' has:",
        ("Take it, too, into a.txt? [y/N/q]", "y"),
    )
    assert terminal.wait_exit() == 0
    assert shell.read("a.txt") == "ONE\nzwei\nthree\nfour\nfünf\n"
    assert "taken" in terminal.text.rpartition("Take it, too")[2]
    states = [(run["state"], run["reason"]) for run in shell.json("history")["runs"]]
    assert sorted(states, key=str) == [("cancelled", "declined"), ("completed", None)]
    run = shell.json("history", "--status", "completed")["runs"][0]["execution_id"]
    shell.ok("rollback", "--yes", run)
    assert shell.read("a.txt") == WORDS


def test_a_named_model_is_taken_without_a_terminal(shell: Shell, servers: dict[str, ModelServer]) -> None:
    done = shell.ok(*MODELS, "--take", "b", "--yes", "--json")
    shape = object_of(done)
    assert shell.read("a.txt") == GERMAN
    assert (shape["ok"], shape["files"]) == (True, ["a.txt"])
    (taken,) = (one for one in shape["runs"] if one["execution_id"] == shape["taken"])
    assert (taken["adapter"], taken["ok"]) == ("b", True)
    assert all(one["usage"]["output_tokens"] > 0 for one in shape["runs"])
    assert "not taken" in done.stderr
    usage = taken["usage"]
    assert f" {usage['input_tokens']}/{usage['output_tokens']} " in done.stderr


def test_text_that_is_not_reviewed_is_taken_without_an_answer(
    shell: Shell, servers: dict[str, ModelServer]
) -> None:
    for name, server in servers.items():
        server.answers("hello", f"from {name}")
    done = shell.run("compare", "ask", "hello", "--models", "a,b", "--take", "b", "--json")
    assert (done.returncode, object_of(done)["response"]) == (0, "from b"), done.stderr


def test_ctrl_d_leaves_all_runs_and_the_comparison_is_resumed(
    shell: Shell, servers: dict[str, ModelServer]
) -> None:
    terminal = shell.open(*MODELS)
    terminal.wait_for("Take which of 2 answers? [1/2/n/d]")
    terminal.type("\x04")
    assert terminal.wait_exit() == 130
    (resumes,) = re.findall(r"the comparison waits; `tideate (.*?)` resumes it", terminal.text)
    runs = shell.json("history")["runs"]
    assert [(run["state"], run["compared"]) for run in runs] == [("interrupted", ["a", "b"])] * 2
    listed = shell.run("history").stdout
    assert "⇄ a, b" in listed
    shown = shell.run("show", runs[0]["execution_id"]).stdout
    assert f"a, b; `tideate compare --resume {runs[0]['execution_id'][:8]}` resumes all of it" in shown
    alone = shell.run("resume", runs[0]["execution_id"], "--no")
    assert "is part of a comparison of a, b, and is resumed alone; `tideate compare --resume" in alone.stderr
    requests = [len(server.requests) for server in servers.values()]
    again = shell.open(*resumes.split())
    again.answer(("y/N/p/c/d]", "y"))
    assert again.wait_exit() == 0
    assert shell.read("a.txt") in (LOUD, GERMAN)
    assert [len(server.requests) for server in servers.values()] == requests


def test_taking_none_of_the_answers_is_asked_and_keeps_the_reviews(
    shell: Shell, servers: dict[str, ModelServer]
) -> None:
    terminal = shell.open(*MODELS)
    for question, answer in (
        ("Take which of 2 answers? [1/2/n/d]", ""),  # Enter answers nothing
        ("Take which of 2 answers? [1/2/n/d]", "n"),
        ("Take none of the answers? [y/N]", ""),
        ("Take which of 2 answers? [1/2/n/d]", "n"),
        ("Take none of the answers? [y/N]", "y"),
    ):
        terminal.answer((question, answer))
    assert terminal.wait_exit() == 3
    requests = [len(server.requests) for server in servers.values()]
    kept = re.findall(r"kept; `tideate (review \w+)` opens the review of .([ab]). again", terminal.text)
    assert [model for _, model in kept] == ["a", "b"]
    again = shell.open(*kept[1][0].split())
    again.answer(("y/N/p/c/d]", "y"))
    assert again.wait_exit() == 0
    assert shell.read("a.txt") == GERMAN
    assert [len(server.requests) for server in servers.values()] == requests, "no model is asked again"


WRONG = (
    (MODELS, "there is no terminal to choose on; --take NAME takes"),
    ((*MODELS, "--yes"), "--yes accepts a review, and chooses no answer; --take NAME"),
    ((*MODELS, "--take", "b"), "refactor asks before it writes, and there is no terminal to ask on"),
    ((*MODELS, "--take", "b", "--no"), "refactor asks before it writes, and --no declines that"),
    ((*MODELS, "--take", "c"), "--take c: it is not among a, b"),
    ((*MODELS[:-1], "a,a", "--take", "a"), "the model 'a' is given twice"),
    ((*MODELS[:-1], "a", "--take", "a"), "a comparison takes two models or more"),
    ((*MODELS[:-1], "a,bb", "--take", "a", "--yes"), "unknown adapter 'bb'"),
    (("compare", "task", "x", "--models", "a,b", "--take", "a"), "task cannot be compared"),
    (("compare", "refactr", "x", "--models", "a,b", "--take", "a"), "did you mean 'refactor'"),
    (("compare", "--take", "a"), "name a workflow to compare, or a run to --resume"),
    (("compare", "--resume", "abc", "--take", "a"), "no run has the id 'abc'"),
)


def test_an_impossible_comparison_is_wrong_usage_and_asks_nobody(
    shell: Shell, servers: dict[str, ModelServer]
) -> None:
    for arguments, words in WRONG:
        shell.fails(2, words, *arguments)
    assert [server.requests for server in servers.values()] == [[], []]


def test_a_killed_comparison_is_resumed(shell: Shell, servers: dict[str, ModelServer]) -> None:
    servers["b"].forgets("in one fenced block")
    gate = servers["b"].holds("in one fenced block", text=f"```\n{GERMAN}```")
    process = shell.start(*MODELS, "--take", "b", "--yes")
    gate.wait_started()
    servers["a"].wait_for_requests(2)  # else its analysis may not be written down yet
    kill(process, gate)
    assert shell.read("a.txt") == WORDS
    runs = shell.json("history")["runs"]
    assert [run["state"] for run in runs] == ["interrupted", "interrupted"]
    shell.ok("compare", "--resume", runs[0]["execution_id"], "--take", "b", "--yes")
    assert shell.read("a.txt") == GERMAN
    analyses = [
        sum("what must not change" in str(one) for one in server.requests) for server in servers.values()
    ]
    assert analyses == [1, 1]


def test_agents_are_compared_by_their_names(shell: Shell, tmp_path: Path) -> None:
    program = Path(harness.__file__).with_name("acp_agent.py")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    settings = ""
    for name in ("left", "right"):
        turn = [{"text": f"{name} did it"}, {"write": ["a.txt", f"{name}\n"]}]
        (scripts / f"{name}.json").write_text(json.dumps({"turns": [turn]}))
        command = json.dumps([sys.executable, "-S", str(program), str(scripts / f"{name}.json")])
        settings += f"[adapters.{name}]\nacp = {command}\n[agents.{name}]\nwritable = ['{scripts}']\n"
    shell.configure(settings)
    shell.write("a.txt", WORDS)
    result = shell.run("compare", "agent", "change it", "--agents", "left,right", "--take", "right", "--yes")
    assert result.returncode == 0, result.stderr
    assert "right did it" in result.stdout
    assert shell.read("a.txt") == "right\n"
