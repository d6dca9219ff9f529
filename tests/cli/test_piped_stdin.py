"""Text that is piped into `tideate run` reaches the model as a block of the prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND, Shell, answering, shell

if TYPE_CHECKING:
    from tests.support.model_server import ModelServer

__all__ = ["answering", "shell"]

DIFF = "diff --git a/a.py b/a.py\n@@ -1 +1 @@\n-a\n+@app.route\n```\n"


def asked(answering: ModelServer) -> str:
    return str(answering.requests[-1]["messages"][-1]["content"])


def test_piped_text_is_a_block_below_the_prompt(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    done = shell.run("run", "ask", "review this", stdin=DIFF)
    assert done.returncode == 0, done.stderr
    assert "stdin: 5 lines are added to the prompt" in done.stderr
    prompt = asked(answering)
    assert f"review this\n\nstdin:\n\n````\n{DIFF}````" in prompt
    assert "@app" not in prompt.replace(DIFF, "")


def test_more_than_the_limit_is_cut_and_that_is_told(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    done = shell.run("run", "ask", "review this", stdin="\u00e9" * 70_000)
    assert done.returncode == 0, done.stderr
    assert "the rest is left out (limits.mention_tokens allows 64,000 characters)" in done.stderr
    assert asked(answering).count("\u00e9") == 64_000


def test_a_binary_is_refused_before_a_model_is_asked(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("run", "ask", "review this", stdin="a\0b")
    assert done.returncode == 2
    assert "stdin is not text" in done.stderr
    assert answering.requests == []


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_piped_changes_nothing(shell: Shell, answering: ModelServer, text: str) -> None:
    answering.answers("review this", "- fine")
    done = shell.run("run", "ask", "review this", stdin=text)
    assert done.returncode == 0, done.stderr
    assert "stdin" not in done.stderr + asked(answering)


@pytest.mark.slow
def test_a_pipe_that_stays_open_is_not_waited_for_without_end(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, *COMMAND[1:], "run", "ask", "review this"],
            cwd=shell.project,
            env=shell.env,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "nothing came from stdin within 5 s" in done.stderr
    assert "stdin" not in asked(answering)


@pytest.mark.attack
def test_secrets_are_hidden_before_the_text_is_cut(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    keys = ["AKIA" + f"Q7ZP3KD9WM2XV5{at}" for at in (10, 20)]
    text = f"+key = '{keys[0]}'\n" + "word \n" * 10_661 + keys[1] + "\n" * 90
    done = shell.run("run", "ask", "review this", stdin=text)
    assert done.returncode == 0, done.stderr
    assert "stdin: values that seem to be secrets are hidden" in done.stderr
    assert "+key = '[a value that seems to be a secret]'" in asked(answering)
    assert "AKIA" not in asked(answering)


@pytest.mark.slow
def test_a_prompt_from_stdin_is_bounded(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("run", "ask", "-", stdin="x" * ((16 << 20) + 1))
    assert done.returncode == 2
    assert "stdin has more than 16 MiB" in done.stderr
    assert answering.requests == []


AGENT = "name: w\nsteps:\n  - id: a\n    task: Review the diff\n"


def test_an_agent_is_given_a_prompt_that_no_template_has(shell: Shell, answering: ModelServer) -> None:
    shell.write("w.yaml", AGENT)
    answering.answers("Review the diff", "- fine")
    done = shell.run("run", "w.yaml", "in", "words", stdin="x = 1")
    assert done.returncode == 0, done.stderr
    assert "stdin: 1 line is added to the prompt" in done.stderr
    assert "The prompt of this run:\n\n````\nin words\n\nstdin:\n\n```\nx = 1\n```\n````" in asked(answering)


@pytest.mark.parametrize(
    ("name", "words", "stdin"),
    [("w", ["words"], ""), ("w", [], "x"), ("review_changes", ["words"], ""), ("review_changes", [], "x")],
)
def test_a_prompt_that_nothing_reads_is_refused(
    shell: Shell, answering: ModelServer, name: str, words: list[str], stdin: str
) -> None:
    shell.write("w.yaml", f"{AGENT}    context: none\n")
    done = shell.run("run", "w.yaml" if name == "w" else name, *words, stdin=stdin)
    assert done.returncode == 2
    assert f"{name} uses neither a prompt nor text from stdin" in done.stderr
    assert answering.requests == []
