"""Differences from a commit are found by content, regardless of the repository's settings."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.builtin.review.git_changes import MOST_HIDDEN, git_difference
from tideate_core.errors import WorkspaceError
from tideate_core.git import find_commit, program
from tideate_core.workspace import Difference, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    Trick = Callable[[Path, random.Random, list[str]], object]

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

NAMES = ["a.py", "b.txt", "sub/c.py", "sub/d", "é.md", "sub/deep/with space.c", "-x", "x=y;z", "Case.TXT"]
"""Names in the generated repositories."""


def save(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def commit(root: Path, message: str = "x") -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD").strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "home").mkdir()
    git(root, "init", "-q")
    return root


async def difference(root: Path, commit: str = "HEAD", path: str = "") -> Difference:
    return await git_difference(Workspace(root), root, await find_commit(root, commit), path)


def told(found: Difference) -> set[str]:
    """Return every path that the user is told about."""
    return {*found.files, *found.modes, *found.left}


def assume(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "update-index", "--assume-unchanged", "--", *names)


def skip(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "update-index", "--skip-worktree", "--", *names)


def exclude(root: Path, _: random.Random, names: list[str]) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("*\n")


def excludes_file(root: Path, _: random.Random, names: list[str]) -> None:
    (root / ".git/rules").write_text("*\n")
    git(root, "config", "core.excludesFile", str(root / ".git/rules"))


def attributes(line: str) -> Trick:
    def trick(root: Path, _: random.Random, names: list[str]) -> None:
        (root / ".git/info").mkdir(exist_ok=True)
        with (root / ".git/info/attributes").open("a") as file:
            file.write(f"* {line}\n")

    return trick


def attributes_file(root: Path, _: random.Random, names: list[str]) -> None:
    (root / ".git/more").write_text("* text=auto ident\n")
    git(root, "config", "core.attributesFile", str(root / ".git/more"))


def setting(key: str, value: str) -> Trick:
    return lambda root, _, names: git(root, "config", key, value)


def refreshed(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "config", "core.ignoreStat", "true")
    git(root, "update-index", "-q", "--really-refresh", "--", *names)


def sparse(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "config", "core.sparseCheckout", "true")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/sparse-checkout").write_text("/nothing\n")
    git(root, "update-index", "--skip-worktree", "--", *names)


def split(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "update-index", "--split-index")


def monitored(root: Path, _: random.Random, names: list[str]) -> None:
    hook = root / ".git/monitor"
    hook.write_text("#!/bin/sh\nprintf 'token\\0'\n")
    hook.chmod(0o755)
    git(root, "config", "core.fsmonitorHookVersion", "2")
    git(root, "config", "core.fsmonitor", str(hook))
    git(root, "update-index", "--fsmonitor")


def replaced(kind: str) -> Trick:
    """Replace an object of the last commit by one made of the current files."""

    def trick(root: Path, _: random.Random, names: list[str]) -> None:
        index = {**os.environ, "GIT_INDEX_FILE": str(root / ".git/other")}
        told = "git add -A . && git write-tree"
        tree = subprocess.run(
            ["sh", "-c", told], cwd=root, env=index, check=True, capture_output=True, text=True
        ).stdout.strip()
        new = {
            "commit": lambda: git(root, "commit-tree", tree, "-m", "x").strip(),
            "tree": lambda: tree,
            "blob": lambda: git(root, "rev-parse", f"{tree}:{names[0]}").strip(),
        }[kind]()
        old = {"commit": "HEAD", "tree": "HEAD^{tree}", "blob": f"HEAD:{names[0]}"}[kind]
        if git(root, "rev-parse", old).strip() != new:
            git(root, "replace", "-f", git(root, "rev-parse", old).strip(), new)

    return trick


def restamped(root: Path, _: random.Random, names: list[str]) -> None:
    git(root, "config", "core.trustctime", "false")
    git(root, "config", "core.checkStat", "minimal")


TRICKS: dict[str, Trick] = {
    "assume": assume,
    "skip": skip,
    "exclude": exclude,
    "excludes file": excludes_file,
    "refreshed": refreshed,
    "sparse": sparse,
    "split": split,
    "monitored": monitored,
    "restamped": restamped,
    "attributes file": attributes_file,
    **{f"replaced {kind}": replaced(kind) for kind in ("blob", "tree", "commit")},
    **{
        line: attributes(line)
        for line in ("text=auto", "ident", "filter=evil", "binary -diff", "text eol=crlf")
    },
    "core.fileMode": setting("core.fileMode", "false"),
    "core.ignoreCase": setting("core.ignoreCase", "true"),
    "core.symlinks": setting("core.symlinks", "false"),
    "core.autocrlf": setting("core.autocrlf", "true"),
    "core.eol": setting("core.eol", "crlf"),
    "filter.evil.clean": setting("filter.evil.clean", "git show HEAD:%f"),
    "core.untrackedCache": setting("core.untrackedCache", "true"),
    "status.showUntrackedFiles": setting("status.showUntrackedFiles", "no"),
    "diff.ignoreSubmodules": setting("diff.ignoreSubmodules", "all"),
    "core.bigFileThreshold": setting("core.bigFileThreshold", "1"),
}


def content(dice: random.Random) -> bytes:
    lines = [dice.choice([b"a", b"b", b"$Id$", b"\0", b"x = 1", b"\xff"]) for _ in range(dice.randrange(4))]
    end = dice.choice([b"\n", b"\n", b"\r\n"])
    return end.join(lines) + dice.choice([b"", end])


def on_disk(root: Path) -> dict[str, tuple[str, bytes, bool]]:
    """Return kind, bytes and executable bit of every file."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder, name) for name in [*names, *folders]):
            if path.is_symlink():
                entry = "link", os.fsencode(os.readlink(path)), False  # noqa: PTH115
            elif path.is_file():
                entry = "file", path.read_bytes(), bool(path.stat().st_mode & 0o100)
            else:
                continue
            found[path.relative_to(root).as_posix()] = entry
    return found


