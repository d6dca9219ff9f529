"""Trees of files: as they stand on disk, and made up by Hypothesis."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parents[2]
NOBODY = 65534
AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from tideate_core.snapshots import SnapshotManager

async def all_is_imported(place):  # nobody may read the interpreter's files
    place = place / "project"
    place.mkdir()
    snapshots = SnapshotManager(place)
    (place / "a").write_text("1")
    made = await snapshots.create("one")
    (place / "a").write_text("2")
    await snapshots.restore(made)

{code}
place, root = map(Path, sys.argv[1:])
os.environ["TIDEATE_STATE"] = f"{place}/roots"
asyncio.run(all_is_imported(place))
del os.environ["TIDEATE_STATE"]
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main(root))
"""

Node = tuple[str, int, Any]
"""Kind, mode, and what it holds: bytes, a target, or the nodes of a directory by name."""


def git(directory: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True)


def looked_at(root: Path, leave_out: tuple[str, ...] = (".tideate", ".git")) -> dict[bytes, Node]:
    """Return everything below a directory, by path: kind, mode and what it holds."""
    found: dict[bytes, Node] = {}
    for directory, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in leave_out]
        for name in [*folders, *files]:
            path = Path(directory) / name
            found[os.fsencode(path.relative_to(root))] = _node(path)
    return found


def _node(path: Path) -> Node:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return ("link", 0, os.fsencode(path.readlink()))
    if stat.S_ISDIR(mode):
        return ("directory", stat.S_IMODE(mode), None)
    if not stat.S_ISREG(mode):
        return ("other", 0, None)
    return ("file", stat.S_IMODE(mode), path.read_bytes())


@contextmanager
def nobodys(files: dict[str, str]) -> Iterator[Path]:
    """Give a project that belongs to nobody where the tests are run by root, who may read everything."""
    # not below the test's own directory, which is closed to others
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        if os.getuid() == 0:
            for found in (root, *root.rglob("*")):
                os.chown(found, NOBODY, NOBODY)
        yield root
        for directory, _, _ in os.walk(root):
            Path(directory).chmod(0o755)


def by_nobody(code: str, root: Path) -> str:
    """Let a process of nobody run `main(root)`; returns what it printed."""
    with tempfile.TemporaryDirectory() as place:
        if os.getuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        command = [sys.executable, "-c", AS_NOBODY.replace("{code}", code), place, str(root)]
        environment = {**os.environ, "HOME": "/nonexistent", "XDG_STATE_HOME": f"{place}/state"}
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def tick(place: Path) -> None:
    """Wait until the clock of the file system has gone on, so that what stands there is no longer recent."""
    with tempfile.NamedTemporaryFile(dir=place) as probe:
        first = os.fstat(probe.fileno()).st_mtime_ns
        for _ in range(10_000_000):
            os.utime(probe.fileno())
            if os.fstat(probe.fileno()).st_mtime_ns > first:
                return
    raise AssertionError("the clock of the file system stands still")


def at(root: Path, name: bytes) -> Path:
    return root / os.fsdecode(name)


_NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"a-", b"-rf", b"new\nline", b"\xff\xfe", b" ", b"x" * 255, "ä€".encode()]),
    st.binary(min_size=1, max_size=6).filter(lambda name: not set(name) & set(b"\0/") and name[:1] != b"."),
)
_FILES = st.tuples(
    st.just("file"),
    st.sampled_from([0o644, 0o600, 0o755, 0o400]),
    st.binary(max_size=40) | st.just(b"a\r\nb\r\n"),
)
_LINKS = st.tuples(
    st.just("link"), st.just(0), st.sampled_from([b"a", b".", b"../a", b"no where", b"b/\xff"])
)
LEAVES = st.one_of(_FILES, _LINKS)


def _directories(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(
        st.just("directory"),
        st.sampled_from([0o755, 0o700]),
        st.dictionaries(_NAMES, children, max_size=4),
    )


TREES = st.dictionaries(_NAMES, st.recursive(LEAVES, _directories, max_leaves=8), max_size=6)


def lay_out(root: Path, tree: dict[bytes, Node]) -> None:
    """Make a directory, made where it is missing, hold exactly a tree; its private files stay."""
    root.mkdir(exist_ok=True)
    for path in root.iterdir():
        if path.name in (".tideate", ".git"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    _make(root, tree)


def _make(base: Path, tree: dict[bytes, Node]) -> None:
    for name, (kind, mode, holds) in tree.items():
        path = at(base, name)
        if kind == "link":
            path.symlink_to(os.fsdecode(holds))
        elif kind == "directory":
            path.mkdir()
            _make(path, holds)
            path.chmod(mode)
        else:
            path.write_bytes(holds)
            path.chmod(mode)


def over(root: Path, tree: dict[bytes, Node]) -> None:
    """Put a tree over what stands in a directory: only the names that it has are replaced."""
    for name in tree:
        path = at(root, name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    _make(root, tree)
