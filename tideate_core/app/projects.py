"""Projects that have private state: listing, moving and forgetting it, and recognising a moved project."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ConfigError, StoreError, WorkspaceError
from tideate_core.git import find_repository, run_git
from tideate_core.project import (
    KnownProject,
    expand_home,
    find_root,
    has_no_work,
    known_project,
    known_projects,
    move_project_state,
    note_identity,
    project_state,
    real_path,
)
from tideate_core.store import Reader

if TYPE_CHECKING:
    from tideate_core.store import RunRow

__all__ = [
    "ProjectView",
    "forget_project",
    "list_projects",
    "move_project",
    "moved_from",
    "moved_words",
    "note_use",
    "project_named",
]

GIT_WITHIN: Final = 2.0
"""Seconds that git has to name the first commit; of a very long history it is not known."""
FEWEST_NAMES: Final = 3
"""Names at the top of a project below which they say nothing about it."""
NOTED_FOR: Final = 7 * 24 * 3600 * 1000
"""Milliseconds for which what was noted of a project counts as fresh."""
MOST_RUNS: Final = 1000


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project that has private state, as front ends show it."""

    path: Path
    state: Path
    gone: bool
    """Its directory does not exist any more."""
    used_at: int
    """Milliseconds since the epoch."""
    size: int
    """Bytes of its state."""
    unfinished: int
    """Runs that have not ended."""

    def as_json(self) -> dict[str, Any]:
        """Return what tools get."""
        return {
            "path": str(self.path),
            "state": str(self.state),
            "gone": self.gone,
            "used_at": self.used_at,
            "bytes": self.size,
            "unfinished_runs": self.unfinished,
        }


def list_projects() -> list[ProjectView]:
    """Return all projects that have private state, the last used first; blocking.

    :raises ConfigError: the state directory cannot be read.
    """
    return [_view(one) for one in known_projects()]


def project_named(path: str) -> ProjectView:
    """Return the project that has or had a path.

    :raises ConfigError: it has no private state.
    """
    return _view(_known(path))


def move_project(old: str, new: str, *, from_living: bool = False) -> Path:
    """Give the state of a project that was moved to its new path; what is trusted has to be trusted again.

    :param from_living: the old path may still be there; it has no runs and snapshots then.
    :returns: the new path.
    :raises ConfigError: there is no such state, the old path is still there, or the new one is no project or
        has state of its own.
    """
    known, target = _known(old), real_path(expand_home(new))
    if not target.is_dir():
        raise ConfigError(f"{new} is not a directory; name where the project is now")
    if (root := find_root(target)) is None or real_path(root) != target:
        where = f" (it is in the project {root})" if root else ""
        raise ConfigError(f"{target} is not the root of a project{where}; name where the project is now")
    if not known.is_gone and not from_living:
        raise ConfigError(
            f"{known.path} is still there, and would have no runs, snapshots and rollbacks any more; "
            "--yes moves them all the same"
        )
    _refuse_running(known)
    move_project_state(known.path, target)
    return target


def forget_project(path: str) -> Path:
    """Remove the private state of a project: runs, snapshots, what could be rolled back, and trust.

    :returns: the project's path; nothing of it is touched.
    :raises ConfigError: it has none, a run is under way in it, or it cannot be removed.
    """
    known = _known(path)
    _refuse_running(known)
    try:
        shutil.rmtree(known.state)
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be removed: {error.strerror}") from error
    return known.path


def moved_from(root: Path) -> list[KnownProject]:
    """Return the projects that this one may have been until it was moved: their paths are gone.

    Only told to the person: a clone may look like any project.

    :raises ConfigError: the state directory cannot be read.
    """
    if not has_no_work(project_state(root)):
        return []
    gone = [one for one in known_projects() if one.is_gone]
    if not gone:
        return []
    commit, files = _identity(root)
    return [
        one
        for one in gone
        if (commit and one.first_commit == commit) or (not commit and files and one.files == files)
    ]


def moved_words(root: Path) -> list[str]:
    """Say, a sentence each, which projects that are gone this one may have been, and what brings their runs.

    :raises ConfigError: the state directory cannot be read.
    """
    return [
        f"{one.path} is gone and looked like this project: if it was moved here, "
        f"`tideate project move {shlex.quote(str(one.path))} {shlex.quote(str(root))}` brings its runs along"
        for one in moved_from(root)
    ]


def note_use(root: Path) -> None:
    """Note that a project is worked in, and how to recognise it when it has been moved; blocking.

    :raises OSError: it cannot be written.
    """
    known = known_project(real_path(root))
    fresh = known is not None and known.files and time.time_ns() // 1_000_000 - known.used_at < NOTED_FOR
    if not fresh:
        commit, files = _identity(root)
        note_identity(root, first_commit=commit, files=files)


def _identity(root: Path) -> tuple[str | None, str | None]:
    return _first_commit(root), _names_at_the_top(root)


def _first_commit(root: Path) -> str | None:
    if not (root / ".git").exists():
        return None
    command = ("rev-list", "--max-parents=0", "HEAD")
    try:
        done = run_git(find_repository(real_path(root)), *command, cwd=root, patience=GIT_WITHIN)
    except WorkspaceError:
        return None  # no git, another project's repository, or a history that is too long
    commits = [] if done.status else done.out.decode("ascii", "replace").split()  # no commit yet
    return min(commits) if commits else None


def _names_at_the_top(root: Path) -> str | None:
    try:
        names = sorted(path.name for path in root.iterdir() if path.name not in (".git", ".tideate"))
    except OSError:
        return None
    if len(names) < FEWEST_NAMES:
        return None
    return hashlib.sha256(b"\0".join(map(os.fsencode, names))).hexdigest()


def _known(path: str) -> KnownProject:
    wanted = expand_home(path)
    for candidate in (real_path(wanted), Path(os.path.abspath(wanted))):  # noqa: PTH100 of what is gone
        if found := known_project(candidate):
            return found
    raise ConfigError(f"there is no state of {path}; `tideate project list` lists what there is")


def _refuse_running(known: KnownProject) -> None:
    try:
        alive = [run for run in _unfinished(known) if run.lease is not None and run.lease.alive]
    except StoreError:
        return  # nobody can be at work in a database that cannot be read
    if alive:
        pid = alive[0].lease.pid if alive[0].lease else 0
        how = "paused" if alive[0].status == "paused" else "under way"
        raise ConfigError(
            f"a run of {known.path} is {how} in process {pid}; end that process first"
            + (f": `kill -HUP {pid}` leaves the run paused, to be resumed" if how == "paused" else "")
        )


def _unfinished(known: KnownProject) -> list[RunRow]:
    reader = Reader(known.state)
    try:
        return reader.runs(limit=MOST_RUNS, unfinished=True)
    finally:
        reader.close()


def _view(known: KnownProject) -> ProjectView:
    try:
        unfinished = len(_unfinished(known))
    except StoreError:
        unfinished = 0
    size = sum(_size(Path(folder, name)) for folder, _, names in os.walk(known.state) for name in names)
    return ProjectView(known.path, known.state, known.is_gone, known.used_at, size, unfinished)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0  # removed meanwhile
