"""Text piped into `tideate run`, as a block of the prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell


IMPATIENT = (
    "from tideate_core.cli import piped_stdin; piped_stdin.PATIENCE = 1.5\n"
    "from tideate_core.cli.main import main; main()"
)
AGENT = "name: w\nsteps:\n  - id: a\n    task: Review the diff\n"
DIFF = "diff --git a/a.py b/a.py\n@@ -1 +1 @@\n-a\n+@app.route\n```\n"


def last_prompt(answering: ModelServer) -> str:
    return str(answering.requests[-1]["messages"][-1]["content"])


def test_piped_text_is_a_block_below_the_prompt(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    done = shell.ok("run", "ask", "review this", stdin=DIFF)
    assert "stdin: 5 lines are added to the prompt" in done.stderr
    prompt = last_prompt(answering)
    assert f"review this\n\nstdin:\n\n````\n{DIFF}````" in prompt
    assert "@app" not in prompt.replace(DIFF, "")


def test_more_than_the_limit_is_cut_and_that_is_told(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    done = shell.ok("run", "ask", "review this", stdin="\u00e9" * 70_000)
    assert "the rest is left out (limits.mention_tokens allows 64,000 characters)" in done.stderr
    assert last_prompt(answering).count("\u00e9") == 64_000


def test_a_piped_text_can_be_the_file_to_work_on(shell: Shell, answering: ModelServer) -> None:
    answering.answers("explain", "- fine")
    done = shell.ok("run", "ask", "explain", "--file", "-", stdin="import gone\n")
    assert "stdin: 1 line is the file to work on" in done.stderr
    assert last_prompt(answering).count("import gone") == 1
    shown = shell.ok("context", "show", "@buffer", "--file", "-", stdin="import gone\n")
    assert "import gone" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "text", "words"),
    [
        (["ask", "explain"], "", "nothing came from stdin"),
        (["ask", "-"], "x", "stdin is the prompt, so `--file -` cannot use it"),
        (["-", "explain"], AGENT, "stdin is the workflow, so `--file -` cannot use it"),
        (["refactor", "shorten"], "x", "the buffer is read-only"),
    ],
)
def test_stdin_cannot_be_every_file(
    shell: Shell, answering: ModelServer, arguments: list[str], text: str, words: str
) -> None:
    shell.fails(2, words, "run", *arguments, "--file", "-", stdin=text)
    assert answering.requests == []


def test_a_binary_is_refused_before_a_model_is_asked(shell: Shell, answering: ModelServer) -> None:
    shell.fails(2, "stdin is not text", "run", "ask", "review this", stdin="a\0b")
    assert answering.requests == []


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_piped_changes_nothing(shell: Shell, answering: ModelServer, text: str) -> None:
    answering.answers("review this", "- fine")
    done = shell.ok("run", "ask", "review this", stdin=text)
    assert "stdin" not in done.stderr + last_prompt(answering)


@pytest.mark.slow
def test_a_pipe_that_stays_open_is_not_waited_for_without_end(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", IMPATIENT, "run", "ask", "review this"],
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
    assert "nothing came from stdin within 1.5 s" in done.stderr
    assert "stdin" not in last_prompt(answering)


@pytest.mark.attack
def test_secrets_are_hidden_before_the_text_is_cut(shell: Shell, answering: ModelServer) -> None:
    answering.answers("review this", "- fine")
    keys = ["AKIA" + f"Q7ZP3KD9WM2XV5{at}" for at in (10, 20)]
    text = f"+key = '{keys[0]}'\n" + "word \n" * 10_661 + keys[1] + "\n" * 90
    done = shell.ok("run", "ask", "review this", stdin=text)
    assert "stdin: values that seem to be secrets are hidden" in done.stderr
    assert "+key = '[a value that seems to be a secret]'" in last_prompt(answering)
    assert "AKIA" not in last_prompt(answering)


@pytest.mark.slow
def test_a_prompt_from_stdin_is_bounded(shell: Shell, answering: ModelServer) -> None:
    shell.fails(2, "stdin has more than 16 MiB", "run", "ask", "-", stdin="x" * ((16 << 20) + 1))
    assert answering.requests == []


def test_an_agent_is_given_a_prompt_that_no_template_has(shell: Shell, answering: ModelServer) -> None:
    shell.write("w.yaml", AGENT)
    answering.answers("Review the diff", "- fine")
    done = shell.ok("run", "w.yaml", "in", "words", stdin="x = 1")
    assert "stdin: 1 line is added to the prompt" in done.stderr
    assert "The prompt of this run:\n\n````\nin words\n\nstdin:\n\n```\nx = 1\n```\n````" in last_prompt(
        answering
    )


@pytest.mark.parametrize(
    ("name", "words", "stdin"),
    [("w", ["words"], ""), ("w", [], "x"), ("review_changes", ["words"], ""), ("review_changes", [], "x")],
)
def test_a_prompt_that_nothing_reads_is_refused(
    shell: Shell, answering: ModelServer, name: str, words: list[str], stdin: str
) -> None:
    shell.write("w.yaml", f"{AGENT}    context: none\n")
    shell.fails(
        2,
        f"{name} uses neither a prompt nor text from stdin",
        "run",
        "w.yaml" if name == "w" else name,
        *words,
        stdin=stdin,
    )
    assert answering.requests == []
