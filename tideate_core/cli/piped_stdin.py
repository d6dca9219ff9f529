"""Text that is piped into `tideate run`: material for the model, below the prompt."""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import Final

from tideate_core.cli.arguments import decoded_text
from tideate_core.cli.render.output import note
from tideate_core.edits import fence_for
from tideate_core.errors import InvalidInput
from tideate_core.mentions import hide_secrets

__all__ = ["with_piped_text"]

HINT_AFTER: Final = 1.0
"""Seconds without a byte after which the wait is told."""
PATIENCE: Final = 5.0
"""Seconds to wait for the first byte: a parent such as cron or ssh may leave a pipe open for ever."""
_CHUNK: Final = 1 << 16


def with_piped_text(prompt: str, most: int) -> str:
    """Return a prompt with the text that stdin brings, as a block named stdin.

    A terminal, `/dev/null` and a closed or empty stdin bring none. What seems to be a secret is hidden:
    nobody looked at each line of a pipe.

    :param most: characters that are taken; the rest is left out, and that is told.
    :raises InvalidInput: it is no text.
    """
    data = _read(most)
    if not data.strip():
        return prompt
    if b"\0" in data:
        raise InvalidInput("stdin is not text (it has a NUL byte); give `</dev/null` to run without it")
    given = decoded_text(data, "stdin")
    if (text := hide_secrets(given)) != given:
        note("stdin: values that seem to be secrets are hidden; type into the prompt what the model needs")
    taken = text[:most]
    if len(text) > most:  # to the end of a line: a part of a secret would not be known for it
        taken = taken[: taken.rfind("\n") + 1] or taken
    cut = f"; the rest is left out (limits.mention_tokens allows {most:,} characters)"
    lines = taken.count("\n") + (not taken.endswith("\n"))
    counted = "1 line is" if lines == 1 else f"{lines:,} lines are"
    note(f"stdin: {counted} added to the prompt{cut if len(text) > most else ''}")
    fence = fence_for(taken)
    end = "" if taken.endswith("\n") else "\n"
    block = f"stdin:\n\n{fence}\n{taken}{end}{fence}"
    return f"{prompt}\n\n{block}" if prompt.strip() else block


def _read(most: int) -> bytes:
    """Read as many bytes as `most` characters and a few more may take."""
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
            data.pop()  # a character may be cut in its middle
        if data and data[-1] >= 0xC0:
            data.pop()
    return bytes(data)


def _begins(descriptor: int) -> bool:
    """Wait until there is something to read, or the end."""
    if select.select([descriptor], [], [], HINT_AFTER)[0]:
        return True
    note("waiting for stdin; give `</dev/null` if nothing comes from it")
    if select.select([descriptor], [], [], PATIENCE - HINT_AFTER)[0]:
        return True
    note(f"nothing came from stdin within {PATIENCE:g} s; the run begins without it")
    return False
