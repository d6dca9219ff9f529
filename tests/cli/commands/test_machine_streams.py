"""Where `tideate machine` reads and writes: standard streams, `-`, and files that must not be lost."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tests.support.machines import SMALL
from tideate_core.app.workflow_files import Source, Unreadable, read_sources
from tideate_core.cli.commands import machine
from tideate_core.cli.main import WITH_VALUE, app
from tideate_core.machines import language
from tideate_core.machines.language import format_text, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclopts import App

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

UGLY = "* to a\na   to   *\n"


def through_sh(shell: Shell, rest: str) -> subprocess.CompletedProcess[str]:
    """Run the command with what a shell does to its streams."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {rest}', "sh", *COMMAND],
        env=shell.env,
        cwd=shell.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_hyphen_as_output_is_stdout_and_never_the_file_behind_stdin(shell: Shell) -> None:
    file = shell.write("a.workflow", SMALL)
    done = through_sh(shell, "machine graph - -o - < a.workflow")
    assert (done.returncode, "second" in done.stdout) == (0, True), done.stderr
    assert file.read_text() == SMALL
    for out in ("/dev/stdin", "/proc/self/fd/0", "link"):
        if out == "link":
            (shell.project / "link").symlink_to("/dev/stdin")
        done = through_sh(shell, f"machine export - -o {out} < a.workflow")
        assert (done.returncode, file.read_text()) == (2, SMALL)
        assert "not a regular file" in done.stderr


def test_a_machine_is_not_written_over_the_file_it_comes_from(shell: Shell) -> None:
    file = shell.write("a.workflow", SMALL)
    (shell.project / "b.workflow").hardlink_to(file)
    for out in ("a.workflow", "b.workflow"):
        done = shell.run("machine", "export", "a.workflow", "--obfuscate", "-o", out)
        assert (done.returncode, file.read_text()) == (2, SMALL)
        assert "FILE itself" in done.stderr
    option = shell.run("machine", "export", "a.workflow", "-o", "--obfuscate")
    assert option.returncode == 2
    assert not (shell.project / "--obfuscate").exists()


def options_with_value(commands: App) -> Iterator[str]:
    for name in commands:
        if name.startswith("-"):
            continue
        command = commands[name]
        if command.default_command is not None:
            for argument in command.assemble_argument_collection():
                if argument.hint is not bool and "bool" not in str(argument.hint):
                    yield from (word for word in argument.names if word[0] == "-" and "--empty-" not in word)
        else:
            yield from options_with_value(command)


def test_every_option_with_a_value_is_known_to_take_the_next_word() -> None:
    assert set(options_with_value(app)) == WITH_VALUE


def test_tokens_of_stdin_are_revealed_with_the_file_of_the_same_name(shell: Shell) -> None:
    shell.write("small.workflow", SMALL)
    hidden = shell.run("machine", "export", "-", "--obfuscate", "--name", "small", stdin=SMALL)
    tokens = list(parse(hidden.stdout).definition.states)
    names = shell.run("machine", "reveal", "small.workflow", *tokens)
    assert names.stdout == "first\nsecond\n", names.stderr
    shell.write("other.workflow", SMALL)
    other = shell.run("machine", "reveal", "other.workflow", *tokens)
    assert other.returncode == 2
    assert "depend on the workflow's name, here 'other'" in other.stderr


@pytest.mark.parametrize(
    "rest",
    [
        "machine step a.workflow <&-",
        "machine graph a.workflow > /dev/full",
        "machine check a.workflow > /dev/full",
        "machine graph a.workflow >&-",
    ],
)
def test_streams_that_cannot_be_used_are_told_in_one_line(shell: Shell, rest: str) -> None:
    shell.write("a.workflow", SMALL)
    done = through_sh(shell, rest)
    assert done.returncode == 1
    assert done.stderr.startswith("error: stdin or stdout cannot be used: "), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_stdin_is_a_file_that_cannot_be_read(shell: Shell) -> None:
    done = through_sh(shell, "machine check - <&-")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("stdin: error: cannot be read: ")


def test_stdin_is_checked_once(shell: Shell) -> None:
    twice = shell.run("machine", "check", "-", "-", stdin=SMALL)
    assert (twice.returncode, twice.stdout) == (0, "no mistakes\n")


def test_a_machine_from_stdin_is_run(shell: Shell, answering: ModelServer) -> None:
    answering.answers("Greet Ada", "hello Ada")
    run = shell.run("machine", "run", "-", stdin="* to a:\n  Greet Ada.\n\na to *\n")
    assert (run.returncode, run.stdout) == (0, "hello Ada\n"), run.stderr


