"""A document is read, changed in an editor, and accepted as it is then."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import PYTHON_PATH
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Shell

pytestmark = pytest.mark.slow

TEXT = "# Plan\n\n## Objective\n\nCount *lines*.\n"
KEYS = "Carry out this plan? [y/N/e/d]"
COMMENTED = "Carry out this plan? [y/N/e/c/d]"
EDITED: dict[str, Any] = {"accepted": True, "value": {"text": TEXT.replace("lines", "words")}}


@pytest.fixture
def ask(shell: Shell) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(editor: str = "false", *, keys: str = KEYS, draft: str = "", **payload: Any) -> Terminal:
        command = [sys.executable, "-m", "tests.cli.asking", "ask"]
        if "files" not in payload:
            payload = {"text": TEXT, "filetype": "markdown", "title": "Plan", "problems": [], **payload}
        env = {**shell.env, "EDITOR": editor, "PYTHONPATH": PYTHON_PATH}
        opened.append(
            Terminal([*command, json.dumps(payload), draft], env=env, cwd=shell.project, rows=30, columns=80)
        )
        opened[-1].wait_for(keys)
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def answer(terminal: Terminal) -> dict[str, Any]:
    assert terminal.wait_exit() == 0, terminal.text
    (found,) = re.findall(r'\{"accepted".*\}', terminal.text)
    shape: dict[str, Any] = json.loads(found)
    return shape


def script(shell: Shell, text: str) -> str:
    path: Path = shell.write("editor.sh", f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_it_is_shown_as_it_is_written(ask: Callable[..., Terminal]) -> None:
    terminal = ask(text="# Plan\n\nCount *lines* in src/__init__.py.\n")
    assert "Count *lines* in src/__init__.py." in terminal.text, "a name lost its underscores"
    terminal.type("y\n")
    assert answer(terminal) == {"accepted": True, "value": None}


@pytest.mark.parametrize("key", ["n\n", "\n", "\x04"])
def test_anything_but_yes_declines(ask: Callable[..., Terminal], key: str) -> None:
    terminal = ask()
    terminal.type(key)
    assert answer(terminal) == {"accepted": False, "value": None}


def test_the_keys_are_explained(ask: Callable[..., Terminal]) -> None:
    terminal = ask()
    terminal.type("?\n")
    terminal.wait_for("e edit it in $VISUAL or $EDITOR")
    terminal.wait_for(KEYS)
    terminal.type("n\n")
    assert answer(terminal)["accepted"] is False


def test_what_was_edited_is_shown_again_and_is_what_is_accepted(
    shell: Shell, ask: Callable[..., Terminal]
) -> None:
    kept = 'echo "$1" > name; stat -c %a "$(dirname "$1")" > mode; sed -i s/lines/words/ "$1"'
    terminal = ask(script(shell, kept))
    terminal.type("e\n")
    terminal.wait_for("Count *words*.")
    terminal.wait_for(KEYS)
    terminal.type("y\n")
    assert answer(terminal) == EDITED
    name = (shell.project / "name").read_text().strip()
    assert name.endswith(".md")
    assert (shell.project / "mode").read_text() == "700\n", "others could read it"
    assert subprocess.run(["test", "-e", name], check=False).returncode == 1, "it was left behind"


def test_what_an_editor_left_that_failed_is_no_answer_and_is_kept(
    shell: Shell, ask: Callable[..., Terminal]
) -> None:
    failing = 'if [ -e second ]; then exit 0; fi; touch second; sed -i s/lines/words/ "$1"; exit 3'
    terminal = ask(script(shell, failing))
    terminal.type("e\n")
    terminal.wait_for("ended with status 3")
    terminal.wait_for("what you typed is kept")
    terminal.wait_for(KEYS)
    terminal.type("e\n")
    terminal.wait_for("Count *words*.")
    terminal.wait_for(KEYS)
    terminal.type("y\n")
    assert answer(terminal) == EDITED


def test_after_a_failed_editor_yes_takes_the_text_as_it_was(
    shell: Shell, ask: Callable[..., Terminal]
) -> None:
    terminal = ask(script(shell, 'sed -i s/lines/words/ "$1"; exit 3'))
    terminal.type("e\n")
    terminal.wait_for("y leaves it out")
    terminal.wait_for(KEYS)
    terminal.type("y\n")
    assert answer(terminal) == {"accepted": True, "value": None}


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("no-such-editor", "no-such-editor cannot be started"),
        ("rm", "left no file"),
        ("'", "is not a command"),
        (r"""sh -c 'printf "\377" > "$0"'""", "wrote no UTF-8"),
    ],
)
def test_an_editor_that_cannot_be_used_is_told(ask: Callable[..., Terminal], editor: str, words: str) -> None:
    terminal = ask(editor)
    terminal.type("e\n")
    terminal.wait_for(words)
    terminal.wait_for(KEYS)
    terminal.type("y\n")
    assert answer(terminal) == {"accepted": True, "value": None}


def test_what_was_refused_is_shown_with_its_problems_and_stays_the_persons(
    ask: Callable[..., Terminal],
) -> None:
    terminal = ask(problems=["line 4: no step"])
    assert "✗ line 4: no step" in terminal.text
    terminal.type("y\n")
    assert answer(terminal) == {"accepted": True, "value": {"text": TEXT}}


@pytest.mark.parametrize(("policy", "accepted"), [("yes", True), ("no", False)])
def test_a_policy_answers_and_the_log_has_the_text_as_it_is_written(
    shell: Shell, policy: str, accepted: bool
) -> None:
    payload = json.dumps({"text": TEXT, "filetype": "markdown", "title": "Plan", "problems": []})
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.asking", policy, payload],
        env=shell.env,
        cwd=shell.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == {"accepted": accepted, "value": None}
    assert "Count *lines*." in done.stderr
    assert f"Carry out this plan? [{'yes' if accepted else 'no'}" in done.stderr


def test_a_comment_is_sent_with_the_line_that_it_is_on(ask: Callable[..., Terminal], shell: Shell) -> None:
    terminal = ask(
        script(shell, 'sed -i s/lines/words/ "$1"'), keys=COMMENTED, revisable=True, revision=2, changed=[5]
    )
    assert "~5 Count *lines*." in terminal.text
    assert " 3 ## Objective" in terminal.text
    terminal.type("e\n")
    terminal.wait_for("Count *words*.")
    terminal.wait_for(COMMENTED)
    terminal.type("c\n")
    terminal.wait_for("What is to change? (`2: …` is about line 2)")
    terminal.type("5: all of them\n")
    comments = [{"line": 5, "text": "all of them"}]
    assert answer(terminal) == {"accepted": False, "value": {**EDITED["value"], "comments": comments}}


def test_comments_that_nobody_answered_are_sent_again(ask: Callable[..., Terminal]) -> None:
    said = [{"line": 5, "text": "shorter"}]
    terminal = ask(keys="[y/N/e/c/r/d]", revisable=True, comments=said)
    assert "you said of line 5: shorter" in terminal.text
    terminal.type("r\n")
    assert answer(terminal) == {"accepted": False, "value": {"comments": said}}


def kept(shell: Shell, **said: Any) -> str:
    """Write a draft as Neovim does; returns its file."""
    steps: list[Any] = [{"v": 1, "by": 7}, {"said": {"text": "older"}}, {"said": said}]
    return str(shell.write("draft", "".join(f"{json.dumps(step)}\n" for step in steps)))


def test_a_text_and_comments_that_were_left_in_neovim_are_there(
    ask: Callable[..., Terminal], shell: Shell
) -> None:
    said = [{"line": 5, "text": "shorter"}]
    draft = kept(shell, text=TEXT.replace("lines", "words"), comments=said)
    terminal = ask(keys="[y/N/e/c/r/d]", revisable=True, draft=draft, changed=[5])
    assert "you said of line 5: shorter" in terminal.text
    assert "Count *words*." in terminal.text
    terminal.type("r\n")
    assert answer(terminal) == {"accepted": False, "value": {**EDITED["value"], "comments": said}}


def test_a_plan_that_was_left_in_neovim_is_there(ask: Callable[..., Terminal], shell: Shell) -> None:
    files = [{"action": "modify", "path": f"{name}.py"} for name in "abc"]
    draft = kept(shell, files=[*files, {"action": "delete", "path": "d.py"}], out=[2])
    editor = "sed -i 's/^# modify/modify/'"
    terminal = ask(
        editor, keys="Continue with 3 files? [y/N/e/c/numbers]", revisable=True, files=files, draft=draft
    )
    assert "taken out: b.py; e includes them again" in terminal.text
    terminal.type("e\n")
    terminal.wait_for("Continue with 4 files? [y/N/e/c/numbers]")
    terminal.type("y\n")
    deleted = {"action": "delete", "path": "d.py"}
    assert answer(terminal)["value"]["files"] == [files[0], files[2], deleted, files[1]]
