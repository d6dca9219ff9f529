"""Non-blocking answers at a terminal prompt: option key, line, or text edited in `$EDITOR`."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
import termios
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console
    from rich.text import Text

WORDS: Final = {"yes": "y", "no": "n", "edit": "e"}
"""Keys by the words that stand for them."""


@dataclass(frozen=True, slots=True)
class Options:
    """Answers to a question."""

    shown: Mapping[str, str]
    """Help of each key of the prompt, in order; Enter chooses the upper-case key."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Help of further keys; empty for a synonym."""

    @property
    def keys(self) -> str:
        """The keys for the prompt, such as `y/N/d`."""
        return "/".join(self.shown)

    @property
    def help(self) -> str:
        """The keys with their help, in one line."""
        named = {**self.shown, **self.more}.items()
        return " · ".join(
            f"{key.lower()}{' or Enter' if key.isupper() else ''} {words}" for key, words in named if words
        )

    def chosen(self, answer: str) -> str | None:
        """Return the key of an answer, in lower case; None if it is no option.

        `q` means no unless it is an option of its own.
        """
        known = {key.lower() for key in (*self.shown, *self.more)}
        key = WORDS.get(answer, answer) or next((key.lower() for key in self.shown if key.isupper()), "")
        if key == "q" and key not in known:
            key = "n"
        return key if key in known else None


class EditorFailed(Exception):
    """The person's editor could not be started, or failed.

    :param text: content of its file.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class Keyboard:
    """Input from the terminal on stdin."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._input = sys.stdin.fileno()

    async def line(self, question: Text) -> str | None:
        """Ask a question and return the typed line, stripped; None at the end of input.

        Input typed before the question is discarded: it is not an answer.
        """
        termios.tcflush(self._input, termios.TCIFLUSH)
        self._console.print(question, end=" ")
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._input, readable.set)
        try:
            # in canonical mode, the terminal edits the line and delivers it whole
            await readable.wait()
        finally:
            loop.remove_reader(self._input)
        data = os.read(self._input, 4096)
        return data.decode(errors="replace").strip() if data else None

    async def edit(self, text: str, name: str) -> str:
        """Open a text in `$VISUAL` or `$EDITOR` and return the edited text.

        :param name: file name that the editor shows.
        :raises EditorFailed: the editor cannot be started or ends with a failure.
        """
        wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            command = shlex.split(wanted) or ["vi"]
        except ValueError as error:
            raise EditorFailed(f"$VISUAL or $EDITOR is not a command: {wanted}: {error}", text) from error
        with tempfile.TemporaryDirectory(prefix="tideate-") as directory:
            file = Path(directory) / name
            # bytes: line ends must be preserved
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
