"""`tideate trust .tideate/tideate.db`: what runs that were made elsewhere hold, and letting them go on."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.keyboard import Keyboard
from tideate_core.cli.output import messages, tell, visible
from tideate_core.cli.runs import short, steps_words, when
from tideate_core.errors import ConfigError
from tideate_core.store import identity
from tideate_core.store.holdings import holdings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.store.holdings import Unfinished

__all__ = ["revoke_database", "trust_database"]


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
    for line in _told(path):
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


def _told(path: Path) -> Iterator[str]:
    held = holdings(path)
    if held.first is None or held.last is None:
        yield f"{path} holds no runs"
        return
    counted = ", ".join(f"{count} {state}" for state, count in held.states.items())
    yield f"{path} holds the runs of {when(held.first)} to {when(held.last)}: {counted}"
    if held.unfinished:
        yield "These can go on once it is trusted, with the results and answers that are kept in it:"
    for one in held.unfinished:
        yield f"  {_words(one)}"
    if held.more:
        yield f"  and {held.more} more (`tideate history --status interrupted`)"


def _words(one: Unfinished) -> str:
    run = one.run
    prompt = " ".join(run.prompt.split())[:60]
    where = f", a step of {short(run.parent)}" if run.parent else ""
    return (
        f"{short(run.id)} {run.name}{where}, {one.state}, steps done: {steps_words(run)}, "
        f"answers kept: {one.answers}{f', {prompt!r}' if prompt else ''}"
    )
