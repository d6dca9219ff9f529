"""The sample project of the tour, copied so that nothing of the repository is changed."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("sample")


def copy_sample(folder: Path) -> Path:
    """Copy the sample into a folder and return the copy."""
    return Path(shutil.copytree(SAMPLE, folder / "shop"))
