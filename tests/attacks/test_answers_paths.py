"""A model's answer names paths outside the project, in git, or of something other than a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.agents.file_plan import parse_plan
from tideate_core.edits.resolve import resolve_files
from tideate_core.errors import InvalidInput, TideateError, UnusableAnswer, WorkspaceError
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.attack

NEVER = [
    *(
        "../outside/x",
        "a/../../outside/x",
        "a/./../../outside/x",
        "..",
        "a/..",
        ".",
        "/",
        "",
        "./",
        "a/../..",
    ),
    *(
        "/etc/tideate-attack",
        "//etc/tideate-attack",
        "{outside}/x",
        "{outside}/secret.txt",
        "{root}/../outside/x",
    ),
    *("~/x", "~root/x", "file:///etc/x", "https://example.invalid/x", "..\\outside\\x", "C:\\x", "a\\b"),
    *(
        "a\0b",
        "a\nb",
        "a\rb",
        "a\x1b[2Kb",
        "a\tb",
        "a\u202eb",
        "a\u200bb",
        "a\u2066b",
        "a\ufeffb",
        "a\u2028b",
    ),
    *("a\u00a0b", "a\x7fb", "a\x85b", "a\ud800b", " a", "a ", "a/ b", "a.", "a/b../c", "-rf", "a/--exec=x"),
    *(".git/hooks/pre-commit", ".git/config", ".git", "sub/.git/config", "sub/.git", "a/../.git/config"),
    *(
        ".GIT/hooks/pre-commit",
        ".Git/config",
        ".git./config",
        ".git /config",
        ".g\u200cit/config",
        "GIT~1/config",
    ),
    *(".git::$INDEX_ALLOCATION/config", "\uff0egit/config", ".gi\u0074\u00ad/config", "{root}/.git/config"),
    *(
        ".tideate/config.toml",
        ".tideate/workflows/x.yaml",
        ".tideate/agents/x.md",
        ".TIDEATE/x",
        "a/.tideate/x",
    ),
    *("TIDEAT~1/config.toml", ".tideate./config.toml", ".tideate/journal/x", ".tideate/snapshots/journal/x"),
    *(
        "x" * 256,
        "é" * 128,
        "a/" * 5000 + "x",
        "a/" + "x" * 100_000,
    ),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (".git/hooks", ".tideate", "sub/.git", "src"):
        (root / name).mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "src" / "a.py").write_text("a = 1\n")
    (root / "b.py").write_text("b = 1\n")
    bare = root / "bare.git"
    for name in ("objects", "refs", "hooks"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("a = 1\n")
    return root


@pytest.fixture
def workspace(root: Path, tmp_path: Path) -> Workspace:
    return Workspace(root, private=tmp_path / "private")


def picture(place: Path) -> dict[str, tuple[int, str, bytes]]:
    """Return mode, link and bytes of everything below a directory, except the journal."""
    found: dict[str, tuple[int, str, bytes]] = {}
    for path in place.rglob("*"):
        if path.relative_to(place).parts[0] == "private":
            continue
        link = str(path.readlink()) if path.is_symlink() else ""
        data = path.read_bytes() if not link and path.is_file() else b""
        found[str(path)] = (path.lstat().st_mode, link, data)
    return found


def filled(path: str, root: Path) -> str:
    return path.replace("{root}", str(root)).replace("{outside}", str(root.parent / "outside"))


async def refused(workspace: Workspace, *changes: FileChange, within: float = 60) -> str:
    """Return why changes are rejected; assert that nothing was written."""
    assert workspace.root is not None
    before = picture(workspace.root.parent)
    with pytest.raises(WorkspaceError) as caught:
        await asyncio.wait_for(workspace.apply(changes, execution_id="run"), within)
    assert picture(workspace.root.parent) == before
    assert len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize("path", NEVER, ids=lambda path: ascii(path[:30]))
async def test_a_path_is_refused_wherever_it_comes_in(path: str, workspace: Workspace, root: Path) -> None:
    name = filled(path, root)
    await refused(workspace, FileChange(name, "create", None, "x"))
    await refused(workspace, FileChange("src/a.py", "move", "a = 1", "a = 1", move_to=name))
    await refused(workspace, FileChange(name, "delete", "a = 1", None))
    with pytest.raises(InvalidInput):
        parse_plan({"files": [{"action": "create", "path": name}]}, workspace)
    move = {"action": "move", "path": "src/a.py", "move_to": name}
    with pytest.raises(InvalidInput):
        parse_plan({"files": [move]}, workspace)


ANSWERS = {
    "diff": "```diff\n--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+x\n```",
    "git": (
        "```diff\ndiff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n"
        "@@ -0,0 +1 @@\n+x\n```"
    ),
    "patch": "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch",
    "move": "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: {}\n@@\n-a = 1\n+a = 2\n*** End Patch",
    "rename": "```diff\ndiff --git a/src/a.py b/{0}\nrename from src/a.py\nrename to {0}\n```",
    "blocks": "{}\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE",
    "whole": "{}\n```\nx\n```",
}
IN_ANSWERS = [
    "../outside/x",
    "/etc/x",
    "~/x",
    ".git/config",
    "a\u202eb.py",
    "a\x1b[2Kb.py",
    "-rf/x.py",
    "a\\b.py",
]


@pytest.mark.parametrize("form", ANSWERS)
@pytest.mark.parametrize("path", IN_ANSWERS, ids=ascii)
async def test_no_form_of_an_answer_brings_a_path_through(
    form: str, path: str, workspace: Workspace, root: Path
) -> None:
    before = picture(root.parent)
    texts = {"src/a.py": "a = 1"}
    try:
        changes = resolve_files(ANSWERS[form].format(path), texts.get).changes
        await workspace.apply(changes, execution_id="run")
    except TideateError:
        assert picture(root.parent) == before
    else:  # it was read as another path, within the project
        assert not any(name in change.path for change in changes for name in ("..", "~", ".git", "\x1b"))
        after = picture(root.parent)
        assert {name for name in after if after[name] != before.get(name)} <= {
            str(root / part) for change in changes for part in _lineage(change.move_to or change.path)
        }


def _lineage(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


# -- links and what is no file --------------------------------------------------------------------------


PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "link outside": ("notes", {"notes": "{outside}/secret.txt"}),
    "link to nothing outside": ("notes", {"notes": "{outside}/new"}),
    "linked directory": ("docs/secret.txt", {"docs": "{outside}"}),
    "chain of links": ("one/secret.txt", {"one": "two", "two": "src/../../outside"}),
    "circle of links": ("one", {"one": "two", "two": "one"}),
    "link to a hook": ("notes", {"notes": ".git/hooks/pre-commit"}),
    "link into git": ("docs/config", {"docs": ".git"}),
    "link to proc": ("docs/environ", {"docs": "/proc/self"}),
    "link to a device": ("notes", {"notes": "/dev/zero"}),
    "link to a pipe": ("notes", {"notes": "pipe"}),
    "pipe": ("pipe", {}),
    "socket": ("door", {}),
    "directory": ("src", {}),
    "below a file": ("src/a.py/b", {}),
}
"""A path, and the links with their targets."""


def linked(root: Path, place: str) -> str:
    """Create the links of a place; return its path."""
    name, links = PLACES[place]
    for link, target in links.items():
        (root / link).symlink_to(filled(target, root))
    return name


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_no_file_of_the_project_is_neither_read_nor_written(
    place: str, workspace: Workspace, root: Path
) -> None:
    os.mkfifo(root / "pipe")
    with contextlib.chdir(root), socket.socket(socket.AF_UNIX) as door:  # its whole path is too long for one
        door.bind("door")
    name = linked(root, place)
    with pytest.raises(WorkspaceError):
        await asyncio.wait_for(workspace.read(name), 60)
    await refused(workspace, FileChange(name, "modify", "a = 1", "x"))
    await refused(workspace, FileChange(name, "create", None, "x"))
    await refused(workspace, FileChange("b.py", "move", "b = 1", "b = 1", move_to=name))


@pytest.mark.parametrize("target", [".git/config", "../outside/secret.txt"])
async def test_a_hard_link_is_taken_off_and_not_written_through(
    target: str, workspace: Workspace, root: Path
) -> None:
    (root / "notes").hardlink_to(root / target)
    before = (root / target).read_text()
    change = FileChange("notes", "modify", before.removesuffix("\n"), "x")
    await workspace.apply([change], execution_id="run")
    assert (root / target).read_text() == before
    assert (root / "notes").read_text() == "x\n"


@pytest.mark.parametrize("name", ["config", "hooks/post-update", "objects/x", "HEAD", "a.txt"])
async def test_a_repository_under_another_name_is_not_written(name: str, workspace: Workspace) -> None:
    await refused(workspace, FileChange(f"bare.git/{name}", "create", None, "x"))
    await refused(workspace, FileChange("src/a.py", "move", "a = 1", "a = 1", move_to=f"bare.git/{name}"))


async def test_a_configuration_of_a_repository_is_not_changed(workspace: Workspace, root: Path) -> None:
    (root / "bare.git" / "config").write_text("[core]\n")
    await refused(workspace, FileChange("bare.git/config", "modify", "[core]", "[core]\nfsmonitor = ./x"))


async def test_a_link_is_deleted_and_not_what_it_leads_to(workspace: Workspace, root: Path) -> None:
    name = linked(root, "link outside")
    await workspace.apply([FileChange(name, "delete", None, None)], execution_id="run")
    assert not (root / name).is_symlink()
    assert (root.parent / "outside" / "secret.txt").read_text() == "a = 1\n"


async def test_a_link_is_not_moved(workspace: Workspace, root: Path) -> None:
    name = linked(root, "link outside")
    await refused(workspace, FileChange(name, "move", None, None, move_to="here"))


# -- sets of changes that cannot go together -------------------------------------------------------------

GOOD = FileChange("new/good.py", "create", None, "x = 1")


def both(*changes: tuple[Any, ...]) -> list[FileChange]:
    return [GOOD, *(FileChange(*change) for change in changes)]


TOGETHER = {
    "a file and a file below it": both(("b", "create", None, "x"), ("b/c", "create", None, "x")),
    "a file below it and a file": both(("b/c", "create", None, "x"), ("b", "create", None, "x")),
    "edited and deleted": both(("src/a.py", "modify", "a = 1", "x"), ("src/a.py", "delete", "a = 1", None)),
    "edited by another name": both(
        ("src/a.py", "modify", "a = 1", "x"), ("src/../src/a.py", "modify", "a = 1", "y")
    ),
    "moved to itself": both(("src/a.py", "move", "a = 1", "a = 1", "src/./a.py")),
    "moved to nowhere": both(("src/a.py", "move", "a = 1", "a = 1")),
    "a directory is deleted": both(("src", "delete", None, None)),
    "the project is deleted": both((".", "delete", None, None)),
    "git is deleted": both((".git", "delete", None, None)),
    "one of many is outside": both(
        *((f"f{n}", "create", None, "x") for n in range(200)), ("../x", "create", None, "x")
    ),
    "one of many is a name too long": both(("deep/er/" + "x" * 256, "create", None, "x")),
    "another text than there is": both(("src/a.py", "modify", "something else", "x")),
    "delete of another text": both(("src/a.py", "delete", "something else", None)),
    "a repository is made": both(*((f"r/{n}", "create", None, "x") for n in ("HEAD", "objects/x", "refs/x"))),
    "a repository is moved together": both(
        ("r/objects/x", "create", None, "x"),
        ("r/refs/x", "create", None, "x"),
        ("src/a.py", "move", "a = 1", "a = 1", "r/HEAD"),
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
async def test_one_wrong_change_and_none_is_made(case: str, workspace: Workspace) -> None:
    await refused(workspace, *TOGETHER[case])


@pytest.mark.parametrize("target", ["src/a.py/b", "src"])
async def test_a_move_that_makes_its_own_room_comes_back(
    target: str, workspace: Workspace, root: Path
) -> None:
    """A file becomes a directory, or the reverse, and nothing else is in the way."""
    before = picture(root)
    change = FileChange("src/a.py", "move", "a = 1", "a = 1", move_to=target)
    await workspace.apply([change], execution_id="run")
    assert (root / target).read_text() == "a = 1\n"
    await workspace.rollback("run")
    assert picture(root) == before


async def test_everything_may_be_deleted_and_comes_back(workspace: Workspace, root: Path) -> None:
    before = picture(root)
    await workspace.apply([FileChange("src/a.py", "delete", "a = 1", None)], execution_id="run")
    await workspace.rollback("run")
    assert picture(root) == before


async def test_permissions_stay_whatever_the_answer_says(workspace: Workspace, root: Path) -> None:
    (root / "src" / "a.py").chmod(0o640)
    modes = "diff --git a/src/a.py b/src/a.py\nold mode 100644\nnew mode 100755"
    diff = f"```diff\n{modes}\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n```"
    changes = resolve_files(diff, {"src/a.py": "a = 1"}.get).changes
    await workspace.apply(changes, execution_id="run")
    assert (root / "src" / "a.py").stat().st_mode & 0o7777 == 0o640


NO_TEXT = {
    "a link": "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd",
    "a submodule": "new file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject commit 0123",
    "a file becomes a link": "old mode 100644\nnew mode 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+/etc",
    "set user id": "new file mode 104755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x",
    "an index of a link": "index 0123..4567 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+/etc/passwd",
    "a binary patch": "new file mode 100644\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZ",
    "binary files": "index 0..1 100644\nBinary files a/x and b/x differ",
    "a link is deleted": "deleted file mode 120000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a",
}


@pytest.mark.parametrize("case", NO_TEXT)
def test_a_diff_of_what_is_no_text_is_refused(case: str) -> None:
    answer = f"```diff\ndiff --git a/x b/x\n{NO_TEXT[case]}\n```"
    with pytest.raises(UnusableAnswer, match=r"mode|no text"):
        resolve_files(answer, {"x": "a"}.get)
