"""Four kinds of snapshots: ours, git with its own index and store (loose, packed), restic.

Ours runs in a process that is there already, as in the editor's host; git and restic are started for each
snapshot, as programs that use them do. Ours and restic sync what they write to the disk, git syncs packs but,
in its defaults, no loose objects.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from tideate_core.snapshots import SnapshotManager

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BLOCK: Final = 512
"""Bytes that the system counts a file's blocks in."""


class Peer(Protocol):
    """One way, on one tree, with a store of its own. Times are seconds."""

    name: ClassVar[str]

    def __init__(self, root: Path, place: Path) -> None: ...

    @staticmethod
    def missing() -> str:
        """Return why it cannot be measured here, empty if it can."""
        ...

    def snapshot(self) -> float:
        """Make one, and return how long that took."""
        ...

    def restore(self, paths: Sequence[str]) -> float:
        """Bring back these files, which differ from the last snapshot, and return how long that took."""
        ...

    def files(self) -> set[str]:
        """Return the paths of the last snapshot's files."""
        ...

    def disk(self) -> int:
        """Return bytes of the disk that are used."""
        ...

    def close(self) -> None:
        """Leave the tree as it was; the store stays."""


def used(directory: Path) -> int:
    """Return the bytes of the disk that a directory uses, as `du` counts them."""
    return sum(path.lstat().st_blocks * BLOCK for path in directory.rglob("*"))


class Ours:
    """`SnapshotManager`, in a process that runs already, as in the editor's host."""

    name: ClassVar[str] = "tideate"

    def __init__(self, root: Path, place: Path) -> None:
        self._root = root
        self._store = place / "private"
        self._snapshots = SnapshotManager(root, private=self._store)
        self._last = ""
        self.worked: list[float] = []
        """Processor time of each snapshot, in seconds, without git's, which works meanwhile."""

    @staticmethod
    def missing() -> str:
        return ""

    def snapshot(self) -> float:
        begun, worked = time.monotonic(), time.process_time()
        self._last = asyncio.run(self._snapshots.create("measured"))
        self.worked.append(time.process_time() - worked)
        return time.monotonic() - begun

    def restore(self, paths: Sequence[str]) -> float:
        begun = time.monotonic()
        done = asyncio.run(self._snapshots.restore(self._last))
        took = time.monotonic() - begun
        if sorted(done.written) != sorted(paths):
            raise RuntimeError(f"restored {done.written}, wanted {paths}")
        return took

    def files(self) -> set[str]:
        entries = asyncio.run(self._snapshots.get(self._last)).files
        return {entry.path for entry in entries if entry.kind != "directory"}

    def disk(self) -> int:
        return used(self._store) + used(self._root / ".tideate")  # there it has a list of the files

    def close(self) -> None:
        shutil.rmtree(self._root / ".tideate", ignore_errors=True)


class Git:
    """Separate repository with the project as work tree: `add -A`, `write-tree`."""

    name: ClassVar[str] = "shadow git, loose objects"

    def __init__(self, root: Path, place: Path) -> None:
        self._root = root
        self._store = place / "shadow.git"
        own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        self._environment = own | {"GIT_DIR": str(self._store), "GIT_WORK_TREE": str(root)}
        self._environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        self._tree = ""
        self._git("init", "--quiet")
        self._git("config", "gc.auto", "0")

    @staticmethod
    def missing() -> str:
        return "" if shutil.which("git") else "missing: there is no git"

    def snapshot(self) -> float:
        begun = time.monotonic()
        # all that is there, as a snapshot of ours takes it in
        self._git("-c", "core.autocrlf=false", "add", "--all", "--force")
        self._tree = self._git("write-tree").strip()
        return time.monotonic() - begun

    def restore(self, paths: Sequence[str]) -> float:
        begun = time.monotonic()
        self._git("read-tree", "--reset", "-u", self._tree)
        return time.monotonic() - begun

    def files(self) -> set[str]:
        return set(self._git("ls-tree", "-r", "-z", "--name-only", self._tree).split("\0")) - {""}

    def disk(self) -> int:
        return used(self._store)

    def close(self) -> None:
        pass

    def _git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self._root, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
        return done.stdout


class PackedGit(Git):
    """The same, packed by `git gc` after the first snapshot."""

    name: ClassVar[str] = "shadow git, after git gc"

    def pack(self) -> float:
        """Pack all objects, and return how long that took."""
        begun = time.monotonic()
        self._git("update-ref", "refs/snapshots/last", self._tree)  # gc packs what a ref reaches
        self._git("gc", "--quiet")
        return time.monotonic() - begun


class Restic:
    """A restic repository with a cache of its own."""

    name: ClassVar[str] = "restic"

    def __init__(self, root: Path, place: Path) -> None:
        self._root = root
        self._store = place / "restic"
        self._environment = os.environ | {
            "RESTIC_PASSWORD": "measured",
            "RESTIC_REPOSITORY": str(self._store),
            "RESTIC_CACHE_DIR": str(place / "cache"),
        }
        self._restic("init")

    @staticmethod
    def missing() -> str:
        return "" if shutil.which("restic") else "not installed (`apt-get install restic`)"

    def start(self) -> float:
        """Read the configuration, and return how long that took: deriving the key, as each command has to."""
        begun = time.monotonic()
        self._restic("cat", "config")
        return time.monotonic() - begun

    def snapshot(self) -> float:
        begun = time.monotonic()
        self._restic("backup", ".", "--exclude", ".tideate", "--exclude", ".git")
        return time.monotonic() - begun

    def restore(self, paths: Sequence[str]) -> float:
        includes = [word for path in paths for word in ("--include", f"/{path}")]
        begun = time.monotonic()
        self._restic("restore", "latest", "--target", ".", *includes)
        return time.monotonic() - begun

    def files(self) -> set[str]:
        nodes = [json.loads(line) for line in self._restic("ls", "--json", "latest").splitlines()]
        return {node["path"].removeprefix("/") for node in nodes if node.get("type", "dir") != "dir"}

    def disk(self) -> int:
        return used(self._store)

    def close(self) -> None:
        pass

    def _restic(self, *arguments: str) -> str:
        command = ["restic", "--quiet", *arguments]
        done = subprocess.run(
            command, cwd=self._root, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
        return done.stdout


PEERS: Final[tuple[type[Peer], ...]] = (Ours, Git, PackedGit, Restic)


def versions() -> str:
    """Return which git and which restic these are."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()
    if Restic.missing():
        return f"git {git[2]}"
    restic = subprocess.run(["restic", "version"], capture_output=True, text=True, check=True).stdout.split()
    return f"git {git[2]}, restic {restic[1]}"
