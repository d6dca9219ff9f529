"""`tideate machine`: check, graph, format, export and reveal; streams and files that must not be lost."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness.machines import SMALL
from tests.harness.shell import COMMAND
from tideate_core.app.workflow_files import Source, Unreadable, read_sources
from tideate_core.cli.commands import machine
from tideate_core.cli.commands.workflows import format_of
from tideate_core.cli.main import WITH_VALUE, app
from tideate_core.machines import language
from tideate_core.machines.language import format_text, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclopts import App

    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

FIVE = """\
* to a
9bad to b
a to
a b c
a to b
  indented under nothing
: for a transition
# that never comes
"""
PLACE = re.compile(r"^five\.workflow:(\d+):(\d+): (error|warning): .+ \[([a-z-]+)\]$", re.MULTILINE)


def test_five_mistakes_of_a_file_are_listed_with_their_places(shell: Shell) -> None:
    shell.write("five.workflow", FIVE)
    done = shell.run("machine", "check", "five.workflow")
    found = {(int(line), int(column)): code for line, column, _, code in PLACE.findall(done.stdout)}
    assert done.returncode == 2, done.stderr
    assert found.keys() >= {(2, 1), (3, 5), (4, 3), (6, 3), (7, 1)}, done.stdout
    assert len({found[place] for place in [(2, 1), (3, 5), (4, 3), (6, 3), (7, 1)]}) == 5
    assert "  9bad to b\n  ^^^^\n" in done.stdout


def test_mistakes_at_a_terminal_are_wrapped_coloured_and_escaped(shell: Shell) -> None:
    shell.write("five.workflow", FIVE.replace("9bad to b", "9bad to b" + " and so on" * 9))
    terminal = shell.open("machine", "check", "five.workflow", columns=60)
    terminal.answer(
        "five.workflow:2:1: error: expected a state, found\n    '9bad'; a state is",
        "\n  9bad to b and so on",
        "…\n  ^^^^\n",
    )
    assert terminal.wait_exit() == 2
    assert max(map(len, terminal.text.splitlines())) <= 60
    assert "\x1b[1;31m error:" in terminal.raw
    assert re.search(r"\x1b\[1;31m\s+\^", terminal.raw)
    name = "a\x1b[31m\n.workflow"
    shell.write(name, "* to \x1b[2Jb\n: \u202eesrever\nb to *\n")
    assert "\x1b" not in shell.run("machine", "check", name, "--strict").stdout
    terminal = shell.open("machine", "export", name)
    terminal.wait_exit()
    assert "\x1b[2J" not in terminal.raw
    assert "\u202e" not in terminal.raw


def test_the_summary_counts_errors_and_warnings_which_fail_only_a_strict_check(shell: Shell) -> None:
    shell.write("a.workflow", "* to a\na to *\n9 to b\n1 to b\n: of nothing\n")
    shell.write("b.workflow", SMALL)
    shell.write("c.workflow", SMALL + "lost to first\n")
    done = shell.run("machine", "check", "b.workflow")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no mistakes\n", "")
    two = shell.run("machine", "check", "a.workflow", "b.workflow")
    assert (two.returncode, two.stdout.endswith("\n2 errors, 1 warning in 2 files\n")) == (2, True)
    shell.ok("machine", "check", "c.workflow")
    strict = shell.run("machine", "check", "c.workflow", "--strict")
    assert (strict.returncode, "warning: " in strict.stdout) == (2, True)
    shell.fails(2, "FILE", "machine", "check")


def test_the_check_of_stdin_and_the_check_as_json(shell: Shell) -> None:
    done = shell.run("machine", "check", "-", "-", stdin="* to a\na to *\nb to\n")
    assert (done.returncode, done.stdout.count("stdin:3:5: error: ")) == (2, 1)
    shell.write("a.workflow", "* to a\na to *\n12 to a\n" + "a to\n" * 149)
    shown = shell.run("machine", "check", "a.workflow").stdout
    assert shown.count(": error: ") == 100
    assert "a.workflow: and 50 more\n150 errors in 1 file\n" in shown
    result = shell.json("machine", "check", "a.workflow", "gone.workflow")
    assert (result["ok"], result["errors"], result["warnings"]) == (False, 151, 0)
    first, second = result["files"]
    assert second["error"].startswith("cannot be read")
    mistake = {**first["diagnostics"][0]}
    assert mistake.pop("message")
    place = {"line": 3, "column": 1, "end_column": 3}
    assert mistake == {**place, "severity": "error", "code": "invalid-name"}
    for command in (["run", "a.workflow"], ["machine", "step", "a.workflow", "a", "b"]):
        told = shell.json(*command)
        assert told["error_code"] == "InvalidWorkflowFile"
        assert told["diagnostics"] == first["diagnostics"]


def test_what_cannot_be_read_is_told_and_the_rest_is_checked(shell: Shell) -> None:
    shell.write("text.workflow", "a to\n")
    (shell.project / "latin.workflow").write_bytes(b"* to a\n# caf\xe9\n")
    (shell.project / "binary.workflow").write_bytes(b"* to\0a\n")
    (shell.project / "huge.workflow").write_bytes(b"#" * (1 << 20) + b"\n")
    os.mkfifo(shell.project / "pipe.workflow")
    names = ["gone.workflow", "latin.workflow", "binary.workflow", "huge.workflow", "pipe.workflow"]
    done = shell.run("machine", "check", *names, "text.workflow")
    assert done.returncode == 2, done.stderr
    for words in (
        "gone.workflow: error: cannot be read: No such file",
        "latin.workflow: error: not UTF-8 at byte 12, in line 2",
        "binary.workflow: error: binary",
        "huge.workflow: error: larger than 1 MiB",
        "pipe.workflow: error: not a regular file",
        "text.workflow:1:5: error: ",
        "6 errors in 6 files",
    ):
        assert words in done.stdout


def test_a_directory_is_searched_and_each_file_is_checked_once(shell: Shell) -> None:
    shell.write("a.workflow", "a to\n")
    shell.write(".tideate/workflows/b.workflow", "b to\n")
    shell.write(".git/c.workflow", "c to\n")
    shell.write("flows/PLANNER", "d to\n")
    shell.write("notes.txt", "e to\n")
    done = shell.run("machine", "check", ".", "a.workflow")
    assert "a.workflow:1:5" in done.stdout
    assert ".tideate/workflows/b.workflow:1:5" in done.stdout
    assert "flows/PLANNER:1:5" in done.stdout
    assert done.stdout.endswith("3 errors in 3 files\n"), done.stdout


def test_a_machine_is_checked_by_its_name(shell: Shell) -> None:
    assert shell.run("machine", "check", "PLANNER", "--strict").stdout == "no mistakes\n"
    shell.write(".tideate/workflows/mine.workflow", "* to a\na to *\nb to\n")
    mine = shell.run("machine", "check", "mine")
    assert mine.stdout.startswith(".tideate/workflows/mine.workflow:3:5: error: ")
    other = shell.run("machine", "check", "ask")
    assert other.returncode == 2
    assert "not a state machine" in other.stdout
    unknown = shell.run("machine", "check", "PLANER")
    assert "did you mean 'PLANNER'?" in unknown.stdout


def test_a_machine_is_drawn_in_the_format_of_the_option_or_of_the_files_name(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    graph = ("machine", "graph", "a.workflow")
    drawn = shell.ok(*graph, "--format", "mermaid").stdout
    assert ("stateDiagram" in drawn, "second" in drawn, "\x1b" in drawn) == (True, True, False)
    done = shell.ok(*graph, "-o", "a.SVG")
    assert (done.stdout, "written: a.SVG" in done.stderr) == ("", True)
    assert "<svg" in shell.read("a.SVG")
    shell.fails(2, "--format", *graph, "-o", "a.png")
    assert not (shell.project / "a.png").exists()
    shell.fails(2, "did you mean 'second'?", *graph, "--current", "secnd")


@pytest.mark.parametrize(
    ("out", "form"), [(None, "text"), ("-", "text"), ("a.mmd", "mermaid"), ("a.txt", "text")]
)
def test_the_format_follows_the_suffix(out: str | None, form: str) -> None:
    assert format_of(out) == form


def test_a_drawing_fits_the_terminal_and_is_coloured(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    terminal = shell.open("machine", "graph", "a.workflow", "--current", "second", columns=44)
    assert terminal.wait_exit() == 0
    assert max(map(len, terminal.text.splitlines())) <= 44
    assert "\x1b[36m" in terminal.raw
    assert re.search(r"\x1b\[1;7[;\d]*msecond", terminal.raw)


def test_an_invalid_file_is_told_whole(shell: Shell) -> None:
    shell.write("five.workflow", FIVE)
    for command in ("graph", "step", "export"):
        done = shell.run("machine", command, "five.workflow")
        assert (done.returncode, done.stdout) == (2, "")
        assert len(re.findall(r"five\.workflow:\d+:\d+: error", done.stderr)) >= 4
        assert "  9bad to b\n  ^^^^\n" in done.stderr


def test_an_export_is_the_same_machine(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.ok("machine", "export", "a.workflow")
    before, after = parse(SMALL).definition, parse(done.stdout).definition
    assert {t[:4] for t in after.transitions} == {t[:4] for t in before.transitions}
    shell.run("machine", "export", "a.workflow", "-o", "b.workflow")
    assert shell.read("b.workflow") == done.stdout


def test_an_obfuscated_export_has_no_name_and_can_be_revealed(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    hidden = shell.ok("machine", "export", "a.workflow", "--obfuscate")
    assert "first" not in hidden.stdout
    assert "second" not in hidden.stdout
    tokens = list(parse(hidden.stdout).definition.states)
    names = shell.run("machine", "reveal", "a.workflow", *tokens)
    assert (names.returncode, names.stdout) == (0, "first\nsecond\n"), names.stderr
    as_json = shell.json("machine", "reveal", "a.workflow", tokens[1])
    assert as_json == {"ok": True, "names": {tokens[1]: "second"}}
    key = shell.state / "keys" / "workflow.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_stdin_and_a_drawing_are_obfuscated_too(shell: Shell) -> None:
    graph = ("machine", "graph", "-", "--obfuscate", "--current", "second")
    refused = shell.run(*graph, stdin=SMALL)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--name NAME" in refused.stderr
    drawn = shell.ok(*graph, "--name", "small", stdin=SMALL)
    assert "obf_" in drawn.stdout
    assert "second" not in drawn.stdout


def test_nothing_is_revealed_without_the_key(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "reveal", "a.workflow", "obf_000000000000")
    assert (done.returncode, done.stdout) == (2, "")
    assert "this project has no key" in done.stderr
    assert not (shell.project / ".tideate").exists()
    shell.run("machine", "export", "a.workflow", "--obfuscate")
    unknown = shell.run("machine", "reveal", "a.workflow", "obf_000000000000", "--json")
    assert unknown.returncode == 2
    assert json.loads(unknown.stdout)["error_code"] == "UnknownToken"


def test_machines_and_their_states_are_completed(shell: Shell) -> None:
    shell.write("flows/a.workflow", SMALL)
    names = shell.run("__complete", "machine", "graph", "").stdout
    assert "PLANNER" in names
    assert "flows/" in names
    assert "\nask\n" not in names
    assert "flows/a.workflow" in shell.run("__complete", "run", "flows/").stdout
    states = shell.run("__complete", "machine", "graph", "flows/a.workflow", "--current", "").stdout
    assert {"first", "second"} <= set(states.split())
    steps = shell.run("__complete", "machine", "step", "flows/a.workflow", "").stdout
    assert {"first", "second"} <= set(steps.split())


UGLY = "* to a:\n\t\tDo it.\n:   when ready\na   to   *\n"
USUAL = format_text(UGLY)


def test_only_what_changes_is_written_and_said(shell: Shell) -> None:
    ugly, usual = shell.write("ugly.workflow", UGLY), shell.write("usual.workflow", USUAL)
    before = usual.stat()
    done = shell.run("machine", "format", "ugly.workflow", "usual.workflow")
    assert (done.returncode, done.stderr) == (0, "formatted: ugly.workflow\n")
    assert ugly.read_text() == USUAL != UGLY
    assert (usual.stat().st_ino, usual.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    again = shell.run("machine", "format", "ugly.workflow")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_check_lists_and_writes_nothing(shell: Shell) -> None:
    file = shell.write("ugly.workflow", UGLY)
    shell.write("usual.workflow", USUAL)
    done = shell.run("machine", "format", ".", "--check")
    assert (done.returncode, done.stdout) == (1, "would be formatted: ugly.workflow\n"), done.stderr
    assert file.read_text() == UGLY
    shell.ok("machine", "format", "usual.workflow", "--check")


def test_the_text_is_printed_on_demand_and_for_stdin(shell: Shell) -> None:
    file = shell.write("ugly.workflow", UGLY)
    assert shell.run("machine", "format", "ugly.workflow", "--stdout").stdout == USUAL
    assert file.read_text() == UGLY
    assert shell.run("machine", "format", "-", stdin=UGLY).stdout == USUAL
    shell.fails(2, "--stdout", "machine", "format", "-", "--check", "--stdout", stdin=UGLY)


def test_a_file_with_errors_is_left_and_the_others_are_formatted(shell: Shell) -> None:
    wrong = shell.write("a.workflow", "*   to a\na to\n")
    ugly = shell.write("b.workflow", UGLY)
    done = shell.fails(
        2, "a.workflow:2:5: error: ", "machine", "format", "a.workflow", "b.workflow", "gone.workflow"
    )
    assert "gone.workflow: error: cannot be read" in done.stderr
    assert wrong.read_text() == "*   to a\na to\n"
    assert ugly.read_text() == USUAL


def test_line_ends_and_the_byte_order_mark_stay(shell: Shell) -> None:
    file = shell.write("a.workflow", "\ufeff" + UGLY.replace("\n", "\r\n"))
    shell.ok("machine", "format", "a.workflow")
    assert file.read_bytes() == ("\ufeff" + USUAL.replace("\n", "\r\n")).encode()
    shell.ok("machine", "format", "a.workflow", "--check")
    printed = shell.run("machine", "format", "-", stdin="\ufeff" + USUAL)
    assert printed.stdout == "\ufeff" + USUAL


def test_the_mode_stays_and_a_link_leads_to_the_same_file(shell: Shell) -> None:
    file = shell.write("deep/real.workflow", UGLY)
    file.chmod(0o640)
    link = shell.project / "link.workflow"
    link.symlink_to("deep/real.workflow")
    shell.ok("machine", "format", "link.workflow")
    assert link.is_symlink()
    assert file.read_text() == USUAL
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["real.workflow"]


def test_what_cannot_be_written_is_as_it_was(shell: Shell) -> None:
    file = shell.write("deep/a.workflow", UGLY)
    shell.env["TMPDIR"] = str(shell.home)
    long = "x" * 240
    other = shell.write(f"{long}.workflow", UGLY)
    shell.ok("machine", "format", "deep/a.workflow", f"{long}.workflow")
    assert (file.read_text(), other.read_text()) == (USUAL, USUAL)
    shell.fails(2, "cannot be written", "machine", "export", "deep/a.workflow", "-o", "gone/b.workflow")


ROUGH = "* to a\na   to   *\n"


def through_sh(shell: Shell, rest: str) -> subprocess.CompletedProcess[str]:
    """Run the command with redirections by a shell."""
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
    assert set(options_with_value(app)) == WITH_VALUE | {"--file"}, "a `-` after --file is stdin, too"


def test_tokens_of_stdin_are_revealed_with_the_file_of_the_same_name(shell: Shell) -> None:
    shell.write("small.workflow", SMALL)
    hidden = shell.run("machine", "export", "-", "--obfuscate", "--name", "small", stdin=SMALL)
    tokens = list(parse(hidden.stdout).definition.states)
    names = shell.run("machine", "reveal", "small.workflow", *tokens)
    assert names.stdout == "first\nsecond\n", names.stderr
    shell.write("other.workflow", SMALL)
    shell.fails(
        2, "depend on the workflow's name, here 'other'", "machine", "reveal", "other.workflow", *tokens
    )


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


def test_names_of_files_are_shown_without_what_steers_a_terminal(shell: Shell) -> None:
    name = "a\x1b[31m\n.workflow"
    shell.write(name, ROUGH)
    for arguments in (("--check",), ()):
        done = shell.run("machine", "format", name, *arguments)
        assert "formatted: a\\x1b[31m\\n.workflow\n" in done.stdout + done.stderr
    done = shell.run("machine", "export", name.replace("a", "./b"), "-o", name)
    assert "\x1b" not in done.stderr
    shell.write("c.workflow", SMALL)
    assert "written: b\\x1b\\n\n" in shell.run("machine", "export", "c.workflow", "-o", "b\x1b\n").stderr


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


def test_a_walk_without_an_entry_or_with_an_empty_state_is_refused(shell: Shell) -> None:
    shell.write("a.workflow", "a to b\nb to *\n")
    shell.fails(2, "no entry", "machine", "step", "a.workflow")
    shell.ok("machine", "step", "a.workflow", "a", "b")
    shell.write("b.workflow", SMALL)
    assert shell.run("machine", "step", "b.workflow", "").returncode == 2


def test_formatting_keeps_hard_links(shell: Shell) -> None:
    file = shell.write("a.workflow", ROUGH)
    (shell.project / "b.workflow").hardlink_to(file)
    shell.ok("machine", "format", "a.workflow")
    assert shell.read("b.workflow") == file.read_text() == format_text(ROUGH)
    assert file.stat().st_nlink == 2


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_was_saved_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], linked: bool
) -> None:
    file = tmp_path / "a.workflow"
    file.write_text(ROUGH)
    if linked:
        (tmp_path / "b.workflow").hardlink_to(file)

    def saved_in_between(text: str) -> str:
        file.write_text("* to saved\nsaved to *\n")
        return format_text(text)

    monkeypatch.setattr(language, "format_text", saved_in_between)
    assert machine.format_files(str(file)) == 2
    assert file.read_text() == "* to saved\nsaved to *\n"
    assert "was changed since it was read" in capsys.readouterr().err.replace("\n", " ")
    assert len(list(tmp_path.iterdir())) == 1 + linked
