"""A repository counts if it is the project's own: all inside, or a worktree or submodule that refers back."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.project import git
from tideate_core.app import review_names
from tideate_core.builtin.review.git_changes import git_difference
from tideate_core.builtin.review.target import find_target
from tideate_core.errors import WorkspaceError
from tideate_core.git import find_repository, program, run_git
from tideate_core.mentions import ContextResolver
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.guarded import ignore_patterns
from tideate_core.snapshots.guarded.ignoring import IgnoredNames
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Arm = Callable[[Path, Path], object]

pytestmark = [pytest.mark.bulk, pytest.mark.slow]


def repository(root: Path, **files: str) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for name, text in {"a.py": "a\n", **files}.items():
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The person's private repository with a secret."""
    return repository(tmp_path / "other", **{"private.py": "PRIVATE\n", "ignored.log": "x\n"})


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory that came from elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "mine.py").write_text("mine\n")
    (here / "b.log").write_text("b\n")
    return here


def a_file(here: Path, other: Path) -> None:
    (here / ".git").write_text(f"gitdir: {other}/.git\n")


def a_relative_file(here: Path, other: Path) -> None:
    (here / ".git").write_text("gitdir: ../other/.git\n")


def a_link(here: Path, other: Path) -> None:
    (here / ".git").symlink_to(other / ".git")


def a_link_to_a_file(here: Path, other: Path) -> None:
    a_file(here, other)
    (here / ".git").rename(here / "pointer")
    (here / ".git").symlink_to("pointer")


