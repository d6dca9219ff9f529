"""`tideate context`: lists and contents of mentions."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.shell import COMMAND

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

MAPPINGS = {
    "@Guide": "doc/guide.md",
    "@Errors": "doc/guide.md#Errors",
    "@Gone": "doc/giude.md",
    "@Voice": {"text": "short sentences"},
    "@Env": ".env",
}


@pytest.fixture
def project(shell: Shell) -> Shell:
    shell.write(".tideate/context.json", json.dumps({"version": "1.0.0", "mappings": MAPPINGS}))
    shell.write("doc/guide.md", "# Guide\r\nRead it.\r\n## Errors\r\nTold.\r\n")
    shell.write(".env", "PASSWORD=hunter2\n")
    return shell


def listed(shell: Shell, *arguments: str) -> dict[str, Any]:
    done = shell.ok("context", "list", "--json", *arguments)
    return {one["mention"]: one for one in json.loads(done.stdout)["mentions"]}


def test_all_mentions_are_listed_with_what_they_stand_for(project: Shell) -> None:
    lines = project.run("context", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == list(MAPPINGS)
    rows = {line.split()[0]: line for line in lines}
    assert "doc/guide.md#Errors" in rows["@Errors"]
    assert "doc/giude.md does not exist; did you mean 'doc/guide.md'?" in rows["@Gone"]
    assert "asked about before it is used" in rows["@Env"]
    assert "not here" in rows["@buffer"]
    assert "not here" in rows["@diff"]
    found = listed(project)
    assert (found["@Errors"]["type"], found["@Errors"]["exists"], found["@Gone"]["exists"]) == (
        "section",
        True,
        False,
    )
    subprocess.run(["git", "init", "-q"], cwd=project.project, check=True)
    assert listed(project, "--file", "doc/guide.md")["@buffer"]["exists"]
    assert listed(project)["@diff"]["exists"]


def test_a_malformed_file_is_told_with_its_place(shell: Shell) -> None:
    shell.write(".tideate/context.json", '{\n  "mappings": {"@A": 1}\n}')
    for command in (("list",), ("show", "@A")):
        done = shell.fails(
            2, ".tideate/context.json:2:16: '@A' is neither a path nor a text", "context", *command
        )
    done = shell.run("context", "list", "--json")
    assert json.loads(done.stdout)["error_code"] == "ConfigError"


def test_mentions_are_shown_as_a_model_gets_them(project: Shell) -> None:
    done = project.ok("context", "show", "Errors", "@Voice")
    assert "### @Errors (doc/guide.md, section 'Errors', lines 3-4)\n\n```markdown\n" in done.stdout
    assert "\n\n---\n\n### @Voice" in done.stdout


def test_raw_contents_are_the_bytes_of_the_file(project: Shell) -> None:
    project.write("dos.txt", "one\r\ntwo\n\tthree")
    done = subprocess.run(
        [*COMMAND, "context", "show", "@file:dos.txt", "--format", "raw"],
        env=project.env,
        cwd=project.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.stdout == b"one\r\ntwo\n\tthree"


def test_objects_tell_all_of_an_item(project: Shell) -> None:
    done = project.run("context", "show", "@file:doc/guide.md:1-1", "--format", "json")
    (item,) = json.loads(done.stdout)["items"]
    assert (item["path"], item["type"], item["content"], item["about"]) == (
        "doc/guide.md",
        "section",
        "# Guide\r\n",
        "lines 1-1",
    )
    assert item["tokens"] == 3


def test_a_budget_cuts_and_that_is_said(project: Shell) -> None:
    done = project.run("context", "show", "@Guide", "--budget", "3")
    assert "only the first 1 of 4 lines fit the budget" in done.stdout
    assert "only the first 1 of 4 lines fit the budget" in done.stderr
    assert "Read it" not in done.stdout


def test_an_unknown_name_tells_the_nearest(project: Shell) -> None:
    done = project.run("context", "show", "Giude")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no mention is called @Giude; did you mean '@Guide'?" in done.stderr
    shown = project.run("context", "show", "Giude", "--format", "json")
    assert json.loads(shown.stdout)["error_code"] == "ContextResolutionError"


def test_a_secret_is_shown_only_when_that_is_wanted(project: Shell) -> None:
    for form in ("prompt", "json", "raw"):
        done = project.run("context", "show", "Env", "--format", form)
        assert done.returncode == 3
        assert "hunter2" not in done.stdout
        assert "--secrets shows it" in done.stderr
    done = project.run("context", "show", "Env", "--secrets", "--format", "raw")
    assert (done.returncode, done.stdout) == (0, "PASSWORD=hunter2\n")


def test_the_buffer_is_the_file_that_is_named(project: Shell) -> None:
    done = project.run("context", "show", "@selection", "--file", "doc/guide.md:2", "--format", "raw")
    assert done.stdout == "Read it.\n"
    done = project.run("context", "show", "@buffer")
    assert "there is no buffer" in done.stderr


def test_a_run_in_the_shell_brings_material_and_asks_nobody_about_secrets(
    project: Shell, answering: ModelServer
) -> None:
    answering.answers("", "fine")
    done = project.ok("run", "ask", "--yes", "what do @Guide and @Env say?")
    sent = answering.requests[0]["messages"][-1]["content"]
    assert "Read it." in sent
    assert "hunter2" not in sent
    assert "@Env was left out" in done.stderr
