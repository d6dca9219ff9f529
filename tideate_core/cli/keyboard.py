"""Ask at the terminal without blocking: lines, yes-or-no questions, the person's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
import termios
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.process import DECLINED
from tideate_core.cli.render.output import messages, print_json, tell
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "EditorFailed",
    "Keyboard",
    "ask_yes_no",
    "confirmed_at_terminal",
    "declined",
    "has_person",
    "report_declined",
]


class EditorFailed(Exception):
    """The person's editor could not be started, or reported a failure.

    :param text: what stands in its file all the same.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class Keyboard:
    """Lines typed at the terminal on stdin."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._input = sys.stdin.fileno()

    async def line(self, question: Text) -> str | None:
        """Ask, and return the line typed, without its end; None at the end of input. Cancelling withdraws it.

        What was typed before the question is dropped: it was not meant as an answer to it.
        """
        termios.tcflush(self._input, termios.TCIFLUSH)
        self._console.print(question, end=" ")
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._input, readable.set)
        try:
            # the terminal edits the line and hands it over whole
            await readable.wait()
        finally:
            loop.remove_reader(self._input)
        data = os.read(self._input, 4096)
        return data.decode(errors="replace").strip() if data else None

    async def edit(self, text: str, suffix: str) -> str:
        """Let the person change a text in `$VISUAL` or `$EDITOR`.

        :raises EditorFailed: the editor cannot be started or ends with a failure.
        """
        wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            command = shlex.split(wanted) or ["vi"]
        except ValueError as error:
            raise EditorFailed(f"$VISUAL or $EDITOR is no command: {wanted}: {error}", text) from error
        with tempfile.TemporaryDirectory(prefix="tideate-") as directory:
            file = Path(directory) / f"plan{suffix}"
            # nothing between the text and the file: line ends, too, come back as they are
            file.write_bytes(text.encode("utf-8", "replace"))
            try:
                editor = await asyncio.create_subprocess_exec(*command, str(file))
            except OSError as error:
                words = f"{command[0]} cannot be started: {error.strerror}; set $EDITOR"
                raise EditorFailed(words, text) from error
            try:
                status = await editor.wait()
            except asyncio.CancelledError:
                editor.terminate()
                await editor.wait()
                raise
            return _read_back(file, text, command[0], status)


def _read_back(file: Path, text: str, editor: str, status: int) -> str:
    try:
        found = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise EditorFailed(f"{editor} left no file: {error.strerror}; nothing was changed", text) from error
    except UnicodeDecodeError as error:
        raise EditorFailed(f"{editor} wrote no UTF-8; nothing was changed", text) from error
    if status:
        raise EditorFailed(f"{editor} ended with status {status}; nothing was changed", found)
    return found


def has_person() -> bool:
    """Return whether a person can be asked at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_yes_no(question: str) -> bool:
    """Ask at the terminal; anything but yes is no."""
    # here, because most calls ask nobody
    from tideate_core.cli.keyboard import Keyboard

    line = Keyboard(messages()).line(Text.assemble((question, "bold"), (" [y/N]", "cyan")))
    answer = asyncio.run(line)
    return answer is not None and answer.lower() in ("y", "yes")


async def confirmed_at_terminal(name: str, question: str, run_id: str = "") -> bool:
    """Ask as a run asks; without a terminal it is declined.

    :param name: of what is done.
    """
    if not has_person():
        return False
    # here, because it takes the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import ConfirmationRequest

    request = ConfirmationRequest(run_id, name, name, "gate", question)
    return (await Questions(messages()).ask(request)).accepted


def declined(result: str, effect: str, policy: bool | None, *, as_json: bool) -> int:
    """Report that something was declined; return the exit status.

    :param result: what the state is now.
    :param effect: of `--yes`.
    :param policy: the answer that the command line gave.
    """
    words = f"declined; {result}" + ("" if policy is False else f" (--yes {effect})")
    report_declined(words, as_json=as_json)
    return DECLINED


def report_declined(words: str, *, as_json: bool) -> None:
    """Print that something was declined."""
    if as_json:
        print_json({"ok": False, "error": words, "error_code": "Declined"})
    else:
        tell(messages(), Text(visible(words), style="yellow"))
