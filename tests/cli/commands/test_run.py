"""`tideate run` without a terminal: results, exit codes, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import SHORT, scripted
from tideate_core.app import build_catalog, open_project
from tideate_core.cli.commands.run import _load_ahead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

LOOP = "def total(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n\n\nx = total(3)\n"
PLAN = {
    "files": [
        {"action": "create", "path": "new.py", "why": "the new home"},
        {"action": "modify", "path": "a.py", "why": "uses it"},
    ]
}


def script_two_files(server: ModelServer) -> None:
    server.answers("Which files have to be", PLAN)
    server.answers("Write the new file new.py", "```python\nvalue = 1\n```")
    server.answers("Change a.py", "```python\nfrom new import value\n```")


def test_the_result_goes_to_stdout_and_progress_to_stderr(shell: Shell, answering: ModelServer) -> None:
    answering.answers("why is the sky blue", "# Because\n\nof *scattering*")
    for words, stdin in ((["why", "is", "the", "sky", "blue"], ""), (["-"], "why is the sky blue\n")):
        done = shell.run("run", "ask", *words, stdin=stdin)
        assert (done.returncode, done.stdout) == (0, "# Because\n\nof *scattering*\n"), done.stderr
        assert "query" in done.stderr
        assert "scattering" not in done.stderr


@pytest.mark.slow
def test_a_request_that_is_made_again_is_told_on_stderr(shell: Shell, answering: ModelServer) -> None:
    answering.fails("why", 429, headers={"Retry-After": "0"}, times=1)
    answering.fails("why", 500, times=1)
    answering.answers("why", "because")
    done = shell.run("run", "ask", "why")
    assert done.stdout == "because\n", done.stderr
    assert "asked to wait 0 s (2 of 3): adapter" in done.stderr
    assert "asking again in " in done.stderr
    assert "(3 of 3): adapter" in done.stderr


def test_json_is_one_object_on_stdout(shell: Shell, answering: ModelServer) -> None:
    answering.answers("hello", "world \N{SNOWMAN}")
    done = shell.run("run", "ask", "hello", "--json")
    result = json.loads(done.stdout)
    assert (result["ok"], result["response"], result["workflow"]) == (True, "world \N{SNOWMAN}", "ask")
    assert result["usage"]["output_tokens"] == 2


@pytest.mark.slow
def test_yes_applies_exactly_the_selected_lines_also_from_below_the_root(
    shell: Shell, answering: ModelServer
) -> None:
    file = shell.write("src/a.py", LOOP.replace("\n", "\r\n"))
    scripted(answering)
    done = shell.ok("run", "refactor", "shorten", "--file", "a.py:1-5", "--yes", cwd=file.parent)
    assert file.read_bytes() == (SHORT + "\n\nx = total(3)\n").replace("\n", "\r\n").encode()
    assert "changed: src/a.py" in done.stderr
    assert "+    return sum(range(n))" in done.stderr


@pytest.mark.slow
def test_an_edit_asks_only_for_its_review(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", LOOP)
    answering.answers("Rewrite lines 1 to 5 of a.py", f"```python\n{SHORT}\n```")
    terminal = shell.open("run", "edit", "--file", "a.py:1-5", "shorten")
    terminal.answer(("[y/N/p/c/d]", "y"))
    assert terminal.wait_exit() == 0
    assert file.read_text() == f"{SHORT}\n\nx = total(3)\n"
    assert len(answering.requests) == 1


def test_without_a_terminal_a_confirmation_is_declined(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", LOOP)
    scripted(answering)
    done = shell.run("run", "refactor", "shorten", "--file", "a.py", "--json")
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert (result["cancelled"], result["reason"]) == (True, "declined")
    assert "--yes" in done.stderr
    assert file.read_text() == LOOP


def test_no_declines_and_shows_what_it_declined(shell: Shell, answering: ModelServer) -> None:
    script_two_files(answering)
    shell.write("a.py", LOOP)
    done = shell.run("run", "multi_file", "split", "--no")
    assert (done.returncode, done.stdout) == (3, "")
    assert "new.py" in done.stderr
    assert len(answering.requests) == 1


def test_several_files_are_written_together(shell: Shell, answering: ModelServer) -> None:
    script_two_files(answering)
    file = shell.write("a.py", LOOP)
    done = shell.ok("run", "multi_file", "split", "--yes")
    assert done.stdout == "+ new.py\n~ a.py\n"
    assert file.read_text() == "from new import value\n"
    assert shell.read("new.py") == "value = 1\n"


@pytest.mark.slow
def test_new_syntax_errors_are_never_accepted_by_yes(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", LOOP)
    scripted(answering, "def total(n:\n")
    done = shell.run("run", "refactor", "break it", "--file", "a.py", "--yes")
    assert (done.returncode, file.read_text()) == (1, LOOP)
    assert "syntax" in done.stderr


@pytest.mark.slow
def test_outside_a_project_the_working_directory_is_the_place(shell: Shell, answering: ModelServer) -> None:
    folder = shell.home / "loose"
    folder.mkdir()
    (folder / "a.py").write_text(LOOP)
    scripted(answering)
    done = shell.ok("run", "refactor", "shorten", "--file", "a.py:1-5", "--yes", "--json", cwd=folder)
    assert [path.name for path in folder.iterdir()] == ["a.py"]
    undone = shell.run("rollback", "--yes", json.loads(done.stdout)["execution_id"], cwd=folder)
    assert (undone.returncode, (folder / "a.py").read_text()) == (0, LOOP), undone.stderr


USAGE = {
    "an unknown workflow": (["run", "refacto", "x"], "did you mean 'refactor'?"),
    "an unknown option": (["run", "ask", "x", "--jsn"], "--json"),
    "no workflow": (["run"], "NAME"),
    "no prompt": (["run", "ask"], "needs a prompt"),
    "no text": (["run", "summarize"], "--file"),
    "an empty text": (["run", "summarize", "--file", "empty.txt"], "empty"),
    "a missing file": (["run", "summarize", "--file", "gone.txt"], "gone.txt"),
    "a read-only file": (["run", "refactor", "x", "--file", "closed.py"], "closed.py is read-only"),
    "a binary file": (["run", "summarize", "--file", "binary"], "binary"),
    "a file outside": (["run", "summarize", "--file", "/etc/hostname"], "--root"),
    "a range outside": (["run", "summarize", "--file", "a.py:9-99"], "do not exist"),
    "a backward range": (["run", "summarize", "--file", "a.py:3-2"], "before it begins"),
    "an input without a key": (["run", "ask", "x", "-i", "novalue"], "KEY=VALUE"),
    "an input given twice": (["run", "ask", "x", "-i", "a=1", "-i", "a=2"], "twice"),
    "an unknown input": (["run", "task", "x", "-i", "cheklist=a.md"], "did you mean 'checklist'?"),
    "no input at all": (["run", "task", "x", "-i", "foo=1"], "task takes only: confirm, checklist"),
    "an unknown adapter": (["run", "ask", "x", "--adapter", "loca"], "did you mean 'local'?"),
    "a root that is none": (["run", "ask", "x", "--root", "gone"], "no such directory"),
    "both answers": (["run", "ask", "x", "--yes", "--no"], "--no"),
}


@pytest.mark.parametrize(("arguments", "words"), USAGE.values(), ids=USAGE.keys())
def test_wrong_usage_is_status_2_and_asks_no_model(
    shell: Shell, answering: ModelServer, arguments: list[str], words: str
) -> None:
    shell.write("a.py", LOOP)
    shell.write("empty.txt", "")
    shell.write("binary", "a\0b")
    shell.write("closed.py", LOOP).chmod(0o444)
    done = shell.run(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert answering.requests == []


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("run", "ask", "x"), 2),
        (("resume", "abc"), 1),
        (("history",), 1),
        (("mcp", "serve", "transitions", "--workflow", "PLANNER"), 2),
    ],
)
def test_a_state_directory_that_cannot_be_made_is_named(
    shell: Shell, command: tuple[str, ...], status: int
) -> None:
    (shell.home / "state").write_text("a file")
    done = shell.run(*command)
    assert (done.returncode, done.stdout) == (status, "")
    assert "TIDEATE_STATE or [state] directory can name another directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_untrusted_projects_adapter_is_left_out_and_said(shell: Shell, answering: ModelServer) -> None:
    shell.write(".tideate/config.toml", 'adapter = "openai:gpt-5"\n')
    answering.answers("hello", "from the person's own")
    done = shell.run("run", "ask", "hello")
    assert done.stdout == "from the person's own\n"
    assert "not trusted" in done.stderr


@pytest.mark.slow
def test_a_failing_or_unreachable_provider_is_status_1(shell: Shell, answering: ModelServer) -> None:
    answering.fails("hello", 500)
    done = shell.run("run", "ask", "hello", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"], result["error_code"]) == (1, False, "AdapterUnavailable")
    assert "error: " in done.stderr
    answering.close()
    done = shell.run("run", "ask", "hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


FLOW = "inputs: {who: {type: string}}\nsteps:\n  - {id: one, task: 'Greet {{ inputs.who }}.'}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (FLOW, ()),
        (json.dumps({"steps": [{"id": "one", "task": "Greet Ada."}]}), ()),
        ("{steps: [{id: one, task: Greet Ada.}]}", ()),
        ("* to greeting:\n  Greet Ada.\n\ngreeting to *\n", ()),
        ("* to greeting:\n  Greet Ada.\n\ngreeting to *\n", ("--format", "workflow")),
    ],
)
def test_a_workflow_comes_from_stdin(
    shell: Shell, answering: ModelServer, text: str, options: tuple[str, ...]
) -> None:
    answering.answers("Greet Ada.", "hello Ada")
    inputs = ("-i", "who=Ada") if "who" in text else ()
    done = shell.run("run", "-", *options, *inputs, "--yes", stdin=text)
    assert (done.returncode, done.stdout) == (0, "hello Ada\n"), done.stderr
    assert "stdin" in shell.run("history").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "-", "-"), "stdin is the workflow"),
        (("run", "-", "--obfuscate"), "a workflow from stdin cannot be obfuscated"),
        (("run", "ask", "hi", "--format", "yaml"), "--format is for a workflow from stdin"),
    ],
)
def test_what_does_not_go_with_stdin_is_refused(shell: Shell, arguments: tuple[str, ...], words: str) -> None:
    shell.fails(2, words, *arguments, stdin=FLOW)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "failed_in"),
    [
        ("flow.yaml", "steps: [\n", "parsing"),
        ("flow.yaml", FLOW.replace("task", "tusk"), "validating_workflow"),
        ("flow.yaml", "steps:\n  - {id: a, task: b, dependencies: [a]}\n", "building_dependency_graph"),
        ("walk.workflow", "a ->\n", "parsing"),
    ],
)
def test_a_run_of_a_broken_file_is_in_the_history(shell: Shell, name: str, text: str, failed_in: str) -> None:
    shell.write(name, text)
    done = shell.run("run", f"./{name}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name}:" in done.stderr
    [run] = shell.json("history")["runs"]
    assert (run["workflow"], run["state"], run["total_steps"]) == (name.partition(".")[0], "failed", 0)
    shown = shell.json("show", run["execution_id"])
    assert (shown["failed_in"], shown["steps"], shown["metrics"]["total_steps"]) == (failed_in, [], 0)
    assert failed_in.replace("_", " ") in shell.run("show", run["execution_id"]).stdout


@pytest.mark.slow
def test_one_step_is_run_after_those_that_it_depends_on(shell: Shell, answering: ModelServer) -> None:
    shell.write(
        "flow.yaml",
        "steps:\n  - {id: one, task: Name a fruit}\n"
        "  - {id: two, task: 'Describe {{ steps.one.result }}', dependencies: [one]}\n"
        "  - {id: three, task: Never asked, dependencies: [two]}\n",
    )
    answering.answers("Name a fruit", "a pear")
    answering.answers("Describe a pear", "green")
    done = shell.run("run", "./flow.yaml", "--step", "two")
    assert (done.returncode, done.stdout) == (0, "green\n"), done.stderr
    assert len(answering.requests) == 2
    shell.fails(2, "no step 'tow'; did you mean 'two'", "run", "./flow.yaml", "--step", "tow")


TOOLS = "steps:\n  - {id: a, tool: {server: git, name: git_status}}\n"
WORDS = "steps:\n  - {id: a, task: Say it.}\n"


@pytest.mark.parametrize(
    ("text", "adapter", "loaded"),
    [
        (WORDS, None, ["mine"]),
        (WORDS, "openai:gpt-5", ["openai:gpt-5"]),
        (TOOLS, None, []),
        ("steps: [", None, []),
    ],
)
def test_what_asks_the_model_is_loaded_ahead_of_a_run_that_asks_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, adapter: str | None, loaded: list[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/tideate").mkdir(parents=True)
    (tmp_path / "config/tideate/config.toml").write_text(
        '[adapters.mine]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n[workflows.w]\nadapter = "mine"\n'
    )
    folder = tmp_path / "project/.tideate/workflows"
    folder.mkdir(parents=True)
    (folder / "w.yaml").write_text(text)
    asked: list[str] = []
    monkeypatch.setattr("tideate_core.adapters.load_ahead", lambda _config, name: asked.append(name))
    project = open_project(str(tmp_path / "project"))
    _load_ahead(project, build_catalog(project.root), "w", adapter)
    assert asked == loaded