def change(root: Path, name: str, dice: random.Random) -> None:
    path = root / name
    kind = dice.choice(["write", "write", "same size", "ends", "delete", "mode", "link", "ident", "nothing"])
    stamp = path.lstat() if path.is_symlink() or path.exists() else None
    if kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "link":
        path.unlink(missing_ok=True)
        path.symlink_to(dice.choice(["a.py", "nowhere"]))
    elif path.is_symlink() or not path.exists():
        return
    elif kind == "write":
        path.write_bytes(content(dice))
    elif kind == "same size":
        path.write_bytes(bytes(byte ^ 1 if byte not in b"\r\n" else byte for byte in path.read_bytes()))
    elif kind == "ends":
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    elif kind == "ident":
        path.write_bytes(path.read_bytes().replace(b"$Id$", b"$Id: evil $"))
    elif kind == "mode":
        path.chmod(path.stat().st_mode ^ 0o111)
    if stamp is not None and path.exists() and not path.is_symlink() and dice.random() < 0.5:
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(40))
async def test_nothing_that_differs_is_hidden_and_nothing_else_is_told(root: Path, seed: int) -> None:
    dice = random.Random(seed)
    tracked = dice.sample(NAMES, dice.randint(2, len(NAMES)))
    save(root, {name: content(dice) for name in tracked} | {".gitignore": b"*.log\n/out/\n"})
    if dice.random() < 0.5:
        (root / tracked[0]).chmod(0o755)
    commit(root)
    before = on_disk(root)
    some = dice.sample(tracked, dice.randint(1, len(tracked)))
    tricks = dice.sample(sorted(TRICKS), dice.randint(1, 5))
    early = {"core.fileMode", "core.autocrlf", "monitored", "restamped", "split"}
    for trick in tricks:
        if trick in early:
            TRICKS[trick](root, dice, some)
    for name in some:
        change(root, name, dice)
    made = {"new.py": b"evil\n", "sub/new/x": b"", "a.log": b"ignored", "out/x": b"ignored", "CASE.txt": b"x"}
    save(root, {name: made[name] for name in dice.sample(sorted(made), dice.randint(0, len(made)))})
    for trick in tricks:
        if trick not in early:
            with suppress(subprocess.CalledProcessError):  # of what is gone git replaces nothing
                TRICKS[trick](root, dice, some)
    now = on_disk(root)
    ignored = {"a.log", "out/x"} - before.keys()
    differing = {name for name in {*before, *now} - ignored if before.get(name) != now.get(name)}
    found = await difference(root)
    assert told(found) == differing, tricks
    for name, (then, after) in found.files.items():
        assert after.data == (now[name][1] if name in now else b"")
        if name in before:
            assert then.data == before[name][1]


