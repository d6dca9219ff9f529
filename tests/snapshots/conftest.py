from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness.project import git
from tideate_core.snapshots import SnapshotManager, file_reader


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/one.py").write_bytes(b"a = 1\nb = 2\n")
    (root / "src/deep/dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o751)
    (root / "logo.png").write_bytes(b"\x89PNG\x00\x01\xff")
    (root / "empty").mkdir(mode=0o750)
    (root / "latest").symlink_to("src/one.py")
    (root / "gone").symlink_to("nowhere/at all")
    (root / "folder").symlink_to("src")
    return root


@pytest.fixture
def repository(root: Path) -> Path:
    """The project in git, with ignored files."""
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text("node_modules/\n*.log\n.env\nbuild/\n")
    (root / ".env").write_text("SECRET=1\n")
    (root / "node_modules/left").mkdir(parents=True)
    (root / "node_modules/left/pad.js").write_text("x\n")
    (root / "logs").mkdir()
    (root / "logs/a.log").write_text("only ignored files here\n")
    return root


@pytest.fixture
def snapshots(root: Path) -> SnapshotManager:
    return SnapshotManager(root)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files opened for reading."""
    names: list[str] = []
    steady = file_reader._read_steadily

    def counted(path: str, *values: Any) -> Any:
        names.append(Path(path).name)
        return steady(path, *values)

    monkeypatch.setattr(file_reader, "_read_steadily", counted)
    return names
