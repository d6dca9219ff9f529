"""`tideate machine step`: by hand at a terminal, by lines of stdin, and one move for tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness.machines import SMALL

if TYPE_CHECKING:
    from tests.harness.shell import Shell
    from tests.harness.terminal import Terminal

pytestmark = pytest.mark.slow

PROMPT = "where to? (? help) "


@pytest.fixture
def walking(shell: Shell) -> Terminal:
    """A walk at a terminal that has just begun."""
    shell.write("a.workflow", SMALL)
    terminal = shell.open("machine", "step", "a.workflow")
    terminal.answer("1 first", "always", PROMPT)
    return terminal


def test_a_walk_by_number_and_name_to_the_end(walking: Terminal) -> None:
    walking.type("1\n")
    walking.wait_for("Do the first thing.")  # rendered: no asterisks
    walking.answer(
        "1 second  there is more to do",
        "2 the end (*)  all is done",
        (PROMPT, "second"),
        "Do the second thing.",
        (PROMPT, "*"),
        "* → first → second → *",
    )
    assert walking.wait_exit() == 0


def test_a_wrong_move_is_told_and_asked_again(walking: Terminal) -> None:
    walking.type("second\n")
    walking.answer(
        "no transition leads from '*' to 'second'",
        (PROMPT, "frst"),
        "did you mean 'first'?",
        (PROMPT, "7"),
        "unknown state '7'",
        (PROMPT, "first"),
        "Do the first thing.",
    )


def test_back_graph_history_help_and_quit(walking: Terminal) -> None:
    walking.type("b\n")
    walking.wait_for("the walk began here")
    for name, shown in (("first", "Do the first thing."), ("second", "Do the second thing.")):
        walking.answer((PROMPT, name), shown)
    walking.answer(
        (PROMPT, "b"),
        "Do the first thing.",
        (PROMPT, "h"),
        "* → first\n",
        (PROMPT, "g"),
        "─",
        (PROMPT, "?"),
        "b back",
        (PROMPT, "q"),
        "* → first\n",
    )
    assert walking.wait_exit() == 0


@pytest.mark.parametrize(("keys", "status"), [("\x03", 130), ("\x04", 0)], ids=["ctrl-c", "ctrl-d"])
def test_a_walk_that_is_broken_off_shows_the_path(walking: Terminal, keys: str, status: int) -> None:
    walking.type("1\n")
    walking.wait_for("2 the end")
    walking.wait_for(PROMPT)
    walking.type(keys)
    walking.wait_for("* → first\n")
    assert walking.wait_exit() == status
    assert "Traceback" not in walking.text


def test_choices_stand_apart_and_hang_below_their_names(shell: Shell) -> None:
    when = "there is a good deal more to do than anybody could do in a day"
    shell.write("a.workflow", SMALL.replace("there is more to do", when))
    terminal = shell.open("machine", "step", "a.workflow", "first", columns=40)
    terminal.answer(
        "Do the first thing.",
        "\n\n  1 second  there is a good deal\n    more to do than anybody",
        "could do in\n    a day\n",
        (PROMPT, "third"),
        "unknown state 'third'",
        (PROMPT, "first"),
        "'first' to\n  'first' (allowed: 'second', the end\n  (*))",
    )


def test_a_state_named_like_a_command_can_be_chosen(shell: Shell) -> None:
    shell.write("a.workflow", "* to q:\n  Queue.\nq to b:\n  Begin.\nb to *\n")
    done = shell.ok("machine", "step", "a.workflow", stdin="q\nb\n")
    assert done.stdout.endswith("* → q → b\n")


def test_lines_of_stdin_are_choices(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "step", "a.workflow", stdin="1\n\nsecond\nb\n2\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Do the *first* thing." in done.stdout
    assert "Say good bye." in done.stdout
    assert done.stdout.endswith("* → first → *\n")
    assert "\x1b" not in done.stdout


def test_an_invalid_line_ends_the_walk(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "step", "a.workflow", stdin="first\nnowhere\nsecond\n")
    assert done.returncode == 1
    assert "unknown state 'nowhere'" in done.stdout
    assert done.stdout.endswith("* → first\n")


def test_a_walk_begins_where_it_is_told(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "step", "a.workflow", "second", stdin="*\n")
    assert "Do the second thing." in done.stdout
    assert done.stdout.endswith("second → *\n")
    shell.fails(2, "did you mean 'second'?", "machine", "step", "a.workflow", "secnd")


def test_a_state_without_a_way_out_ends_the_walk(shell: Shell) -> None:
    shell.write("a.workflow", "* to a\n")
    done = shell.ok("machine", "step", "a.workflow", stdin="a\n")
    assert "no transition leads out of a" in done.stdout


def test_one_move_as_json(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.run("machine", "step", "a.workflow", "*", "first", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {
            "ok": True,
            "move": "success",
            "state": "*",
            "next_state": "first",
            "guidance": "Do the *first* thing.",
            "ended": False,
            "valid_actions": [
                {"action": "second", "when": "there is more to do"},
                {"action": "*", "when": "all is done"},
            ],
        },
    )
    refused = shell.run("machine", "step", "a.workflow", "*", "second", "--json")
    result = json.loads(refused.stdout)
    assert (refused.returncode, result["ok"], result["move"]) == (1, False, "failure")
    assert result["valid_actions"] == [{"action": "first", "when": "always"}]


def test_one_move_in_words(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.ok("machine", "step", "a.workflow", "second", "first")
    assert done.stdout.splitlines()[:2] == ["first", "Do the *first* thing."]
    assert shell.run("machine", "step", "a.workflow", "second", "nowhere").returncode == 1
    assert "NEXT" in shell.json("machine", "step", "a.workflow", "first")["error"]


def test_an_obfuscated_walk_shows_tokens_and_takes_names(shell: Shell) -> None:
    shell.write("a.workflow", SMALL)
    done = shell.ok("machine", "step", "a.workflow", "--obfuscate", stdin="first\n2\n")
    assert "obf_" in done.stdout
    assert "first" not in done.stdout
    moved = shell.run("machine", "step", "a.workflow", "first", "second", "--obfuscate", "--json")
    assert json.loads(moved.stdout)["next_state"].startswith("obf_")
    refused = shell.run("machine", "step", "a.workflow", "*", "second", "--obfuscate")
    assert refused.returncode == 1
    assert "second" not in refused.stdout
