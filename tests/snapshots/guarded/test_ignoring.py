"""Ignored paths: by git if available, else by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.snapshots.guarded.ignore_patterns import IgnorePatterns
from tideate_core.snapshots.guarded.ignoring import IgnoredNames

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = "*.log\nbuild/\n/out/*\n!/out/kept\ndocs\n:odd\n[x]\n"


def ignored(root: Path, *paths: str) -> list[str]:
    with IgnoredNames(root, root) as names:
        return [path for path in paths if names.has(path.rstrip("/"), directory=path.endswith("/"))]


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text(PATTERNS)
    return root


def test_git_says_what_is_ignored_of_paths_that_need_not_exist(repository: Path) -> None:
    paths = ("a.log", "x/b.log", "build/", "src/build/", "docs/", "docs", "out/made", ":odd", "x", "café.log")
    assert ignored(repository, *paths) == list(paths)


def test_git_says_what_is_not_ignored(repository: Path) -> None:
    assert ignored(repository, "src/", "build", "src/one.py", "out/", "out/kept", "[x]", "*.log.txt") == []


def test_what_git_has_is_not_ignored(repository: Path) -> None:
    (repository / "build").mkdir()
    (repository / "build/kept").write_text("1")
    (repository / "kept.log").write_text("1")
    git(repository, "add", "--force", "build/kept", "kept.log")
    assert ignored(repository, "build/", "kept.log", "other.log") == ["other.log"]


def test_many_questions_fill_no_pipe_and_take_one_pass(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [(f"{number:0200}{'.log' if number % 2 else ''}", False) for number in range(10_000)]
    with IgnoredNames(repository, repository) as names:
        names.look_up(paths)
        names.look_up(paths)
        monkeypatch.setattr(IgnorePatterns, "ask", None)  # all is known
        found = [path for path, _ in paths if names.has(path, directory=False)]
    assert found == [path for path, _ in paths if path.endswith(".log")]


def test_histories_private_files_and_caches_are_ignored_everywhere(root: Path) -> None:
    (root / "cache").mkdir()
    (root / "cache/CACHEDIR.TAG").write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    paths = (".git/", ".git", "sub/.GIT/", ".tideate/", ".hg/", "src/__pycache__/", "cache/")
    assert ignored(root, *paths) == list(paths)


def test_without_a_repository_names_decide(root: Path) -> None:
    assert ignored(root, "node_modules/", "a/.venv/", "src/", "a.log") == ["node_modules/", "a/.venv/"]


def test_without_git_names_decide(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert ignored(repository, "node_modules/", "a.log") == ["node_modules/"]


def test_names_decide_about_paths_in_another_repository(repository: Path) -> None:
    git(repository, "init", "--quiet", "inner")
    git(
        repository / "inner", "-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "1", "--allow-empty"
    )
    git(repository, "add", "inner")
    paths = ("a.log", "inner/a.log", "inner/node_modules/", "node_modules/", "b.log")
    assert ignored(repository, *paths) == ["a.log", "inner/node_modules/", "b.log"]


def test_a_project_that_is_ignored_as_a_whole_says_nothing_of_its_parts(root: Path) -> None:
    git(root.parent, "init", "--quiet")
    (root.parent / ".gitignore").write_text(f"/{root.name}/\n")
    assert ignored(root, "src/", "src/one.py", "node_modules/") == ["node_modules/"]


def test_a_git_that_does_not_answer_is_not_waited_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("tideate_core.snapshots.guarded.ignore_patterns.TIMEOUT", 0.1)
    assert ignored(repository, "a.log", "node_modules/") == ["node_modules/"]
