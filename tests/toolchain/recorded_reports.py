"""Recorded reports of test runners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.toolchain.testing.results import Tally

REPORTS = Path(__file__).parent / "reports"
"""Go's events are written by hand, after `go doc test2json`."""
SMALL = Path("/srv/small")


def report(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


def places(tally: Tally) -> list[tuple[str, str, str, int | None]]:
    return [(one.kind, one.name, one.file, one.line) for one in tally.failures]
