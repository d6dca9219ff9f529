"""`tideate machine format`: `.workflow` files in the usual form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tideate_core.cli.files import write_text
from tideate_core.cli.machine_check import described
from tideate_core.cli.machine_source import Source, Unreadable, sources
from tideate_core.cli.output import fail, label, messages, results, tell_mistakes
from tideate_core.errors import InvalidInput, TideateError
from tideate_core.machines.language import format_text
from tideate_core.workflows import BOM

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["format_files"]

DONE, WOULD_CHANGE, INVALID = 0, 1, 2


def format_files(files: tuple[str, ...], root: str | None, *, check: bool, stdout: bool) -> int:
    """Format all files; returns the worst status of them."""
    try:
        if check and stdout:
            raise InvalidInput("--check prints no text: leave out --stdout, or --check")
        worst = DONE
        for read in sources(files, root):
            worst = max(worst, _format_one(read, check=check, stdout=stdout))
    except TideateError as error:
        fail(error)
        return INVALID
    return worst


def formatted(text: str) -> str:
    """Return the usual form of a text, with the byte order mark that it has."""
    mark = BOM if text.startswith(BOM) else ""
    return mark + format_text(text.removeprefix(BOM))


def _format_one(read: Source | Unreadable, *, check: bool, stdout: bool) -> int:
    console = messages()
    mistakes = () if isinstance(read, Unreadable) else read.parse().errors
    for part in described(read, tuple(mistakes)):
        tell_mistakes(console, part)
    if isinstance(read, Unreadable) or mistakes:
        return INVALID
    text = formatted(read.raw)
    if check:
        return _list(read, results(), changes=text != read.raw)
    if stdout or read.path is None:
        _print(text)
    elif text != read.raw:
        write_text(read.path, text, replaces=read.raw)
        console.print(f"formatted: {label(read.label)}", markup=False, soft_wrap=True)
    return DONE


def _list(read: Source, console: Console, *, changes: bool) -> int:
    if changes:
        console.print(f"would be formatted: {label(read.label)}", markup=False, soft_wrap=True)
    return WOULD_CHANGE if changes else DONE


def _print(text: str) -> None:
    """Write bytes as a file would have them: no line end is translated."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