async def test_a_forged_object_is_not_believed(root: Path) -> None:
    save(root, {"a.py": b"good\n", "sub/b.py": b"b\n"})
    commit(root)
    save(root, {"a.py": b"evil\n"})

    def forge(what: str, kind: str, data: bytes) -> None:
        one = git(root, "rev-parse", what).strip()
        path = root / ".git/objects" / one[:2] / one[2:]
        path.chmod(0o644)
        path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))

    forge("HEAD:a.py", "blob", b"evil\n")
    assert git(root, "cat-file", "blob", "HEAD:a.py") == "evil\n"
    found = await difference(root)
    assert found.left == {"a.py": "git cannot read the committed version, or the file is too large"}
    forge("HEAD:sub", "tree", b"")
    with pytest.raises(WorkspaceError, match="missing or damaged"):
        await difference(root)


async def test_files_that_a_sparse_checkout_leaves_out_are_named_and_not_deleted(root: Path) -> None:
    save(root, {"a/a.py": b"a\n", "b/b.py": b"b\n", "b/c.py": b"c\n"})
    commit(root)
    git(root, "sparse-checkout", "set", "a")
    assert not (root / "b").exists()
    save(root, {"b/c.py": b"evil\n"})
    (root / "a/a.py").unlink()
    found = await difference(root)
    assert sorted(found.files) == ["a/a.py", "b/c.py"]
    assert found.left == {"b/b.py": "it is missing because of a sparse checkout"}


async def test_a_large_folder_that_only_the_repository_hides_is_named_by_itself(root: Path) -> None:
    save(root, {"a/a.py": b"a\n"})
    commit(root)
    exclude(root, random.Random(), [])
    save(root, {f"a/env/lib/{number}.py": b"" for number in range(MOST_HIDDEN + 1)} | {"a/new.py": b"evil\n"})
    found = await difference(root)
    assert list(found.files) == ["a/new.py"]
    (place, why) = found.left.popitem()
    assert (place, why.partition(";")[0]) == (
        "a/env/",
        "101 new files that only .git/info/exclude or core.excludesFile hides",
    )
    assert len((await difference(root, path="a/env/lib/1.py")).files) == 1


async def test_a_new_gitignore_that_hides_itself_is_named(root: Path) -> None:
    save(root, {"a/a.py": b"a\n", ".gitignore": b"out/\n"})
    commit(root)
    everything = b"*\n"
    save(root, {"a/.gitignore": everything, "a/evil.py": b"evil\n", "new/.gitignore": b"/.gitignore\nx\n"})
    save(root, {"out/.gitignore": everything, "cache/.gitignore": everything})
    save(
        root,
        dict.fromkeys(
            ("a/CACHEDIR.TAG", "cache/CACHEDIR.TAG"), b"Signature: 8a477f597d28d172789f06886806bc55"
        ),
    )
    found = await difference(root)
    assert not found.files
    assert sorted(found.left) == ["a/.gitignore", "new/.gitignore"]
    assert "hides itself" in found.left["a/.gitignore"]


