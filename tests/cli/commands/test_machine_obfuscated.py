"""`tideate run --obfuscate`: no name of a state in anything that leaves the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tideate_core.machines.language import Obfuscator, parse
from tideate_core.workflows.obfuscation_key import workflow_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

NAMES = ("hidden_plan", "hidden_work", "hidden_proof")
TEXT = """\
* to hidden_plan:
  Think of the hidden_work to come.

: the hidden_plan is good
hidden_plan to hidden_work:
  Do what the hidden_plan says.

: there is no need of a hidden_proof
hidden_plan to hidden_proof

hidden_work to hidden_proof
hidden_proof to *
"""


@pytest.fixture
def tokens(shell: Shell) -> Mapping[str, str]:
    shell.write("secret.workflow", TEXT)
    shell.write("hidden_work.md", "about the hidden_proof\n")
    definition = parse(TEXT, "secret").require("secret")
    return Obfuscator(workflow_key(shell.state), definition).tokens


def names_in(shell: Shell, *outside: str) -> list[str]:
    log = shell.home / "state" / "tideate" / "shell.log"
    words = "".join([*outside, log.read_text() if log.exists() else ""]).casefold()
    return [name for name in (*NAMES, "hidden") if name in words]


def walks(answering: ModelServer, tokens: Mapping[str, str]) -> None:
    answering.answers("Its instruction", f"next comes {tokens['hidden_work']}")
    answering.answers("Which one is next", {"reason": "it is good", "next": tokens["hidden_work"]})


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_run_tells_nobody_a_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str], form: list[str]
) -> None:
    walks(answering, tokens)
    done = shell.run(
        *("run", "secret.workflow", "the hidden_work", "--file", "hidden_work.md:1-1"),
        *("--obfuscate", "--yes", "-i", "confirm=hidden_work", *form),
    )
    assert done.returncode == 0, done.stderr
    assert all(token in done.stderr for token in tokens.values())
    assert tokens["hidden_proof"] in str(answering.requests[0])
    assert f"{tokens['hidden_work']}.md" in str(answering.requests[0])
    assert names_in(shell, done.stdout, done.stderr, str(answering.requests)) == []
    if form:
        path = json.loads(done.stdout)["path"]
        assert [move["to"] for move in path] == [*tokens.values(), "*"]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_run_that_fails_tells_nobody_a_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str], form: list[str]
) -> None:
    answering.answers("Its instruction", "done")
    answering.answers("Which one is next", {"reason": "?", "next": "elsewhere"})
    done = shell.run("run", "secret.workflow", "the hidden_work", "--obfuscate", *form)
    assert done.returncode == 1, done.stderr
    assert tokens["hidden_plan"] in done.stderr
    assert names_in(shell, done.stdout, done.stderr, str(answering.requests)) == []


def test_a_declined_state_tells_nobody_its_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str]
) -> None:
    walks(answering, tokens)
    done = shell.run(
        *("run", "secret.workflow", "go", "--obfuscate", "-i", f"confirm={tokens['hidden_work']}", "--json")
    )
    assert done.returncode == 3, done.stderr
    assert tokens["hidden_plan"] in done.stderr
    assert names_in(shell, done.stdout, done.stderr) == []
