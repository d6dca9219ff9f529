from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.buffers import Buffers
from tests.harness.nursery import Nursery
from tests.workspace.killed import Killed
from tests.workspace.project import LONG, NAME, TextFile
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/one.py").write_bytes(b"a = 1\nb = 2\nc = 3\n")
    (root / "src/dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    (root / "run.sh").write_bytes(b"#!/bin/sh\necho hello\n")
    (root / "run.sh").chmod(0o751)
    (root / "logo.png").write_bytes(b"\x89PNG\x00\x01")
    return root


@pytest.fixture
def private(tmp_path: Path) -> Path:
    private = tmp_path / "private"
    private.mkdir()
    return private


@pytest.fixture
def workspace(root: Path, private: Path) -> Workspace:
    return Workspace(root, private=private)


@pytest.fixture
def long(root: Path) -> TextFile:
    file = TextFile(root / NAME)
    file.write(LONG + "\n")
    return file


@pytest.fixture
def unended(root: Path) -> TextFile:
    """File without a last line end, which an editor adds on saving."""
    file = TextFile(root / NAME)
    file.write(LONG)
    return file


@pytest.fixture
def number(unended: TextFile, editor: Buffers) -> int:
    return editor.load(unended.path, LONG)


@pytest.fixture
def editor() -> Buffers:
    return Buffers()


@pytest.fixture
def edited(root: Path, private: Path, editor: Buffers) -> Workspace:
    """Workspace of a project that is open in an editor."""
    return Workspace(root, buffers=editor, private=private)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("tests.workspace.killed") as nursery:
        yield nursery


@pytest.fixture
def killed(nursery: Nursery, root: Path, private: Path) -> Killed:
    """Project work in processes that are killed."""
    return Killed(nursery, root, private)