def a_common_directory(here: Path, other: Path) -> None:
    (here / ".git").mkdir()
    (here / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (here / ".git/commondir").write_text("../../other/.git\n")


def a_made_up_worktree(here: Path, other: Path) -> None:
    """A directory that claims to be a worktree of another repository, and refers back."""
    a_common_directory(here, other)
    (here / ".git/gitdir").write_text(f"{here}/.git\n")


def alternates(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    (here / ".git/objects/info/alternates").write_text("../../../other/.git/objects\n")
    (here / ".git/refs/heads/main").write_text(git(other, "rev-parse", "HEAD"))


def quoted_alternates(here: Path, other: Path) -> None:
    alternates(here, other)
    (here / ".git/objects/info/alternates").write_text(f'"{other}/.git/objects"\n')


def far_alternates(here: Path, other: Path) -> None:
    alternates(here, other)
    git(here, "init", "-q", "between")
    (here / ".git/objects/info/alternates").write_text("../../between/.git/objects\n")
    (here / "between/.git/objects/info/alternates").write_text(f"{other}/.git/objects\n")


def linked(name: str) -> Arm:
    def arm(here: Path, other: Path) -> None:
        git(here, "init", "-q", "-b", "main")
        path = here / ".git" / name
        if path.is_dir():
            path.rename(here / ".git/before")
        path.unlink(missing_ok=True)
        path.symlink_to(other / ".git" / name)

    arm.__name__ = f"a link at {name}"
    return arm


def a_pack(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    git(other, "gc", "-q")
    for found in (other / ".git/objects/pack").iterdir():
        (here / ".git/objects/pack" / found.name).symlink_to(found)


def a_worktree_of_it(here: Path, other: Path) -> None:
    """The entry of a worktree that is somewhere else."""
    git(other, "worktree", "add", "-q", "--detach", str(other.parent / "worktree"))
    (here / ".git").write_text(f"gitdir: {other}/.git/worktrees/worktree\n")


def files_elsewhere(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    git(here, "config", "core.worktree", str(other))


def a_nul(here: Path, other: Path) -> None:
    """For git, the name ends before the NUL."""
    (here / "x").mkdir()
    (here / ".git").write_bytes(b"gitdir: " + os.fsencode(f"{other}/.git") + b"\0/../x\n")


def an_archive_with_a_worktree(here: Path, other: Path) -> None:
    """A worktree that refers back to a repository shipped with it that borrows objects."""
    main = repository(here.parent / "main")
    (here / "mine.py").rename(main / "mine.py")
    (here / "b.log").unlink()
    here.rmdir()
    git(main, "worktree", "add", "-q", "--detach", str(here))
    (main / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")


def a_single_object(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    commit = git(other, "rev-parse", "HEAD").strip()
    (here / ".git/objects" / commit[:2]).mkdir()
    (here / ".git/objects" / commit[:2] / commit[2:]).symlink_to(
        other / ".git/objects" / commit[:2] / commit[2:]
    )


def a_deep_branch(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    (here / ".git/refs/heads/some/where").mkdir(parents=True)
    (here / ".git/refs/heads/some/where/main").symlink_to(other / ".git/refs/heads/main")


FOREIGN: list[Arm] = [
    *(a_file, a_relative_file, a_link, a_link_to_a_file, a_common_directory, a_made_up_worktree),
    *(alternates, quoted_alternates, far_alternates, a_pack, a_worktree_of_it, files_elsewhere, a_nul),
    *map(linked, ("objects", "refs", "refs/heads", "index", "HEAD", "packed-refs")),
    *(an_archive_with_a_worktree, a_single_object, a_deep_branch),
]


@pytest.mark.parametrize("arm", FOREIGN)
@pytest.mark.attack
def test_a_part_that_belongs_to_another_project_is_refused(here: Path, other: Path, arm: Arm) -> None:
    arm(here, other)
    with pytest.raises(WorkspaceError) as refused:
        find_repository(here)
    assert str(other) not in str(refused.value)


async def tools(root: Path) -> str:
    told = []
    for name, arguments in (
        ("git_status", {}),
        ("git_log", {}),
        ("git_diff", {}),
        ("git_show", {"revision": "HEAD"}),
        ("git_show", {"revision": "HEAD", "path": "private.py"}),
        ("git_blame", {"path": "mine.py", "first": 1, "last": 1}),
        ("list_files", {}),
    ):
        told.append(await text_or_refusal(Project(root).call, name, **arguments))
    return "\n".join(told)


async def text_or_refusal(call: Any, *arguments: Any, **named: Any) -> str:
    try:
        return str(await call(*arguments, **named))
    except Exception as error:  # noqa: BLE001 a refusal is an answer, too
        return str(error)


async def mention(root: Path) -> str:
    return await text_or_refusal(ContextResolver(root).resolve, "@diff")


async def review(root: Path) -> str:
    return await text_or_refusal(find_target, Workspace(root), "HEAD", "")


async def names(root: Path) -> str:
    return " ".join([*await review_names(root), *await Workspace(root).list()])


async def ignored(root: Path) -> str:
    with IgnoreQuery(root) as question:
        found = question.answer()
    with IgnoredNames(root, root) as names:
        return f"{found.files} {'PRIVATE' if names.has('b.log', directory=False) else ''}"


@pytest.mark.parametrize("use", [tools, mention, review, names, ignored])
@pytest.mark.parametrize("arm", [a_file, a_link, a_common_directory, alternates])
@pytest.mark.attack
async def test_no_use_of_git_reads_it(here: Path, other: Path, arm: Arm, use: Any) -> None:
    (other / ".git/info/exclude").write_text("*.log\n")
    git(other, "tag", "PRIVATE-TAG")
    commit = git(other, "rev-parse", "HEAD").strip()
    arm(here, other)
    told = await use(here)
    assert "PRIVATE" not in told
    assert "private.py" not in told.replace("private.py is no file", "").replace("private.py:", "")
    assert commit not in told
    assert "first" not in told


def same(found: Any, top: Path) -> None:
    assert found.top == top
    shown = run_git(found, "rev-parse", "--show-toplevel", "HEAD", cwd=top)
    assert shown.status == 0, shown.said
    assert shown.out.decode().split("\n")[0] == str(top)


def test_a_plain_repository_and_a_folder_in_it_are_found(other: Path) -> None:
    (other / "sub/deep").mkdir(parents=True)
    same(find_repository(other), other)
    assert find_repository(other / "sub/deep") == find_repository(other)


@pytest.mark.parametrize("relative", [False, True])
def test_a_worktree_that_refers_back_counts(other: Path, tmp_path: Path, relative: bool) -> None:
    place = tmp_path / "worktree"
    git(other, "worktree", "add", "-q", "--detach", str(place))
    if relative:
        (other / ".git/worktrees/worktree/gitdir").write_text("../../../../worktree/.git\n")
        (place / ".git").write_text("gitdir: ../other/.git/worktrees/worktree\n")
    found = find_repository(place)
    same(found, place)
    assert (found.git_dir, found.common_dir) == (other / ".git/worktrees/worktree", other / ".git")


def test_a_worktree_of_a_bare_repository_counts(other: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(other), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "--detach", str(tmp_path / "worktree"))
    same(find_repository(tmp_path / "worktree"), tmp_path / "worktree")


def test_a_submodule_counts_and_its_worktree(other: Path, tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    git(top, "submodule", "--quiet", "add", str(other), "vendor/other")
    place = top / "vendor/other"
    assert (place / ".git").is_file()
    same(find_repository(place), place)
    git(place, "sparse-checkout", "set", "--no-cone", "/*")  # moves core.worktree to another file
    same(find_repository(place), place)
    git(place, "worktree", "add", "-q", "--detach", str(tmp_path / "worktree"))
    same(find_repository(tmp_path / "worktree"), tmp_path / "worktree")


def test_a_separate_directory_counts_once_it_refers_back(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"), "work")
    git(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "x")
    with pytest.raises(WorkspaceError, match=r"in that repository") as refused:
        find_repository(tmp_path / "work")
    assert "core.worktree DIRECTORY" in str(refused.value)
    git(tmp_path / "apart", "--git-dir=.", "config", "core.worktree", str(tmp_path / "work"))
    same(find_repository(tmp_path / "work"), tmp_path / "work")


def test_shared_hooks_are_no_part_of_another_project(other: Path, tmp_path: Path) -> None:
    (other / ".git/hooks").rename(tmp_path / "hooks")
    (other / ".git/hooks").symlink_to(tmp_path / "hooks")
    same(find_repository(other), other)


def test_alternates_within_the_project_count(other: Path) -> None:
    git(other, "clone", "-q", "--shared", str(other), str(other / "inner"))
    (other / ".git/objects/info/alternates").write_text(f"{other}/inner/.git/objects\n")
    same(find_repository(other), other)


def test_what_looks_like_a_repository_on_the_way_is_none(other: Path) -> None:
    git(other, "init", "-q", "--bare", "data/inner")
    (other / "data/inner/commondir").write_text("/etc")
    with pytest.raises(WorkspaceError, match="finds no repository"):
        find_repository(other / "data/inner")


def test_a_name_with_a_colon_above_is_no_end_of_the_ceiling(tmp_path: Path) -> None:
    """Ceilings are separated by colons."""
    outer = repository(tmp_path / "outer")
    inner = repository(outer / "a:b/inner")
    same(find_repository(inner), inner)
    (inner / ".git/refs").rename(inner / ".git/gone")
    assert run_git(find_repository(inner), "rev-parse", "HEAD", cwd=inner).status != 0


def test_an_included_configuration_leads_git_nowhere(here: Path, other: Path) -> None:
    git(here, "init", "-q")
    git(here, "commit", "-q", "--allow-empty", "-m", "x")
    (here / "more").write_text(f"[core]\n\tworktree = {other}\n")
    git(here, "config", "include.path", str(here / "more"))
    same(find_repository(here), here)


@pytest.mark.parametrize("name", ["commondir", "objects/info/alternates", "gitdir"])
def test_a_pipe_in_the_place_of_a_file_does_not_block(here: Path, name: str) -> None:
    git(here, "init", "-q")
    os.mkfifo(here / ".git" / name)
    with pytest.raises(WorkspaceError, match=r"finds no repository|is a pipe"):
        find_repository(here)


def test_a_link_is_seen_that_came_after_the_last_look(here: Path, other: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    folder = here / ".git/objects/ab"
    folder.mkdir()
    for place in (folder, *folder.parents):
        if place.is_relative_to(here / ".git"):
            os.utime(place, (1, 1))
    find_repository(here)
    (folder / ("c" * 38)).symlink_to(other / ".git/HEAD")
    with pytest.raises(WorkspaceError, match="linked to a file outside"):
        find_repository(here)


def test_shared_exclude_rules_are_no_part_of_another_project(other: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.log\n")
    (other / ".git/info/exclude").unlink()
    (other / ".git/info/exclude").symlink_to(tmp_path / "rules")
    same(find_repository(other), other)


@pytest.mark.parametrize("name", ["HEAD", "config", "index", "packed-refs", "shallow", "info/exclude"])
def test_a_pipe_in_a_repository_is_named(other: Path, name: str) -> None:
    (other / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(other / ".git" / name)
    with pytest.raises(WorkspaceError, match=f"/?{name} is a pipe|finds no repository"):
        find_repository(other)


READ = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"]


async def review_all(root: Path) -> str:
    target = await find_target(Workspace(root), "HEAD", "")
    return str(await git_difference(Workspace(root), root, target.id))


@pytest.mark.parametrize("use", [tools, mention, review_all, names, ignored])
@pytest.mark.parametrize("name", [*READ, "deep/er/.gitignore", "deep/er/.gitattributes"])
@pytest.mark.attack
async def test_a_pipe_that_git_opens_holds_nothing_up(
    other: Path, monkeypatch: pytest.MonkeyPatch, name: str, use: Any
) -> None:
    monkeypatch.setattr(program, "_SILENT", 0.02)
    monkeypatch.setattr(ignore_patterns, "_SILENT", 0.02)
    (other / name).parent.mkdir(parents=True, exist_ok=True)
    (other / "deep/er").mkdir(parents=True, exist_ok=True)
    (other / "deep/er/code.py").write_text("x\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "second")
    (other / "deep/er/code.py").write_text("y\n")
    os.mkfifo(other / name)
    async with asyncio.timeout(8):  # git itself waits for ever, and is ended after ten seconds
        try:
            await use(other)
        except WorkspaceError as error:
            assert name in str(error)


@pytest.mark.parametrize("name", READ)
async def test_a_directory_in_place_of_a_file_that_git_opens_is_none(other: Path, name: str) -> None:
    (other / name).mkdir()
    (other / name / "inner.py").write_text("x\n")
    assert "inner.py" in await review_all(other)
