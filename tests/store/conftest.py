"""Fixtures for stores, readers and child processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.store import Reader, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return tmp_path / ".tideate"


@pytest.fixture
def open_store(private: Path) -> Iterator[Callable[[], Store]]:
    opened: list[Store] = []

    def make() -> Store:
        opened.append(Store.open(private))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


@pytest.fixture
def reader(private: Path) -> Reader:
    return Reader(private)


@pytest.fixture
def child(private: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `tests/store/child.py`, which prints one line for each action."""
    started: list[subprocess.Popen[str]] = []

    def begin(task: str, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.store.child", task, str(private), *more]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
