"""`tideate trust .tideate/tideate.db`: what runs that were made elsewhere hold, and letting them go on."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tideate_core.cli.keyboard import Keyboard
from tideate_core.cli.output import messages, tell, visible
from tideate_core.cli.runs import short, steps_words, when
from tideate_core.errors import ConfigError
from tideate_core.store import identity
from tideate_core.store.reader import Reader
from tideate_core.store.standing import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.store import RunRow

__all__ = ["revoke_database", "trust_database"]

MOST: Final = 10_000
"""Runs that are counted."""
NAMED: Final = 20
"""Runs that are told one by one."""


def trust_database(path: Path) -> list[str]:
    """Trust a database after telling what it holds; at a terminal the person is asked first.

    :returns: what was done, a line each.
    :raises ConfigError: there is no such file.
    :raises StoreError: it cannot be read, written or trusted.
    """
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; there is nothing to trust")
    if identity.is_ours(path.parent):
        return [f"trusted already: {path}"]
    console = messages()
    for line in _holdings(path):
        tell(console, Text(visible(line)))
    if sys.stdin.isatty() and sys.stderr.isatty():
        question = Text.assemble(("Trust it?", "bold"), (" [y/N]", "cyan"))
        answer = asyncio.run(Keyboard(console).line(question))
        if answer is None or answer.lower() not in ("y", "yes"):
            return [f"not trusted: {path}"]
    identity.trust(path)
    return [f"trusted: {path}", "`tideate resume` goes on with its runs; --revoke takes the trust back"]


def revoke_database(path: Path) -> str:
    """Trust a database no longer; returns what was done.

    :raises ConfigError: there is no such file.
    :raises StoreError: it cannot be read.
    """
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; there is nothing to revoke")
    return f"{'no longer' if identity.revoke(path) else 'was not'} trusted: {path}"


def _holdings(path: Path) -> Iterator[str]:
    reader = Reader(path.parent)
    runs = reader.runs(limit=MOST, parents_only=False)
    if not runs:
        yield f"{path} holds no runs"
        return
    states = Counter(state_of(run) for run in runs)
    counted = ", ".join(f"{count} {state}" for state, count in states.most_common())
    first, last = when(runs[-1].started_at), when(runs[0].started_at)
    yield f"{path} holds the runs of {first} to {last}: {counted}"
    unfinished = [run for run in runs if not run.ended]
    if unfinished:
        yield "These can go on once it is trusted, with the results and answers that are kept in it:"
    for run in unfinished[:NAMED]:
        yield f"  {_words(reader, run)}"
    if len(unfinished) > NAMED:
        yield f"  and {len(unfinished) - NAMED} more (`tideate history --status interrupted`)"


def _words(reader: Reader, run: RunRow) -> str:
    keys = [key for kept in reader.memos(run.id).values() for key in kept]
    answers = sum(".confirm:" in key for key in keys)
    prompt = " ".join(run.prompt.split())[:60]
    where = f", a step of {short(run.parent)}" if run.parent else ""
    return (
        f"{short(run.id)} {run.name}{where}, {state_of(run)}, steps done: {steps_words(run)}, "
        f"answers kept: {answers}{f', {prompt!r}' if prompt else ''}"
    )
