"""Report of a run of tests, left for other tools."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.project import Documents

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.toolchain.results.models import TestResults

__all__ = ["REPORT", "read_bounded", "write_report"]

REPORT: Final = "qa/reports/test_results.json"
"""Below `.tideate/`."""


def write_report(root: Path, results: TestResults) -> Path:
    """Replace the last run's report, so that others see it whole or not at all; blocking.

    :raises ConfigError: it cannot be written.
    """
    # in ASCII: a name of a file may have what UTF-8 cannot say
    text = results.model_dump_json(by_alias=True, indent=2, ensure_ascii=True) + "\n"
    return Documents(root).write(REPORT, text.encode("ascii"))


def read_bounded(path: Path, largest: int) -> bytes | None:
    """Return a file's content; None where there is no regular file, or a larger one.

    No link is followed, and a pipe does not keep us waiting.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                content = file.read(largest + 1)
                return content if len(content) <= largest else None
    return None
