"""A directory for private state, of every other try on another file system than the project."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["state_home"]

MEMORY: Final = Path("/dev/shm")


@pytest.fixture
def state_home(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Name a directory in `$XDG_STATE_HOME`: with an odd number on another file system than `tmp_path`.

    :param number: of the try; the test is parametrized by it.
    """
    if number % 2:
        assert MEMORY.stat().st_dev != tmp_path.stat().st_dev
        with tempfile.TemporaryDirectory(prefix="tideate-state-", dir=MEMORY) as name:
            monkeypatch.setenv("XDG_STATE_HOME", name)
            yield Path(name)
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state_home"))
        yield tmp_path / "state_home"
