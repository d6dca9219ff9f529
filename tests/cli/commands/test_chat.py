"""`tideate chat`: messages at a terminal and from a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell


def test_piped_text_is_one_message_of_the_last_chat(shell: Shell, answering: ModelServer) -> None:
    answering.answers("say one", "ONE", times=1)
    answering.answers("say two", "TWO", times=1)
    assert shell.ok("chat", stdin="say one\nin two lines\n").stdout == "ONE\n"
    assert shell.ok("chat", stdin="say two").stdout == "TWO\n"
    roles = [message["role"] for message in answering.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "in two lines" in str(answering.requests[-1])
    answering.answers("say three", "THREE", times=1)
    shell.ok("chat", "new", stdin="say three")
    assert "ONE" not in str(answering.requests[-1])


def test_no_message_is_wrong_usage(shell: Shell, answering: ModelServer) -> None:
    shell.fails(2, "no message came from stdin", "chat", stdin=" \n")
    shell.fails(2, "no run has the id 'abcd'", "chat", "abcd", stdin="hello")
    assert answering.requests == []


@pytest.mark.slow
def test_a_chat_at_the_terminal(shell: Shell, answering: ModelServer) -> None:
    answering.answers("say one", "It is ONE.", times=1)
    answering.fails("say two", 400, times=1)
    answering.answers("say three", "It is THREE.", times=1)
    gate = answering.holds("say long", times=1)
    terminal = shell.open("chat")

    def say(text: str) -> None:
        terminal.wait_for("> ")
        terminal.type(f"{text}\n")

    say("say one")
    terminal.wait_for("It is ONE.")
    say("say two")
    terminal.wait_for("refused the request")
    say("say long")
    gate.wait_started()
    terminal.type("\x03")
    terminal.wait_for("cancelled")
    say("say three")
    terminal.wait_for("It is THREE.")
    terminal.wait_for("> ")
    terminal.type("\x04")
    assert terminal.wait_exit() == 0
    said = [message["content"] for message in answering.requests[-1]["messages"][1:]]
    assert [text.split()[-1] for text in said] == ["one", "ONE.", "three"]


def test_an_empty_line_does_not_end_a_chat_whose_answers_go_elsewhere(
    shell: Shell, answering: ModelServer, tmp_path: Path
) -> None:
    answering.answers("say one", "It is ONE.")
    with (tmp_path / "said").open("wb") as said:
        terminal = shell.open("chat", stdout=said.fileno())
        for typed in ("\n", "say one\n", "\x04"):
            terminal.wait_for("> ")
            terminal.type(typed)
        assert terminal.wait_exit() == 0
    assert (tmp_path / "said").read_text() == "It is ONE.\n"
