"""Drafts of reviews: what the person decided in one that is not answered yet, kept over the end of an editor.

A front end appends to the file of a question as the person decides, and reads it when the question is asked
again. It is gone once the answer is in the store, at the latest with the end of the run.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tideate_core.engine.memory import digest_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["draft_path", "forget_drafts"]

FOLDER = "reviews"


def draft_path(private: Path, run: str, step: str, key: str) -> Path:
    """Return the file of a question, with its folder made; blocking.

    :param private: the project's private state.
    :param key: tells the question from others of the step.
    :raises OSError: the folder cannot be made.
    """
    folder = private / FOLDER / run
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{digest_of(step, key)}.jsonl"


def forget_drafts(private: Path, run: str) -> None:
    """Remove the drafts of a run that has ended; blocking."""
    shutil.rmtree(private / FOLDER / run, ignore_errors=True)
