"""Fingerprints of a directory: content, modes, times and link targets."""

from __future__ import annotations

import hashlib
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

from tests.harness.machines import SMALL
from tests.hostile.malices import TARGETS, Hostility, Pool, Soil, Surroundings, forgeries, plant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tests.hostile.malices import Forgeries


Marks = dict[str, tuple[object, ...]]
"""Path relative to the directory → fingerprint."""

MOST_ENTRIES: Final = 1_000
"""Most entries of a directory that are fingerprinted individually; otherwise its own time is used."""


def marks(top: Path, leave_out: Collection[str] = ()) -> Marks:
    """Return the fingerprints of everything below a directory, including contents."""
    found: Marks = {}
    _walk(top, "", found, leave_out, _deep)
    return found


def shallow_marks(top: Path) -> Marks:
    """Return the fingerprints of a path and everything below it, with times instead of contents."""
    try:
        found: Marks = {"": _shallow(os.fspath(top), os.lstat(top))}
    except FileNotFoundError:
        return {}
    if stat.S_ISDIR(os.lstat(top).st_mode):
        _walk(top, "", found, (), _shallow)
    return found


def changes(before: Marks, after: Marks) -> list[str]:
    """Return created, changed or removed names, with the kind of change."""
    told = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            told.append(f"{name} made")
        elif name not in after:
            told.append(f"{name} removed")
        elif before[name] != after[name]:
            told.append(f"{name} changed")
    return told


def _walk(
    top: Path | str,
    prefix: str,
    found: Marks,
    leave_out: Collection[str],
    look: Callable[[str, os.stat_result], tuple[object, ...]],
) -> None:
    try:
        with os.scandir(top) as listing:
            entries = [entry for entry, _ in zip(listing, range(MOST_ENTRIES + 1), strict=False)]
    except PermissionError:
        return
    if len(entries) > MOST_ENTRIES:
        return
    for entry in entries:
        name = f"{prefix}{entry.name}"
        if name in leave_out:
            continue
        try:
            at = entry.stat(follow_symlinks=False)
            found[name] = look(entry.path, at)
        except FileNotFoundError:  # gone since: a running editor replaces files through temporary ones
            continue
        if stat.S_ISDIR(at.st_mode):
            _walk(entry.path, f"{name}/", found, leave_out, look)


def _shallow(path: str, at: os.stat_result) -> tuple[object, ...]:
    target = os.readlink(path) if stat.S_ISLNK(at.st_mode) else ""  # noqa: PTH115 there may be thousands
    return (at.st_mode, at.st_mtime_ns, at.st_size, target)


def _deep(path: str, at: os.stat_result) -> tuple[object, ...]:
    content = b""
    if stat.S_ISREG(at.st_mode):
        with open(path, "rb") as file:  # noqa: PTH123 the path has no Path yet
            content = hashlib.blake2b(file.read(), digest_size=16).digest()
    return (*_shallow(path, at), content)


SECRET: Final = "s3cr3t-of-the-home"
"""Secret in files of the home directory: it must never be shown or sent to a model."""

_REVIEW: Final = "name: review\ndescription: Review.\nsteps:\n  - id: first\n    task: 'Say: fine.'\n"
_PLAN: Final = {
    "planId": "plan-1",
    "objective": "Greet everybody.",
    "steps": [
        {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["src/greet.py"]},
        {"id": "t", "name": "test it", "type": "testing", "expectedOutputs": ["tests/test_greet.py"]},
    ],
}
VALID: Final = {
    "context.json": json.dumps({"version": "1.0.0", "mappings": {"@Doc": "README.md"}}).encode(),
    "workflows/review.yaml": _REVIEW.encode(),
    "workflows/loop.workflow": SMALL.replace("first to second", "first   to  second").encode(),
    "agents/planner.md": b"Plan small steps.\n",
    "planner/output/plan_v1.json": json.dumps(_PLAN).encode(),
}
"""Valid content of `.tideate/`."""

_PRECIOUS: Final = "keep this\n"
_SCRIPT: Final = "#!/bin/sh\ntouch started\n"
_CODE: Final = "def total(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n"


def fill_project(project: Path) -> None:
    """Write the sources of a project, with scripts that a forged configuration may name."""
    _write(project / "src" / "app.py", _CODE)
    _write(project / "README.md", "# A project\n")
    _write(project / "notes.txt", "notes\n")
    for script in ("helper.sh", "evil.sh", "check.sh", "run_command"):
        _write(project / script, _SCRIPT, 0o755)


def fill_tree(tree: Path) -> None:
    """Write the valid files of a `.tideate/`."""
    for name, content in VALID.items():
        _write(tree / name, content)


def write_whole_tree(tree: Path, forged: Forgeries) -> None:
    """Write a file at every possible path of `.tideate/`."""
    for target in TARGETS:
        if target.is_directory:
            (tree / target.name).mkdir(parents=True, exist_ok=True)
        elif not (tree / target.name).is_dir():
            usual = next(iter(forged[target.name].values()), b"{}")
            _write(tree / target.name, VALID.get(target.name, usual))
    for prompt in ("ask", "refactor", "summarize", "generate"):
        _write(tree / "prompts" / f"{prompt}.md", f"{SECRET}\n---\n{SECRET} {{{{ prompt }}}}\n")


def fill_home(home: Path, model_url: str, forged: Forgeries) -> None:
    """Write a home directory: a key, configuration, documents, state of an earlier version."""
    config = (
        f'adapter = "fake"\n[adapters.fake]\nbase_url = "{model_url}"\nmodel = "scripted"\ntools = false\n'
    )
    _write(home / ".config" / "tideate" / "config.toml", config)
    _write(home / ".ssh" / "id_ed25519", f"{SECRET}\n" * 3, 0o600)
    _write(home / ".bashrc", "alias ll='ls -l'\n")
    _write(home / ".gitconfig", "[user]\nname = A Person\nemail = person@example.org\n")
    _write(home / "Documents" / "precious.txt", _PRECIOUS)
    for name in {Path(target.name).name for target in TARGETS} - {""}:
        if not (home / "Documents" / name).exists():
            _write(home / "Documents" / name, _PRECIOUS)
    write_whole_tree(home / "Documents" / "mirror", forged)
    state = home / ".local" / "state" / "tideate"
    state.mkdir(parents=True, mode=0o700)
    _write(state / "stores" / ("0a" * 16), "")
    _write(state / "journal.key", "0123456789abcdef" * 2, 0o600)
    for made in (".cache", ".local/share", ".local/state/nvim", ".local/share/nvim", ".cache/nvim"):
        (home / made).mkdir(parents=True, exist_ok=True)


def fill_sibling(sibling: Path, forged: Forgeries) -> None:
    """Write a trusted project with a configuration of relative commands."""
    fill_project(sibling)
    write_whole_tree(sibling / ".tideate", forged)
    config = (
        '[mcp.servers.helper]\ncommand = ["./helper.sh"]\n'
        '[verify]\ntests = ["sh", "./check.sh"]\nbuild = ["./evil.sh"]\nlint = ["./evil.sh"]\n'
    )
    _write(sibling / ".tideate" / "config.toml", config)


def _write(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


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
