"""Where the results of tests are kept for whoever comes after, and writing them whole."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ConfigError
from tideate_core.project import inside, private_dir

if TYPE_CHECKING:
    from tideate_core.commands.results.models import TestResults

__all__ = ["REPORT", "folder_below", "read_bounded", "write_report"]

REPORT: Final = "qa/reports/test_results.json"
"""Below `.tideate/`."""


def folder_below(root: Path, *names: str) -> Path:
    """Return a folder in the project's private one, made if it is missing.

    :raises ConfigError: it cannot be made, or a link leads out of the project.
    """
    place = private_dir(root)
    for name in names:
        place = place / name
        try:
            # one by one: below a link something would be made before the link is seen
            place.mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{place} cannot be made: {error.strerror}") from error
        if not inside(place, root):
            raise ConfigError(f"{place} is a link out of the project; remove it, nothing was written")
    return place


def write_report(root: Path, results: TestResults) -> Path:
    """Replace the last run's report, so that others see it whole or not at all; blocking.

    :raises ConfigError: it cannot be written.
    """
    *folders, name = REPORT.split("/")
    path = folder_below(root, *folders) / name
    # in ASCII: a name of a file may have what UTF-8 cannot say
    text = results.model_dump_json(by_alias=True, indent=2, ensure_ascii=True) + "\n"
    try:
        descriptor, temp = tempfile.mkstemp(dir=path.parent, prefix=f".{name}-")
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temp).replace(path)
        except BaseException:
            Path(temp).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    return path


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