@pytest.mark.parametrize(
    ("path", "place", "why"),
    [
        ("n/x.py", "n/", "a repository in this one"),
        ("n/deep/y.py", "n/", "a repository in this one"),
        ("a/n", "a/n/", "a repository in this one"),
        ("out", "out", "a .gitignore hides it"),
        ("out/x.py", "out/x.py", "a .gitignore hides it"),
        ("a/x.log", "a/x.log", "a .gitignore hides it"),
    ],
)
async def test_a_path_that_cannot_be_compared_is_named(root: Path, path: str, place: str, why: str) -> None:
    save(root, {"a/a.py": b"a\n", ".gitignore": b"out/\n*.log\n"})
    commit(root)
    save(root, dict.fromkeys(("n/x.py", "n/deep/y.py", "a/n/z.py", "out/x.py", "a/x.log"), b"evil\n"))
    for nested in ("n", "a/n"):
        git(root / nested, "init", "-q")
    found = await difference(root, path=path)
    assert list(found.left) == [place]
    assert why in found.left[place]
    (root / "empty").mkdir()
    for nothing in ("a/a.py", "empty", "gone"):
        assert not (await difference(root, path=nothing)).left


async def test_changed_rules_above_what_is_compared_are_named(root: Path) -> None:
    save(root, {"a/b/c.py": b"c\n", "a/.gitignore": b"*.log\n", ".gitignore": b"*.tmp\n"})
    commit(root)
    save(root, {"a/b/x.log": b"", "a/b/evil.py": b"evil\n"})
    below = Workspace(root / "a/b")
    head = await find_commit(root, "HEAD")
    assert not (await git_difference(below, root / "a/b", head)).left
    save(root, {"a/.gitignore": b"*\n"})
    why = "it is not as in the commit, and new files that it hides are not shown"
    assert (await git_difference(below, root / "a/b", head)).left == {"../.gitignore": why}
    assert (await difference(root, path="a/b")).left == {"a/.gitignore": why}
    (root / "a/.gitignore").unlink()
    save(root, {".gitignore": b"*\n"})
    assert (await git_difference(below, root / "a/b", head)).left == {"../../.gitignore": why}


async def test_line_ends_that_only_the_repository_converts_are_named(root: Path) -> None:
    save(root, {"a.py": b"a\nb\n", "b.py": b"a\nb\n"})
    commit(root)
    git(root, "config", "core.autocrlf", "input")
    save(root, {"a.py": b"a\r\nb\r\n", "b.py": b"a\r\nevil\r\n"})
    found = await difference(root)
    assert list(found.files) == ["b.py"]
    assert found.left == {"a.py": "only its line ends differ, which git converts"}


async def test_line_ends_of_the_persons_configuration_are_no_change(root: Path) -> None:
    save(root, {"a.py": b"a\nb\n", "b.py": b"a\nb\n"})
    commit(root)
    (Path.home() / ".gitconfig").write_text("[core]\n\tautocrlf = true\n")
    save(root, {"a.py": b"a\r\nb\r\n", "b.py": b"a\r\nB\r\n"})
    found = await difference(root)
    assert (list(found.files), found.left) == (["b.py"], {})
    assert found.files["b.py"][0].data == b"a\r\nb\r\n"


async def test_a_file_that_lfs_keeps_is_compared_by_the_hash_in_the_commit(root: Path) -> None:
    data = b"large\n"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (
        hashlib.sha256(data).hexdigest().encode(),
        len(data),
    )
    save(root, {"a.big": pointer, "b.big": pointer, ".gitattributes": b"*.big filter=lfs\n"})
    commit(root)
    (Path.home() / ".gitconfig").write_text('[filter "lfs"]\n\tclean = false\n\trequired = true\n')
    save(root, {"a.big": data, "b.big": b"evil!\n"})
    found = await difference(root)
    assert (dict(found.files), list(found.left)) == ({}, ["b.big"])


