"""Exit statuses, and the standard streams of the process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from tideate_core.errors import (
    DefinitionChanged,
    PersonNeeded,
    RunEnded,
    RunIsOwned,
    RunNotActive,
    SnapshotNotFound,
    StateError,
    StoreError,
    WorkspaceError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.errors import TideateError

__all__ = ["DECLINED", "DONE", "FAILED", "INTERRUPTED", "USAGE", "status_of", "with_streams"]

DONE, FAILED, USAGE, DECLINED, INTERRUPTED = 0, 1, 2, 3, 130
_FAILURES: Final = (PersonNeeded, RunEnded, RunIsOwned, RunNotActive, StateError, StoreError, WorkspaceError)
"""Errors of valid requests that cannot be fulfilled."""


def status_of(error: TideateError) -> int:
    """Return the exit status of a command that ends with an error."""
    if isinstance(error, DefinitionChanged):
        return DECLINED
    if isinstance(error, SnapshotNotFound):
        return USAGE
    return FAILED if isinstance(error, _FAILURES) else USAGE


def with_streams(command: Callable[[], object]) -> None:
    """Run a command, which exits itself if it has a status; exit with 1 where a stream cannot be used."""
    _open_closed()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # of a stream: its other end has gone, it is full or closed; the interpreter's own flush at exit must
        # not complain either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: stdin or stdout cannot be used: {error.strerror}\n")
        sys.exit(1)


def _open_closed() -> None:
    """Open standard streams that are closed, so that to read or write them is an error and no crash."""
    wrong_ways = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for descriptor, (name, flags) in enumerate(wrong_ways.items()):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            # open as long as the process is
            stream = open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)
