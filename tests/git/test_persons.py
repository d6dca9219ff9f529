"""git with the person's settings: directories with odd names, and the reasons in git's words."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from tests.harness.project import git, use_home
from tideate_core.git import persons_git, run_git, without_repository, words_of

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
HINT = "hint: Support for <GIT_DIR>/info/grafts is deprecated\n" * 20


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path / "home", monkeypatch)
    return tmp_path


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAMES)
@example(name="a:b")
@example(name='"quoted"')
@example(name="one\ntwo\\n")
@example(name="#t\ta\r\x1b:é")
async def test_objects_are_borrowed_from_directories_with_any_name(home: Path, name: str) -> None:
    if name in (".", "..") or len(name.encode()) > 200:
        return
    root = home / name / "project"
    if not root.exists():
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        git(root, "commit", "-q", "--allow-empty", "-m", "first")
    commit = git(root, "rev-parse", "HEAD").strip()
    opened = await persons_git(root, home / name / "state" / "private.git")
    borrowing = replace(opened, objects=opened.project.common_dir / "objects")
    assert b"first" in await borrowing.ask("cat-file", "-p", commit)


def test_the_reason_comes_before_what_git_says_besides() -> None:
    said = f"{HINT}warning: {'w' * 700}\nerror: failed to push some refs to 'x'\nfatal: no space left"
    words = words_of(said)
    assert words.startswith("fatal: no space left; warning: w")
    assert "hint:" not in words
    assert words_of("remote: not today\nerror: failed to push some refs to 'x'").startswith("not today; ")


def test_git_gives_no_hint_about_graft_files(home: Path) -> None:
    git(home, "init", "-q", "-b", "main", "one")
    git(home / "one", "commit", "-q", "--allow-empty", "-m", "first")
    place = without_repository(home)
    done = run_git(
        place, "log", "--oneline", cwd=home / "one", variables={"GIT_DIR": str(home / "one" / ".git")}
    )
    assert (done.status, done.said) == (0, "")


async def test_processes_that_need_the_repository_at_once_get_one_whole(home: Path) -> None:
    root, place = home / "project", home / "state" / "private.git"
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q")
    place.mkdir(parents=True)  # left by a creation that was interrupted
    (place / "HEAD").write_text("")
    opened = await asyncio.gather(*(persons_git(root, place) for _ in range(4)))
    asked = [await one.run("rev-parse", "--is-bare-repository") for one in opened]
    assert [one.out for one in asked] == [b"true\n"] * 4
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]