def test_names_of_files_are_shown_without_what_steers_a_terminal(shell: Shell) -> None:
    name = "a\x1b[31m\n.workflow"
    shell.write(name, UGLY)
    for arguments in (("--check",), ()):
        done = shell.run("machine", "format", name, *arguments)
        assert "formatted: a\\x1b[31m\\n.workflow\n" in done.stdout + done.stderr
    done = shell.run("machine", "export", name.replace("a", "./b"), "-o", name)
    assert "\x1b" not in done.stderr
    shell.write("c.workflow", SMALL)
    assert "written: b\\x1b\\n\n" in shell.run("machine", "export", "c.workflow", "-o", "b\x1b\n").stderr


def test_a_directory_is_searched_for_plain_names(shell: Shell) -> None:
    shell.write("flows/PLANNER", "* to\n")
    done = shell.run("machine", "check", "flows")
    assert "flows/PLANNER:1:5: error: " in done.stdout
    assert done.stdout.endswith(" in 1 file\n")


def test_a_directory_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.workflow").write_text(SMALL)
    listed = os.scandir

    def scandir(place: str) -> Iterator[os.DirEntry[str]]:
        if place.endswith("closed"):
            raise PermissionError(13, "Permission denied", place)
        return listed(place)

    monkeypatch.setattr(os, "scandir", scandir)
    read, unread = read_sources((str(tmp_path),), None)
    assert isinstance(read, Source)
    assert unread == Unreadable(str(tmp_path / "closed"), "cannot be read: Permission denied")


def test_a_name_means_the_same_workflow_everywhere(shell: Shell) -> None:
    shell.write("PLANNER", SMALL)
    assert "initial_loaded" in shell.run("machine", "graph", "PLANNER").stdout
    assert "second" in shell.run("machine", "graph", "./PLANNER").stdout
    assert shell.run("machine", "check", "PLANNER").stdout == "no mistakes\n"


def test_a_link_to_itself_is_told_by_every_command(shell: Shell) -> None:
    folder = shell.project / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "loop.workflow").symlink_to("loop.workflow")
    said = ("Too many levels of symbolic links", "it is a link")
    for arguments in (["list"], ["doctor"], ["run", "loop"], ["machine", "check", "loop", str(folder)]):
        done = shell.run(*arguments)
        assert any(words in done.stdout + done.stderr for words in said), arguments
        assert "Traceback" not in done.stderr


def test_of_many_mistakes_a_hundred_are_told_and_all_are_in_the_json(shell: Shell) -> None:
    shell.write("a.workflow", "* to a\na to *\n" + "a to\n" * 150)
    done = shell.run("machine", "check", "a.workflow")
    assert done.stdout.count(": error: ") == 100
    assert "a.workflow: and 50 more\n150 errors in 1 file\n" in done.stdout
    (report,) = json.loads(shell.run("machine", "check", "a.workflow", "--json").stdout)["files"]
    assert len(report["diagnostics"]) == 150


@pytest.mark.parametrize(
    "arguments",
    [["run", "a.workflow"], ["machine", "step", "a.workflow", "a", "b"]],
)
def test_an_invalid_file_as_json_has_its_diagnostics(shell: Shell, arguments: list[str]) -> None:
    shell.write("a.workflow", "* to a\na to *\nb to\n")
    told = json.loads(shell.run(*arguments, "--json").stdout)
    (report,) = json.loads(shell.run("machine", "check", "a.workflow", "--json").stdout)["files"]
    assert told["error_code"] == "InvalidWorkflowFile"
    assert [one for one in told["diagnostics"] if one["severity"] == "error"] == [
        one for one in report["diagnostics"] if one["severity"] == "error"
    ]


def test_a_walk_without_an_entry_or_with_an_empty_state_is_refused(shell: Shell) -> None:
    shell.write("a.workflow", "a to b\nb to *\n")
    entry = shell.run("machine", "step", "a.workflow")
    assert entry.returncode == 2
    assert "no entry" in entry.stderr
    assert shell.run("machine", "step", "a.workflow", "a", "b").returncode == 0
    shell.write("b.workflow", SMALL)
    assert shell.run("machine", "step", "b.workflow", "").returncode == 2


def test_formatting_keeps_hard_links(shell: Shell) -> None:
    file = shell.write("a.workflow", UGLY)
    (shell.project / "b.workflow").hardlink_to(file)
    assert shell.run("machine", "format", "a.workflow").returncode == 0
    assert (shell.project / "b.workflow").read_text() == file.read_text() == format_text(UGLY)
    assert file.stat().st_nlink == 2


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_was_saved_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], linked: bool
) -> None:
    file = tmp_path / "a.workflow"
    file.write_text(UGLY)
    if linked:
        (tmp_path / "b.workflow").hardlink_to(file)

    def slow(text: str) -> str:
        file.write_text("* to saved\nsaved to *\n")
        return format_text(text)

    monkeypatch.setattr(language, "format_text", slow)
    assert machine.format_files(str(file)) == 2
    assert file.read_text() == "* to saved\nsaved to *\n"
    assert "was changed since it was read" in capsys.readouterr().err.replace("\n", " ")
    assert len(list(tmp_path.iterdir())) == 1 + linked
