"""Patch of a run's edits: `git apply` reproduces the run's result."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.workspace import ABSENT, FileImage, patched_images
from tideate_core.workspace.patches import make_patch, read_images

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = {
    ".gitattributes": b"* text=auto eol=crlf\n",
    "src/a.py": b"one\ntwo\nthree\n",
    "crlf.txt": b"a\r\nb\r\n",
    "no end.txt": b"last",
    "logo.png": bytes(range(256)) * 4,
    "gone.txt": b"here\n",
    "old/name.py": b"".join(b"line %d\n" % number for number in range(30)),
    "tool.sh": b"#!/bin/sh\n",
    "umläut\t.txt": b"x\n",
}
AFTER: dict[str, bytes | None] = {
    ".gitattributes": b"* text=auto eol=crlf -diff\n",
    "src/a.py": b"one\n2\nthree\n",
    "crlf.txt": b"a\r\nB\r\n",
    "no end.txt": b"last one",
    "logo.png": bytes(reversed(range(256))) * 4,
    "gone.txt": None,
    "old/name.py": None,
    "new/name.py": BEFORE["old/name.py"] + b"more\n",
    "new/file.txt": b"new\n",
    "umläut\t.txt": b"y\n",
}


def lay_out(root: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def tree(root: Path) -> dict[str, tuple[str, bytes, bool]]:
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()), False)
        elif path.is_file() and not name.startswith(".git/"):
            found[name] = ("file", path.read_bytes(), os.access(path, os.X_OK))
    return found


def test_what_git_apply_makes_of_it_is_what_the_run_made(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    lay_out(root, BEFORE)
    (root / "link").symlink_to("src/a.py")
    shutil.copytree(root, other, symlinks=True)
    paths = [*{**BEFORE, **AFTER}, "link"]
    before = read_images(root, paths)
    for path, content in AFTER.items():
        if content is None:
            (root / path).unlink()
        else:
            lay_out(root, {path: content})
    (root / "tool.sh").chmod(0o755)
    (root / "link").unlink()
    (root / "link").symlink_to("new/file.txt")
    patch = make_patch(before, read_images(root, paths))
    assert b"rename from old/name.py" in patch
    done = subprocess.run(["git", "apply", "-"], cwd=other, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert tree(other) == tree(root)


def test_where_nothing_was_changed_it_is_empty(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a.txt": b"a\n"})
    states = read_images(tmp_path, ["a.txt", "not there"])
    assert make_patch(states, states) == b""


def test_what_the_project_configures_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A custom diff program would produce an unusable patch."""
    config = tmp_path / "gitconfig"
    config.write_text("[diff]\n\tnoprefix = true\n\texternal = false\n[color]\n\tui = always\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    before = read_images(tmp_path, ["a.txt"])
    lay_out(tmp_path, {"a.txt": b"a\n"})
    patch = make_patch(before, read_images(tmp_path, ["a.txt"]))
    assert patch.startswith(b"diff --git a/a.txt b/a.txt\nnew file mode 100644\n")


def test_without_git_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git"):
        make_patch({}, {})


def test_a_patch_below_a_link_to_itself_is_refused_and_no_crash() -> None:
    gone = FileImage(ABSENT)
    before = {"a": FileImage.of_link(b"a"), "a/a": gone}
    after = {"a": gone, "a/a": FileImage.of_file(b"x\n", 0o644)}
    patch = make_patch(before, after)
    with pytest.raises(InvalidInput, match="symbolic link"):
        patched_images(patch, lambda path: before.get(path, gone))
