"""A project, and scratch copies of every kind available on this machine."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.snapshots.trees import looked_at
from tideate_core.process import make_environment
from tideate_core.snapshots import open_scratch, scratch_support

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager

    from tests.harness.processes import Brood
    from tideate_core.snapshots import Scratch

KINDS = [kind for kind in ("overlay", "copy") if kind == "copy" or scratch_support(None).kind == kind]


class Opening(Protocol):
    """Opens a scratch copy of the test's kind."""

    def __call__(self, files: Any = None, **options: Any) -> AbstractAsyncContextManager[Scratch]: ...


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project, a b"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/one.py").write_bytes(b"a = 1\nb = 2\n")
    (root / "src/deep/two.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\necho from run.sh\n")
    (root / "run.sh").chmod(0o751)
    (root / "logo.png").write_bytes(b"\x89PNG\x00\x01\xff")
    (root / "empty").mkdir(mode=0o750)
    (root / "latest").symlink_to("src/one.py")
    return root


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return tmp_path / "private"


@pytest.fixture
def untouched(root: Path) -> Iterator[None]:
    """Check that the real tree is unchanged at the end."""
    before = looked_at(root, ())
    yield
    assert looked_at(root, ()) == before


@pytest.fixture
def opening(root: Path, private: Path, kind: str) -> Opening:
    def opening(files: Any = None, **options: Any) -> AbstractAsyncContextManager[Scratch]:
        return open_scratch(root, private, files, **{"kind": kind, **options})

    return opening


@pytest.fixture
async def scratch(opening: Opening) -> AsyncIterator[Scratch]:
    async with opening() as scratch:
        yield scratch


@pytest.fixture
def environment(brood: Brood) -> dict[str, str]:
    return make_environment(brood.environment())


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Directory that every user may enter, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(prefix="tideate-scratch-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place, ignore_errors=True)
