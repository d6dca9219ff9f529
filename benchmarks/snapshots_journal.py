"""Time of the journal before a write: the pre-images of five files, on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tideate_core.workspace.file_images import FileImage
from tideate_core.workspace.journal import FileEntry, Images, Journal

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 10_000


def journals(place: Path, count: int) -> list[float]:
    """Return milliseconds that each took; the first ones, which make directories, do not count."""
    journal, took = Journal(place), []
    images = [bytes([number]) * SIZE for number in range(5)]
    changes = [
        (
            FileEntry(
                path=f"src/module{number}.py",
                before=FileImage.of_file(image, 0o644).state,
                after=FileImage.of_file(image[:-1], 0o644).state,
                temp=f".tideate-{number:016x}.tmp",
            ),
            Images(image, image[:-1]),
        )
        for number, image in enumerate(images)
    ]
    for number in range(count + 2):
        begun = time.monotonic()
        journal.record(f"run{number}", changes)
        took.append((time.monotonic() - begun) * 1000)
    return took[2:]
