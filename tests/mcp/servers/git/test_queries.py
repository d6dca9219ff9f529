"""Status, differences, history and branches, as git has them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.hidden_changes import HIDING, excluded
from tideate_core.git import saved_files
from tideate_core.mcp.servers.git import queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo


async def test_the_status_tells_staged_from_changed_and_unknown(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "staged\n")
    repo.git("add", "one.py")
    repo.write("one.py", "and changed\n")
    repo.git("mv", "two.py", "a b.py")
    repo.write("dir/new.py", "new\n")
    repo.write("x.log", "ignored\n")
    found = await call("git_status")
    all_ = await call("git_status", untracked="all")
    text = await call.text("git_status")
    assert found["branch"] == "main"
    assert found["commit"] == repo.head()
    assert found["hasChanges"]
    assert [
        (file["path"], file["staged"], file["unstaged"], file["original"]) for file in found["files"]
    ] == [
        ("a b.py", "R", "", "two.py"),
        ("one.py", "M", "M", None),
        ("dir/", "?", "?", None),
    ]
    assert [file["path"] for file in all_["files"]][-1] == "dir/new.py"
    assert datetime.fromisoformat(found["timestamp"]) > datetime.now(UTC) - timedelta(minutes=1)
    assert text == "on main\nR  two.py -> a b.py\nMM one.py\n?? dir/"


async def test_the_status_before_the_first_commit_and_with_an_upstream(empty: Repo, call: Caller) -> None:
    found = await call("git_status")
    assert (found["branch"], found["commit"], found["hasChanges"]) == ("main", None, False)
    empty.git("commit", "--quiet", "--allow-empty", "-m", "one")
    empty.git("branch", "base")
    empty.git("branch", "--quiet", "--set-upstream-to=base")
    empty.git("commit", "--quiet", "--allow-empty", "-m", "two")
    found = await call("git_status")
    assert (found["upstream"], found["ahead"], found["behind"]) == ("base", 1, 0)


async def test_a_long_status_comes_in_pages(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(queries, "FILES", 3)
    for number in range(7):
        repo.write(f"n{number}.py", "")
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await call("git_status", cursor=cursor)
        assert page["total"] == 7
        found += [file["path"] for file in page["files"]]
        cursor = page["nextCursor"]
    first = await call("git_status")
    repo.write("more.py", "")
    assert "changed since" in await call.refused("git_status", cursor=first["nextCursor"])
    assert "not a cursor" in await call.refused("git_status", cursor="../x")
    assert found == [f"n{number}.py" for number in range(7)]


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("hide", HIDING)
async def test_nothing_of_the_repository_hides_a_change(
    repo: Repo, hide: Callable[[Path], None], call: Caller
) -> None:
    repo.write("src/one.py", "a = 1\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "second")
    hide(repo.root)
    repo.write("src/one.py", "a = 3\n")
    os.utime(repo.root / "src/one.py", (1_000_000_000, 1_000_000_000))
    repo.write("new.txt", "new\n")
    repo.git("branch", "other")
    repo.git("config", "core.worktree", str(repo.root))
    found = await call("git_status")
    assert {(file["path"], file["unstaged"]) for file in found["files"]} == {
        ("src/one.py", "M"),
        ("new.txt", "?"),
    }
    for tool in ("git_diff", "git_diff_unstaged"):
        told = await call(tool)
        assert told["hasChanges"]
        assert "-a = 1\n+a = 3\n" in told["diff"]
    assert "1 files are changed" in await call.refused("git_checkout", branch_name="other")


async def test_files_that_are_not_compared_are_named(repo: Repo, call: Caller) -> None:
    repo.git("sparse-checkout", "set", "--no-cone", "/sub/")
    excluded(repo.root)
    (repo.root / ".git/info/exclude").write_text("hidden*\n")
    for number in range(101):
        repo.write(f"hidden{number}", "")
    found = await call("git_status")
    text = await call.text("git_diff")
    assert found["files"] == []
    assert [note.partition(" ")[0] for note in found["notes"]] == ["3", "101"]
    assert "[3 files are not compared: the sparse checkout leaves them out]" in text


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("git_diff", {"-value = 1", "+worktree"}),
        ("git_diff_unstaged", {"-staged", "+worktree"}),
        ("git_diff_staged", {"-value = 1", "+staged"}),
    ],
)
async def test_each_difference_has_its_two_sides(
    repo: Repo, tool: str, expected: set[str], call: Caller
) -> None:
    for name in ("one.py", "two.py"):
        repo.write(name, f"# {name}\nstaged\n")
        repo.git("add", name)
        repo.write(name, f"# {name}\nworktree\n")
    both = await call(tool)
    one = await call(tool, paths=["one.py"], context_lines=0)
    assert both["diff"].count("diff --git") == 2
    assert {line for line in one["diff"].splitlines()[5:] if line[0] in "+-"} == expected
    assert one["diff"].splitlines()[0] == "diff --git a/one.py b/one.py"
    assert " # one.py" not in one["diff"].splitlines()


async def test_of_an_announced_file_only_the_name_is_staged(repo: Repo, call: Caller) -> None:
    for name in ("empty.py", "new.py", "gone.py", "dir/ä b.py", "flagged.py"):
        repo.write(name, "" if name == "empty.py" else "text\n")
    repo.git("add", "empty.py")
    repo.git("add", "--intent-to-add", ".")
    repo.git("update-index", "--assume-unchanged", "flagged.py")
    (repo.root / "gone.py").unlink()
    found = await call("git_status")
    staged = await call("git_diff_staged")
    unstaged = await call("git_diff_unstaged")
    names = ("dir/ä b.py", "flagged.py", "new.py")
    assert {(file["path"], file["staged"], file["unstaged"]) for file in found["files"]} == {
        ("empty.py", "A", ""),
        *((name, "", "A") for name in names),
    }
    assert re.findall(r"^diff --git a/(.*) b/", staged["diff"], re.MULTILINE) == ["empty.py"]
    assert re.findall(r"^diff --git a/(.*) b/", unstaged["diff"], re.MULTILINE) == [*names]
    assert unstaged["diff"].count("new file mode") == len(names)


@pytest.mark.parametrize(
    ("compared", "read"),
    [
        ((".",), ["one.py", "sub/three.py", "two.py"]),
        ((), []),
        (("sub", "nosuch"), ["sub/three.py"]),
        (("two.py", "new.py"), ["two.py"]),
    ],
)
async def test_only_files_that_are_asked_for_are_read(
    repo: Repo, compared: tuple[str, ...], read: list[str]
) -> None:
    (repo.root / ".gitignore").unlink()
    repo.write("new.py", "not known\n")
    async with saved_files(repo.root, repo.head()) as empty:
        saved = await empty.as_staged(repo.head(), compared)
        listed, _ = await saved.ask("ls-files", "--debug")
    sizes = re.findall(r"^(\S+)\n(?:  .*\n)*?  size: (\d+)", listed.decode(), re.MULTILINE)
    assert [name for name, size in sizes if size != "0"] == read


async def test_the_difference_to_another_commit(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "second\n")
    repo.git("commit", "--quiet", "-am", "second")
    assert not (await call("git_diff"))["hasChanges"]
    assert "+second" in (await call("git_diff", target="HEAD~1"))["diff"]


async def test_the_difference_before_the_first_commit(empty: Repo, call: Caller) -> None:
    empty.write("a.py", "a\n")
    empty.git("add", "a.py")
    for tool in ("git_diff", "git_diff_staged"):
        assert "+a" in (await call(tool))["diff"]
    assert (await call("git_log"))["commits"] == []
    assert "no commit 'HEAD'" in await call.refused("git_show")


async def test_the_persons_settings_do_not_change_the_form(repo: Repo, call: Caller) -> None:
    settings = {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "color.ui": "always",
        "diff.context": "0",
        "log.showSignature": "true",
        "format.pretty": "oneline",
        "log.decorate": "full",
        "diff.relative": "true",
        "status.short": "true",
        "log.follow": "true",
        "core.quotePath": "true",
        "log.date": "relative",
        "diff.submodule": "log",
        "log.abbrevCommit": "true",
        "diff.orderFile": "/nowhere",
        "core.pager": "false",
        "log.showRoot": "false",
        "diff.colorMoved": "zebra",
    }
    repo.write("ä.py", "ä\n")
    repo.git("add", "ä.py")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("git_diff", {}),
        ("git_log", {}),
        ("git_show", {}),
        ("git_branch", {}),
    ]
    before = [await call(tool, **arguments) for tool, arguments in calls]
    for key, value in settings.items():
        repo.git("config", "--global", key, value)
    after = [await call(tool, **arguments) for tool, arguments in calls]
    for answer in (*before, *after):
        answer.pop("timestamp", None)
    assert after == before
    assert "a/ä.py" in before[0]["diff"]


async def test_the_log_has_all_of_a_commit_and_comes_in_pages(repo: Repo, call: Caller) -> None:
    for number in range(5):
        repo.git("commit", "--quiet", "--allow-empty", "-m", f"commit {number}\n\nbody ä {number}")
    first = await call("git_log", max_count=2)
    repo.git("commit", "--quiet", "--allow-empty", "-m", "meanwhile")
    second = await call("git_log", max_count=2, cursor=first["nextCursor"])
    last = await call("git_log", max_count=2, cursor=second["nextCursor"])
    rest = await call("git_log", max_count=10, skip=5)
    newest = first["commits"][0]
    assert newest["message"] == "commit 4\n\nbody ä 4"
    assert (newest["author"], newest["email"]) == ("Ada", "ada@example.invalid")
    assert newest["parents"] == [first["commits"][1]["commitHash"]]
    subjects = [one["message"].split("\n")[0] for page in (first, second, last) for one in page["commits"]]
    assert subjects == [*(f"commit {number}" for number in (4, 3, 2, 1, 0)), "first"]
    assert last["nextCursor"] is None
    assert [one["message"].split("\n")[0] for one in rest["commits"]] == ["commit 0", "first"]


@pytest.mark.slow
async def test_the_log_of_a_time_a_path_and_a_branch(repo: Repo, call: Caller) -> None:
    for day in ("2020-01-01", "2021-01-01", "2022-01-01"):
        repo.write("two.py", day)
        repo.git("add", ".")
        env = f"GIT_COMMITTER_DATE={day}T12:00:00Z"
        repo.git("-c", f"alias.at=!{env} git commit --quiet -m {day}", "at")
    repo.git("branch", "side", "HEAD~1")

    def subjects(found: dict[str, Any]) -> list[str]:
        return [one["message"] for one in found["commits"]]

    assert subjects(await call("git_log", until="2021-06-01"))[:2] == ["2021-01-01", "2020-01-01"]
    assert subjects(await call("git_log", since="2021-06-01T00:00:00+02:00")) == ["2022-01-01"]
    assert subjects(await call("git_log", since="3 days ago")) == []
    assert subjects(await call("git_log", path="one.py")) == ["first"]
    assert subjects(await call("git_log", revision="side", max_count=1)) == ["2021-01-01"]
    for word in ("soon", "2021-13-01", "--all", "1 fortnight ago"):
        assert "is not a time" in await call.refused("git_log", since=word)


async def test_a_commit_is_shown_with_its_changes(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    repo.write("two.py", "changed\n")
    repo.git("commit", "--quiet", "-am", "second\n\nbody")
    repo.git("tag", "-a", "v1", "-m", "a tag")
    for name in ("HEAD", "v1", "main", repo.head(), repo.head()[:8], "main~0", "@"):
        shown = await call("git_show", revision=name)
        assert shown["commitHash"] == repo.head()
        assert shown["message"] == "second\n\nbody"
        assert shown["diff"].count("diff --git") == 2
    assert (await call("git_show", paths=["two.py"]))["diff"].count("diff --git") == 1
    assert "+# one.py" in (await call("git_show", revision="HEAD~1"))["diff"]


async def test_a_merge_is_shown_against_its_first_parent(repo: Repo, call: Caller) -> None:
    repo.git("switch", "--quiet", "-c", "side")
    repo.write("side.py", "side\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "side")
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "-m", "merged", "side")
    shown = await call("git_show")
    assert len(shown["parents"]) == 2
    assert "+side" in shown["diff"]


async def test_branches_are_listed_by_kind_and_by_what_they_contain(repo: Repo, call: Caller) -> None:
    first = repo.head()
    repo.git("branch", "old")
    repo.git("commit", "--quiet", "--allow-empty", "-m", "second")
    repo.git("update-ref", "refs/remotes/origin/main", first)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")

    def names(found: dict[str, Any]) -> list[str]:
        return [one["name"] for one in found["branches"]]

    local = await call("git_branch")
    assert names(local) == ["main", "old"]
    assert [one["current"] for one in local["branches"]] == [True, False]
    assert names(await call("git_branch", branch_type="remote")) == ["origin/main"]
    assert names(await call("git_branch", branch_type="all")) == ["main", "old", "origin/main"]
    assert names(await call("git_branch", contains="HEAD")) == ["main"]
    assert names(await call("git_branch", not_contains="HEAD", branch_type="all")) == [
        "old",
        "origin/main",
    ]


async def test_every_tool_says_what_it_does_and_has_a_schema(repo: Repo, call: Caller) -> None:
    tools = (await call.client.list_tools()).tools
    assert len(tools) == 12
    for tool in tools:
        assert tool.output_schema
        assert tool.annotations
        reads = (
            tool.name.startswith(("git_status", "git_diff", "git_log", "git_show"))
            or tool.name == "git_branch"
        )
        assert tool.annotations.read_only_hint is reads
        assert tool.annotations.open_world_hint is False
        assert "repo_path" in tool.input_schema["properties"]
        assert "repo_path" not in tool.input_schema.get("required", [])


async def test_without_git_that_is_said(repo: Repo, monkeypatch: pytest.MonkeyPatch, call: Caller) -> None:
    monkeypatch.setenv("PATH", str(repo.home))
    assert "git is not installed" in await call.refused("git_status")
