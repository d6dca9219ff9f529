"""Reading a project's runs in a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tideate_core.app import read_runs
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".tideate").mkdir()
    return tmp_path


def test_what_is_read_is_returned(root: Path) -> None:
    assert asyncio.run(read_runs(root, lambda reader: reader.runs(limit=1))) == []


def test_an_error_of_the_reader_is_raised(root: Path) -> None:
    with pytest.raises(RunNotFound):
        asyncio.run(read_runs(root, lambda reader: reader.run("abc")))
