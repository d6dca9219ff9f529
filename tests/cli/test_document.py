"""A document is read, changed in an editor, and accepted as it is then."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.shell import PYTHON_PATH
from tests.harness.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.harness.shell import Shell

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


def test_it_is_shown_as_it_is_written_with_its_problems_and_keys(ask: Callable[..., Terminal]) -> None:
    terminal = ask(text="# Plan\n\nCount *lines* in src/__init__.py.\n", problems=["line 4: no step"])
    assert "Count *lines* in src/__init__.py." in terminal.text, "a name lost its underscores"
    assert "✗ line 4: no step" in terminal.text
    terminal.type("?\n")
    terminal.wait_for("e edit it in $VISUAL or $EDITOR")
    terminal.wait_for(KEYS)
    terminal.type("\x04")
    assert answer(terminal) == {"accepted": False, "value": None}


def test_what_was_edited_is_shown_again_and_is_what_is_accepted(
    shell: Shell, ask: Callable[..., Terminal]
) -> None:
    kept = 'echo "$1" > name; stat -c %a "$(dirname "$1")" > mode; sed -i s/lines/words/ "$1"'
    terminal = ask(script(shell, kept))
    terminal.type("e\n")
    terminal.answer("Count *words*.", (KEYS, "y"))
    assert answer(terminal) == EDITED
    name = shell.read("name").strip()
    assert name.endswith(".md")
    assert shell.read("mode") == "700\n", "others could read it"
    assert subprocess.run(["test", "-e", name], check=False).returncode == 1, "it was left behind"


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
    terminal.answer(
        "Count *words*.", (COMMENTED, "c"), ("What is to change? (`2: …` is about line 2)", "5: all of them")
    )
    comments = [{"line": 5, "text": "all of them"}]
    assert answer(terminal) == {"accepted": False, "value": {**EDITED["value"], "comments": comments}}


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
    terminal.answer(("Continue with 4 files? [y/N/e/c/numbers]", "y"))
    deleted = {"action": "delete", "path": "d.py"}
    assert answer(terminal)["value"]["files"] == [files[0], files[2], deleted, files[1]]
