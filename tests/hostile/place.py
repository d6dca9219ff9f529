"""Directories of one worker: a home, a trusted sibling and a project that is attacked repeatedly."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.hostile.background import fill_home, fill_project, fill_sibling, fill_tree
from tests.hostile.forgeries import Surroundings, forgeries
from tests.hostile.malices import Hostility, Pool, Soil, plant
from tests.hostile.marks import Marks, changes, marks, shallow_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Baseline", "Known", "Place", "remove"]

REPOSITORY: Final = Path(__file__).resolve().parents[2]
STATE: Final = ".local/state/tideate"
OWN_PLACES: Final = (STATE, ".cache/tideate", ".cache/nvim", ".local/state/nvim", ".local/share/nvim")
"""tideate's and Neovim's own directories in the home."""


@dataclass(frozen=True, slots=True)
class Known:
    """Ids in the project's state."""

    run: str
    asked: str
    """Run without changes."""
    checkpoint: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Fingerprints of everything that a command must not change."""

    home: Marks
    state: Marks
    sibling: Marks
    project: Marks


class Place:
    """Directories of one worker.

    :param directory: empty.
    :param model_url: of the answering model.
    :param evil_url: of a model that must not be contacted.
    """

    def __init__(self, directory: Path, model_url: str, evil_url: str) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.project = directory / "project"
        self.sibling = directory / "sibling"
        self.scratch = directory / "scratch"
        self.tree = self.project / ".tideate"
        self._kept = directory / "kept"
        self.model_url = model_url
        self.evil_url = evil_url
        self._around = Surroundings(self.home, self.project, self.sibling, evil_url, b"")
        self._pool = Pool(directory / "pool")
        self._own_state = Path()
        self._tree_marks: Marks = {}
        self.forged = forgeries(self._around)
        self._before = Baseline({}, {}, {}, {})
        self.known = Known("", "", "", "")
        self.is_prepared = False

    def environment(self) -> dict[str, str]:
        """Return the environment of a command."""
        xdg = {"CONFIG": ".config", "STATE": ".local/state", "CACHE": ".cache", "DATA": ".local/share"}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            **{f"XDG_{name}_HOME": str(self.home / path) for name, path in xdg.items()},
            "XDG_RUNTIME_DIR": str(self.scratch / "runtime"),
            "TMPDIR": str(self.scratch / "tmp"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TIDEATE_PYTHON": sys.executable,
        }

    # -- making it ---------------------------------------------------------------------------------

    def prepare(self, tideate: Callable[..., dict[str, Any]]) -> None:
        """Create all directories and a state with runs and snapshots.

        :param tideate: runs a command with `--json` in a directory and returns its output.
        """
        for made in (self.scratch / "runtime", self.scratch / "tmp", self._kept):
            made.mkdir(parents=True, mode=0o700)
        fill_home(self.home, self.model_url, self.forged)
        self._forge_database(tideate)
        fill_sibling(self.sibling, self.forged)
        _commit(self.sibling, self.environment())
        tideate(self.sibling, "trust", "--yes")
        fill_project(self.project)
        _commit(self.project, self.environment())
        run = tideate(self.project, "run", "refactor", "shorten", "--file", "src/app.py", "--yes")
        asked = tideate(self.project, "run", "ask", "hello")
        snapshot = tideate(self.project, "snapshot", "create", "before")
        for words in (("mcp", "tools", "git"), ("list",), ("doctor",), ("history",), ("snapshot", "diff")):
            tideate(self.project, *words)
        (checkpoint, *_) = tideate(self.project, "checkpoint", "list")["checkpoints"]
        tideate(self.project, "checkpoint", "restore", checkpoint["checkpoint_id"])
        self.known = Known(
            run["execution_id"],
            asked["execution_id"],
            checkpoint["checkpoint_id"],
            snapshot["snapshot"]["id"],
        )
        self._own_state = self._state_of(self.project)
        remove(self.tree)
        for name, source in {"home": self.home, "project": self.project, "state": self._own_state}.items():
            shutil.copytree(source, self._kept / name, symlinks=True)
        shutil.copytree(self.sibling, self._kept / "sibling", symlinks=True)
        self._before = self._look()
        self.is_prepared = True

    def _forge_database(self, tideate: Callable[..., dict[str, Any]]) -> None:
        """Create the attacker's database of runs and remove its traces."""
        attacker = self.directory / "attacker"
        fill_project(attacker)
        _commit(attacker, self.environment())
        tideate(attacker, "run", "refactor", "shorten", "--file", "src/app.py", "--yes")
        (checkpoint, *_) = tideate(attacker, "checkpoint", "list")["checkpoints"]
        tideate(attacker, "checkpoint", "restore", checkpoint["checkpoint_id"])
        database = (self._state_of(attacker) / "tideate.db").read_bytes()
        around = Surroundings(self.home, self.project, self.sibling, self._around.evil_url, database)
        self.forged = forgeries(around)
        remove(self._state_of(attacker))
        remove(attacker)

    def _state_of(self, project: Path) -> Path:
        for noted in (self.home / STATE / "projects").glob("*/project.json"):
            if json.loads(noted.read_text())["path"] == str(project):
                return noted.parent
        raise AssertionError(f"{project} has no state")

    # -- making it hostile ---------------------------------------------------------------------------

    def make_hostile(self, group: list[Hostility]) -> None:
        """Place attacks in a new `.tideate/`."""
        self._pool.take_back()
        remove(self.tree)
        fill_tree(self.tree)
        soil = Soil(self.tree, self.home, self.sibling, self.forged, self._pool)
        for hostility in group:
            plant(hostility, soil)
        self._tree_marks = shallow_marks(self.tree)

    def is_as_planted(self) -> bool:
        """Return whether a command left the hostile tree unchanged."""
        return shallow_marks(self.tree) == self._tree_marks

    def give_state(self, *, used: bool) -> None:
        """Give the project the state of runs and snapshots, or none."""
        remove(self._own_state)
        if used:
            shutil.copytree(self._kept / "state", self._own_state, symlinks=True)

    # -- looking at it -------------------------------------------------------------------------------

    def _look(self) -> Baseline:
        """Fingerprint everything except the hostile tree and tideate's state of the project."""
        state = self.home / STATE
        own = f"projects/{self._own_state.name}"
        times_only = ("projects", own, "shell.log", "host.log", "host.log.1")
        found = marks(state, times_only)
        others = {
            f"{one.name}/{name}": mark
            for one in (state / "projects").iterdir()
            if one != self._own_state
            for name, mark in marks(one).items()
        }
        return Baseline(
            marks(self.home, OWN_PLACES),
            {**found, **others},
            marks(self.sibling),
            marks(self.project, (".tideate",)),
        )

    def changed(self, allowed: frozenset[str] = frozenset()) -> list[str]:
        """Return forbidden changes of a command, and restore all changes.

        :param allowed: names of the project that may change, with everything below them.
        """
        before, after = self._before, self._look()
        told = [
            *(f"home: {one}" for one in changes(before.home, after.home)),
            *(f"state: {one}" for one in changes(before.state, after.state)),
            *(f"sibling: {one}" for one in changes(before.sibling, after.sibling)),
        ]
        project = changes(before.project, after.project)
        if told:
            self._restore(self.home, "home")
            self._restore(self.sibling, "sibling")
        if project:
            self._restore(self.project, "project")
        if told or project:
            self._before = self._look()
        return [*told, *(f"project: {one}" for one in project if not _below(one.rpartition(" ")[0], allowed))]

    def _restore(self, directory: Path, name: str) -> None:
        """Restore a directory without touching the hostile tree in it."""
        for entry in directory.iterdir():
            if entry != self.tree:
                remove(entry)
        for entry in (self._kept / name).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.copytree(entry, directory / entry.name, symlinks=True)
            else:
                shutil.copy2(entry, directory / entry.name, follow_symlinks=False)

    def clean(self) -> None:
        """Remove everything."""
        self._pool.take_back()
        remove(self.directory)


def _below(name: str, allowed: frozenset[str]) -> bool:
    return any(name == one or name.startswith(f"{one}/") for one in allowed)


def remove(path: Path) -> None:
    """Remove a path, even without permissions."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        shutil.rmtree(path, onerror=_open_up)


def _open_up(function: Callable[..., Any], path: str, _: object) -> None:
    """Restore a directory's permissions and remove it."""
    for closed in (Path(path).parent, Path(path)):
        if stat.S_ISDIR(closed.lstat().st_mode):
            closed.chmod(0o700)
    if stat.S_ISDIR(Path(path).lstat().st_mode):
        shutil.rmtree(path)
    else:
        function(path)


def _commit(project: Path, environment: Mapping[str, str]) -> None:
    (project / ".gitignore").write_text("started\n")
    for arguments in (["init", "-q", "--template="], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", *arguments], cwd=project, env=dict(environment), check=True)
