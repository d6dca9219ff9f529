"""Ignored paths come from git, by each repository's own rules, without starting its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.harness.project import git
from tests.snapshots.trees import paths, taken

if TYPE_CHECKING:
    from pathlib import Path


async def test_without_git_known_names_are_ignored(root: Path) -> None:
    (root / "node_modules").mkdir()
    (root / "node_modules/pad.js").write_text("x\n")
    found = await taken(root)
    assert "node_modules/pad.js" not in paths(found)
    assert "node_modules" in found.ignored
    assert "src/one.py" in paths(found)


async def test_a_project_that_is_ignored_by_a_repository_around_it_is_taken_in(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("*\n")
    inner = tmp_path / "inner/project"
    (inner / "src").mkdir(parents=True)
    (inner / "src/a.py").write_text("a\n")
    assert paths(await taken(inner)) == {"src/a.py"}


async def test_files_of_a_nested_repository_are_taken_in_with_its_own_rules_and_its_git_is_not(
    repository: Path,
) -> None:
    nested = repository / "nested"
    (nested / "dist").mkdir(parents=True)
    git(nested, "init", "--quiet")
    (nested / ".gitignore").write_text("dist/\n")
    (nested / "dist/made").write_text("m")
    (nested / "kept.txt").write_text("k")
    found = await taken(repository)
    assert {"nested/kept.txt", "nested/.gitignore"} <= paths(found)
    assert not any(".git/" in path or "dist/" in path for path in paths(found))
