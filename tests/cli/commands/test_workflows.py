"""`tideate graph` of both kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

STEPS = "steps:\n  - {id: plan, task: Plan}\n  - {id: write, handler: ask.query, dependencies: [plan]}\n"
DRAWN = """\
essay: 2 steps in 2 batches

1  ● plan   assistant
   │
2  ● write  handler ask.query  ← plan
"""


@pytest.mark.parametrize("name", ["essay", ".tideate/workflows/essay.yaml"])
def test_steps_are_drawn_by_name_and_by_file_without_trust(shell: Shell, name: str) -> None:
    shell.write(".tideate/workflows/essay.yaml", STEPS)
    done = shell.run("graph", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, DRAWN, "")


def test_machines_are_drawn_as_the_machines_own_command_does(shell: Shell) -> None:
    assert shell.run("graph", "PLANNER").stdout == shell.run("machine", "graph", "PLANNER").stdout
    done = shell.run("graph", "-", "--format", "mermaid", stdin="* to a\na to *\n")
    assert done.stdout.startswith("stateDiagram-v2\n")


def test_other_formats_go_to_stdout(shell: Shell) -> None:
    assert shell.run("graph", "multi_file", "--format", "mermaid").stdout.startswith("flowchart TD\n")


def test_the_suffix_of_out_says_the_format(shell: Shell) -> None:
    done = shell.run("graph", "multi_file", "-o", "drawn.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "written: drawn.svg\n")
    ElementTree.fromstring(shell.read("drawn.svg"))


def test_the_file_itself_is_not_overwritten(shell: Shell) -> None:
    path = shell.write("essay.yaml", STEPS)
    done = shell.run("graph", "essay.yaml", "--format", "text", "-o", "essay.yaml")
    assert done.returncode == 2
    assert path.read_text() == STEPS


@pytest.mark.parametrize(
    ("name", "words"), [("asc", "did you mean 'ask'?"), ("wrong.yaml", "wrong.yaml:1:1: ")]
)
def test_what_cannot_be_drawn_is_wrong_usage(shell: Shell, name: str, words: str) -> None:
    shell.write("wrong.yaml", "{}\n")
    done = shell.run("graph", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_terminal_shows_the_text_in_colours(shell: Shell) -> None:
    shell.write("essay.yaml", STEPS)
    terminal = shell.open("graph", "essay.yaml")
    terminal.wait_for("← plan")
    assert terminal.wait_exit() == 0
    assert [line.rstrip() for line in terminal.text.splitlines() if line.strip()] == [
        line for line in DRAWN.splitlines() if line
    ]


def test_an_untrusted_file_that_runs_code_is_refused_until_it_is_trusted(shell: Shell) -> None:
    shell.write(".tideate/workflows/essay.yaml", STEPS)
    refused = shell.run("run", "essay")
    assert refused.returncode == 2
    assert "its step 'write' would run the code of the handler 'ask.query'" in refused.stderr.replace(
        "\n", " "
    )
    trusted = shell.ok("trust", "--yes")
    assert trusted.stderr.endswith("workflows/essay.yaml\n")
    assert "step 'write': run the code of the handler 'ask.query'" in trusted.stderr
    again = shell.run("run", "essay", "--adapter", "nobody")
    assert "not trusted" not in again.stderr


@pytest.mark.parametrize("command", ["run", "graph", "check"])
def test_names_and_files_of_definitions_are_completed(shell: Shell, command: str) -> None:
    shell.write(".tideate/workflows/essay.yaml", "{}")  # with mistakes, too
    for name in ("ess.yml", "ess.json", "ess.workflow", "ess.txt"):
        shell.write(name, "")
    done = shell.run("__complete", command, "ess")
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} >= {
        *("essay", "ess.yml", "ess.json", "ess.workflow"),
    }, done
    assert "ess.txt" not in done.stdout
