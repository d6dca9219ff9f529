"""Text piped into `tideate run`: an addition to the prompt, or the file to work on."""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import TYPE_CHECKING, Final

from tideate_core.app import STDIN, read_file_context
from tideate_core.cli.arguments import decoded_text
from tideate_core.cli.render.output import note
from tideate_core.errors import InvalidInput
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from tideate_core.app import Project
    from tideate_core.workflows import RunContext

HINT_AFTER: Final = 1.0
"""Seconds without a byte until a hint about the wait."""
PATIENCE: Final = 5.0
"""Seconds to wait for the first byte: a parent such as cron or ssh may never close the pipe."""
_CHUNK: Final = 1 << 16


def with_piped_text(prompt: str, project: Project) -> str:
    """Append the text on stdin to a prompt, as a block named stdin.

    :raises InvalidInput: stdin is not text.
    """
    taken = _piped_text(project, "added to the prompt")
    if not taken:
        return prompt
    from tideate_core.edits import fence_for

    fence = fence_for(taken)
    end = "" if taken.endswith("\n") else "\n"
    block = f"stdin:\n\n{fence}\n{taken}{end}{fence}"
    return f"{prompt}\n\n{block}" if prompt.strip() else block


async def file_context(argument: str | None, project: Project) -> RunContext:
    """Return a run's context from the value of `--file`; the file `-` is the text on stdin.

    :raises InvalidInput: stdin is empty or not text.
    :raises WorkspaceError: as for `read_file_context`.
    """
    context = await read_file_context(None if argument == STDIN else argument, project)
    if argument != STDIN:
        return context
    text = _piped_text(project, "the file to work on").removesuffix("\n")
    if not text:
        raise InvalidInput("--file -: nothing came from stdin; pipe text into the command, or name a file")
    from tideate_core.workflows import BufferContext, Selection

    selection = Selection(start=1, end=text.count("\n") + 1)
    return context.model_copy(
        update={"buffer": BufferContext(text=text, modifiable=False), "selection": selection}
    )


def _piped_text(project: Project, use: str) -> str:
    """Return the text on stdin; a terminal, `/dev/null` and a closed or blank stdin have none.

    Likely secrets are hidden: the person has not read every line of a pipe. Text beyond the limit of mentions
    is left out, with a note.

    :param use: the use of the text, for the note.
    :raises InvalidInput: stdin is not text.
    """
    most = project.loaded.config.limits.mention_tokens * CHARACTERS_PER_TOKEN
    data = _read(most)
    if not data.strip():
        return ""
    from tideate_core.mentions import hide_secrets

    if b"\0" in data:
        raise InvalidInput("stdin is not text (it has a NUL byte); add `</dev/null` to run without it")
    given = decoded_text(data, "stdin")
    if (text := hide_secrets(given)) != given:
        note("stdin: values that seem to be secrets are hidden; type them into the prompt if needed")
    taken = text[:most]
    if len(text) > most:  # cut at a line end: a part of a secret would not be recognised
        taken = taken[: taken.rfind("\n") + 1] or taken
    cut = f"; the rest is left out (limits.mention_tokens allows {most:,} characters)"
    lines = taken.count("\n") + (not taken.endswith("\n"))
    counted = "1 line is" if lines == 1 else f"{lines:,} lines are"
    note(f"stdin: {counted} {use}{cut if len(text) > most else ''}")
    return taken


def _read(most: int) -> bytes:
    """Read enough bytes for more than `most` characters."""
    if sys.stdin is None:
        return b""
    descriptor = sys.stdin.fileno()
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)) or not _begins(descriptor):
        return b""
    data, limit = bytearray(), most * 4 + _CHUNK
    while len(data) < limit and (chunk := os.read(descriptor, _CHUNK)):
        data += chunk
    if len(data) >= limit:
        while data and data[-1] & 0xC0 == 0x80:
            data.pop()  # bytes of an incomplete character
        if data and data[-1] >= 0xC0:
            data.pop()
    return bytes(data)


def _begins(descriptor: int) -> bool:
    """Wait for the first byte or the end of stdin; return False if neither comes in time."""
    if select.select([descriptor], [], [], HINT_AFTER)[0]:
        return True
    note("waiting for stdin; add `</dev/null` to run without it")
    if select.select([descriptor], [], [], PATIENCE - HINT_AFTER)[0]:
        return True
    note(f"nothing came from stdin within {PATIENCE:g} s; the run begins without it")
    return False
