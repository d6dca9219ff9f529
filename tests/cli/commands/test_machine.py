"""`tideate machine check`, `graph`, `export` and `reveal` on real files."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.machines import SMALL
from tideate_core.machines.language import parse

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

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


def test_mistakes_are_broken_between_words_at_a_terminal_and_their_lines_stay_whole(shell: Shell) -> None:
    shell.write("five.workflow", FIVE.replace("9bad to b", "9bad to b" + " and so on" * 9))
    terminal = shell.open("machine", "check", "five.workflow", columns=60)
    terminal.wait_for("five.workflow:2:1: error: expected a state, found\n    '9bad'; a state is")
    terminal.wait_for("\n  9bad to b and so on")
    terminal.wait_for("…\n  ^^^^\n")
    assert terminal.wait_exit() == 2
    assert max(map(len, terminal.text.splitlines())) <= 60


def test_the_summary_counts_errors_and_warnings(shell: Shell) -> None:
    shell.write("a.workflow", "* to a\na to *\n9 to b\n1 to b\nlost to a\n")
    shell.write("b.workflow", "* to a\na to *\n")
    one = shell.run("machine", "check", "a.workflow")
    assert one.stdout.endswith("\n2 errors, 1 warning in 1 file\n"), one.stdout
    two = shell.run("machine", "check", "a.workflow", "b.workflow")
    assert two.stdout.endswith("\n2 errors, 1 warning in 2 files\n")


def test_a_file_without_mistakes(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "check", "a.workflow")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no mistakes\n", "")


def test_warnings_fail_only_a_strict_check(shell: Shell) -> None:
    shell.write("a.workflow", SMALL + "lost to first\n")
    assert shell.run("machine", "check", "a.workflow").returncode == 0
    strict = shell.run("machine", "check", "a.workflow", "--strict")
    assert strict.returncode == 2
    assert "warning: " in strict.stdout


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
    shell.write("notes.txt", "d to\n")
    done = shell.run("machine", "check", ".", "a.workflow")
    assert "a.workflow:1:5" in done.stdout
    assert ".tideate/workflows/b.workflow:1:5" in done.stdout
    assert done.stdout.endswith("2 errors in 2 files\n"), done.stdout


def test_a_directory_without_machines_is_an_error(shell: Shell) -> None:
    done = shell.run("machine", "check", ".")
    assert done.returncode == 2
    assert "no *.workflow file" in done.stdout


def test_stdin_is_checked(shell: Shell) -> None:
    done = shell.run("machine", "check", "-", stdin="* to a\na to *\nb to\n")
    assert done.returncode == 2
    assert done.stdout.startswith("stdin:3:5: error: ")


def test_a_machine_is_checked_by_its_name(shell: Shell) -> None:
    assert shell.run("machine", "check", "PLANNER", "--strict").stdout == "no mistakes\n"
    shell.write(".tideate/workflows/mine.workflow", "* to a\na to *\nb to\n")
    mine = shell.run("machine", "check", "mine")
    assert mine.stdout.startswith(".tideate/workflows/mine.workflow:3:5: error: ")
    other = shell.run("machine", "check", "ask")
    assert other.returncode == 2
    assert "no state machine" in other.stdout
    unknown = shell.run("machine", "check", "PLANER")
    assert "did you mean 'PLANNER'?" in unknown.stdout


def test_the_check_as_json(shell: Shell) -> None:
    shell.write("a.workflow", "* to a\na to *\n12 to a\n")
    done = shell.run("machine", "check", "a.workflow", "gone.workflow", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"], result["errors"], result["warnings"]) == (2, False, 2, 0)
    first, second = result["files"]
    assert second["error"].startswith("cannot be read")
    mistake = first["diagnostics"][0]
    assert mistake.pop("message")
    place = {"line": 3, "column": 1, "end_column": 3}
    assert mistake == {**place, "severity": "error", "code": "invalid-name"}


def test_a_check_of_nothing_is_wrong_usage(shell: Shell) -> None:
    done = shell.run("machine", "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert "FILE" in done.stderr


def test_mistakes_are_coloured_on_a_terminal(shell: Shell) -> None:
    shell.write("a.workflow", "* to\n")
    terminal = shell.open("machine", "check", "a.workflow")
    assert terminal.wait_exit() == 2
    assert "\x1b[1;31m error:" in terminal.raw
    assert re.search(r"\x1b\[1;31m\s+\^", terminal.raw)


def test_what_steers_a_terminal_is_never_sent_to_it(shell: Shell) -> None:
    name = "a\x1b[31m\n.workflow"
    shell.write(name, "* to \x1b[2Jb\n: \u202eesrever\nb to *\n")
    done = shell.run("machine", "check", name, "--strict")
    assert "\x1b" not in done.stdout
    terminal = shell.open("machine", "export", name)
    terminal.wait_exit()
    assert "\x1b[2J" not in terminal.raw
    assert "\u202e" not in terminal.raw


@pytest.mark.parametrize(
    ("form", "words"), [("text", "first"), ("mermaid", "stateDiagram"), ("dot", "digraph"), ("svg", "<svg")]
)
def test_a_machine_is_drawn(shell: Shell, form: str, words: str) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "graph", "a.workflow", "--format", form)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert "second" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.mmd", "stateDiagram"), ("a.gv", "digraph"), ("a.SVG", "<svg"), ("a.txt", "second")],
)
def test_the_format_follows_the_files_name(shell: Shell, name: str, words: str) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "graph", "a.workflow", "-o", name)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"written: {name}" in done.stderr
    assert words in (shell.project / name).read_text()


def test_a_name_that_tells_no_format_is_refused(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "graph", "a.workflow", "-o", "a.png")
    assert done.returncode == 2
    assert "--format" in done.stderr
    assert not (shell.project / "a.png").exists()


def test_a_drawing_fits_the_terminal_and_is_coloured(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    terminal = shell.open("machine", "graph", "a.workflow", "--current", "second", columns=44)
    assert terminal.wait_exit() == 0
    assert max(map(len, terminal.text.splitlines())) <= 44
    assert "\x1b[36m" in terminal.raw
    assert re.search(r"\x1b\[1;7[;\d]*msecond", terminal.raw)


def test_the_current_state_has_to_exist(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "graph", "a.workflow", "--current", "secnd")
    assert done.returncode == 2
    assert "did you mean 'second'?" in done.stderr


def test_an_invalid_file_is_told_whole(shell: Shell) -> None:
    shell.write("five.workflow", FIVE)
    for command in ("graph", "step", "export"):
        done = shell.run("machine", command, "five.workflow")
        assert (done.returncode, done.stdout) == (2, "")
        assert len(re.findall(r"five\.workflow:\d+:\d+: error", done.stderr)) >= 4
        assert "  9bad to b\n  ^^^^\n" in done.stderr


def test_an_export_is_the_same_machine(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "export", "a.workflow")
    assert done.returncode == 0, done.stderr
    before, after = parse(SMALL).definition, parse(done.stdout).definition
    assert {t[:4] for t in after.transitions} == {t[:4] for t in before.transitions}
    shell.run("machine", "export", "a.workflow", "-o", "b.workflow")
    assert (shell.project / "b.workflow").read_text() == done.stdout


def test_an_obfuscated_export_has_no_name_and_can_be_revealed(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    hidden = shell.run("machine", "export", "a.workflow", "--obfuscate")
    assert hidden.returncode == 0, hidden.stderr
    assert "first" not in hidden.stdout
    assert "second" not in hidden.stdout
    tokens = list(parse(hidden.stdout).definition.states)
    names = shell.run("machine", "reveal", "a.workflow", *tokens)
    assert (names.returncode, names.stdout) == (0, "first\nsecond\n"), names.stderr
    as_json = json.loads(shell.run("machine", "reveal", "a.workflow", tokens[1], "--json").stdout)
    assert as_json == {"ok": True, "names": {tokens[1]: "second"}}
    key = shell.state / "keys" / "workflow.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_stdin_and_a_drawing_are_obfuscated_too(shell: Shell) -> None:
    graph = ("machine", "graph", "-", "--obfuscate", "--current", "second")
    refused = shell.run(*graph, stdin=SMALL)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--name NAME" in refused.stderr
    drawn = shell.run(*graph, "--name", "small", stdin=SMALL)
    assert drawn.returncode == 0, drawn.stderr
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


def test_help_of_the_machines_is_told_without_an_engine() -> None:
    code = (
        "import sys; sys.argv = ['tideate', 'machine', '--help']\n"
        "from tideate_core.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'pydantic', 'asyncio', 'tideate_core.machines', 'tideate_core.engine'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, timeout=60, text=True
    )
    for word in ("check", "graph", "step", "run", "format", "export", "reveal"):
        assert word in done.stdout
