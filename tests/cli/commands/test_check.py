"""`tideate check` on real files of both kinds."""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.harness.documents import blocks
from tests.harness.editor import REPOSITORY

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

WRONG = """\
steps:
  - {id: plan, task: "Plan {{ prompt }}"}
  - id: facts
    task: "Find {{ steps.plam.result }}"
    dependencies: [plan, plna]
    retries: many
"""
RIGHT = "steps:\n  - {id: plan, task: Plan}\n"
DOUBTFUL = "steps:\n  - {id: a, task: A}\n  - {id: b, task: B, dependencies: [a, a]}\n"
MACHINE = "* to a\na to\n"
OWN = ".tideate/workflows"


def test_all_mistakes_are_listed_with_their_lines_and_carets(shell: Shell) -> None:
    shell.write("wrong.yaml", WRONG)
    done = shell.run("check", "wrong.yaml")
    assert done.returncode == 2, done.stderr
    assert "wrong.yaml:5:26: error: step 'facts' depends on 'plna'" in done.stdout
    assert (
        "did you mean 'plan'?\n      dependencies: [plan, plna]\n                           ^^^^\n"
        in done.stdout
    )
    assert "wrong.yaml:4:26: error: the template uses step 'plam'" in done.stdout
    assert "wrong.yaml:6:14: error: " in done.stdout
    assert done.stdout.endswith("\n3 errors in 1 file\n")


def test_json_has_each_mistake_with_its_span_and_hint(shell: Shell) -> None:
    shell.write("wrong.json", '{"steps": [{"id": "a", "tsk": "A"}]}')
    shell.write("m.workflow", MACHINE)
    done = shell.run("check", "wrong.json", "m.workflow", "gone.yaml", "--json")
    shape = json.loads(done.stdout)
    assert done.returncode == 2
    wrong, machine, gone = shape["files"]
    assert (shape["ok"], shape["errors"], wrong["file"], wrong["ok"]) == (
        False,
        shape["errors"],
        "wrong.json",
        False,
    )
    (one,) = [one for one in wrong["diagnostics"] if "tsk" in one["message"]]
    assert (one["line"], one["column"], one["end_line"], one["end_column"]) == (1, 24, 1, 29)
    assert (one["severity"], one["hint"]) == ("error", "did you mean 'task'?")
    assert (machine["diagnostics"][0]["line"], machine["diagnostics"][0]["code"]) == (2, "expected-state")
    assert gone["error"].startswith("cannot be read: No such file")


def test_without_a_file_all_of_the_project_and_the_person_is_checked(shell: Shell) -> None:
    shell.write(f"{OWN}/wrong.yaml", WRONG)
    shell.write(f"{OWN}/m.workflow", MACHINE)
    shell.write(f"{OWN}/ask.yaml", RIGHT)
    shell.write("elsewhere.yaml", WRONG)
    mine = shell.home / "config" / "tideate" / "workflows"
    mine.mkdir(parents=True)
    (mine / "mine.json").write_text("{}")
    done = shell.run("check")
    assert done.returncode == 2, done.stderr
    assert f"{OWN}/wrong.yaml:5:26: error: " in done.stdout
    assert f"{OWN}/m.workflow:2:5: error: " in done.stdout
    assert "ask.yaml was not used: 'ask' is a workflow already (builtin); rename the file" in done.stdout
    assert f"{mine / 'mine.json'}:1:1: error: " in done.stdout
    assert "elsewhere" not in done.stdout
    assert done.stdout.endswith("in 4 files\n")


def test_a_name_stands_for_its_file_and_a_file_is_checked_once(shell: Shell) -> None:
    shell.write(f"{OWN}/essay.yaml", RIGHT)
    done = shell.run("check", "essay", f"{OWN}/essay.yaml", f"./{OWN}/essay.yaml", "--json")
    assert [file["file"] for file in json.loads(done.stdout)["files"]] == [f"{OWN}/essay.yaml"]
    assert done.returncode == 0


def test_a_directory_is_searched_for_machines_and_its_workflows(shell: Shell) -> None:
    shell.write(f"{OWN}/essay.yaml", RIGHT)
    shell.write("deep/m.workflow", MACHINE)
    shell.write("docker-compose.yaml", "services: {}\n")
    done = shell.run("check", ".", "--json")
    assert {file["file"] for file in json.loads(done.stdout)["files"]} == {
        f"{OWN}/essay.yaml",
        "deep/m.workflow",
    }


def test_unusable_names_are_told_and_the_rest_is_checked(shell: Shell) -> None:
    shell.fails(0, "no workflow files", "check")
    shell.write("doubtful.yaml", DOUBTFUL)
    doubtful = shell.ok("check", "doubtful.yaml").stdout
    assert "doubtful.yaml:3:40: warning: " in doubtful
    assert doubtful.endswith("1 warning in 1 file\n")
    (shell.project / "latin.yaml").write_bytes(b"# caf\xe9\n")
    shell.write("wrong.yaml", WRONG)
    shell.write("mac.yaml", "# one\rsteps:\r  - {id: a, tsk: A}\r")  # lines are counted as editors do
    done = shell.run("check", "latin.yaml", "ask", "nothing", "-", "wrong.yaml", "mac.yaml")
    assert done.returncode == 2
    for words in (
        "latin.yaml: error: not UTF-8 at byte 5",
        "ask: error: the workflow 'ask' is in no file",
        "nothing: error: unknown workflow 'nothing'",
        "a definition is not read from stdin",
        "wrong.yaml:5:26: error: ",
        "mac.yaml:3:13: error: ",
        "    - {id: a, tsk: A}\n              ^^^\n",
    ):
        assert words in done.stdout


def test_a_files_words_do_not_steer_the_terminal(shell: Shell) -> None:
    shell.write("evil.yaml", "steps:\n  - {id: a, task: A, '\u202eevil': 1}\n")
    terminal = shell.open("check", "evil.yaml")
    terminal.wait_for("1 error in 1 file")
    assert terminal.wait_exit() == 2
    assert "\u202e" not in terminal.text


def test_the_documented_definitions_have_no_mistakes(shell: Shell) -> None:
    texts = [block.text for block in blocks("yaml")]
    for path in sorted((REPOSITORY / "doc").glob("*.txt")):
        help_text = path.read_text(encoding="utf-8")
        texts += map(dedent, re.findall(r">yaml\n\n(.*?)^<$", help_text, re.MULTILINE | re.DOTALL))
    names = [f"documented{number}.yaml" for number in range(len(texts))]
    for name, block in zip(names, texts, strict=True):
        shell.write(name, block)
    assert len(names) >= 5
    done = shell.run("check", *names)
    assert (done.returncode, done.stdout) == (0, "no mistakes\n")