@pytest.mark.parametrize("where", ["commit", "file", "untracked", "none"])
async def test_a_submodule_that_differs_is_named_whatever_hides_it(
    root: Path, tmp_path: Path, where: str
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    save(inner, {"f": b"f\n"})
    commit(inner)
    git(root, "submodule", "--quiet", "add", str(inner), "vendor")
    commit(root)
    for key in ("diff.ignoreSubmodules", "submodule.vendor.ignore"):
        git(root, "config", key, "all")
    place = root / "vendor"
    if where != "none":
        save(place, {"new" if where == "untracked" else "f": b"evil\n"})
    if where == "commit":
        commit(place)
    if where == "file":
        git(place, "update-index", "--assume-unchanged", "f")
    expected = {} if where == "none" else {"vendor": "a submodule; review it in its own directory"}
    found = await difference(root)
    assert (found.files, found.left) == ({}, expected)


async def test_a_submodule_that_is_not_fetched_is_no_change(root: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner)
    git(root, "submodule", "--quiet", "add", str(inner), "vendor")
    commit(root)
    git(tmp_path, "clone", "-q", str(root), "copy")
    found = await difference(tmp_path / "copy")
    assert told(found) == set()


async def test_modes_of_a_file_system_that_has_none_are_named_once(root: Path) -> None:
    names = [f"{number}.py" for number in range(12)]
    save(root, dict.fromkeys(names, b"x\n"))
    commit(root)
    for name in names:
        (root / name).chmod(0o777)
    found = await difference(root)
    assert (found.modes, list(found.left)) == ({}, ["."])
    (root / names[0]).chmod(0o644)
    assert sorted((await difference(root)).modes) == sorted(names[1:])


async def test_a_repository_with_long_ids_is_read(tmp_path: Path) -> None:
    root = tmp_path / "long"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    save(root, {"a.py": b"a\n", "sub/b.py": b"b\n"})
    assert len(commit(root)) == 64
    assert told(await difference(root)) == set()
    save(root, {"sub/b.py": b"evil\n"})
    found = await difference(root)
    assert found.files["sub/b.py"][0].data == b"b\n"


async def test_a_project_within_a_repository_is_compared_by_its_own_files(root: Path) -> None:
    save(root, {"a.py": b"a\n", "sub/b.py": b"b\n", "sub/x/c.py": b"c\n", ".gitignore": b"*.log\n"})
    commit(root)
    save(root, {"a.py": b"evil\n", "sub/x/c.py": b"evil\n", "sub/n.py": b"", "sub/n.log": b""})
    assert told(await difference(root / "sub")) == {"x/c.py", "n.py"}
    assert told(await difference(root / "sub", path="x")) == {"x/c.py"}


async def test_calls_of_git_do_not_grow_with_the_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    found = program.find_git

    def counted() -> str:
        counts[-1] += 1
        return found()

    monkeypatch.setattr(program, "find_git", counted)
    for number in (10, 1000):
        save(root, {f"sub/{one}.py": f"{one}\n".encode() for one in range(number)})
        commit(root)
        counts.append(0)
        assert told(await difference(root)) == set()
    assert counts[0] == counts[1]


async def test_a_file_of_grafts_gives_a_commit_no_other_parent(root: Path) -> None:
    versions = [b"one\n", b"two\n", b"three\n"]
    commits = []
    for version in versions:
        save(root, {"a.py": version})
        commits.append(commit(root))
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/grafts").write_text(f"{commits[2]} {commits[0]}\n")
    assert git(root, "rev-parse", "HEAD~1").strip() == commits[0]
    found = await difference(root, "HEAD~1")
    assert [image.data for image in found.files["a.py"]] == versions[1:]
