"""Private state of projects: list, move and forget it; recognise a moved project."""

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
from tideate_core.snapshots import GuardState, list_sessions, relocate_sessions
from tideate_core.store import Reader

if TYPE_CHECKING:
    from tideate_core.store import RunRow

GIT_WITHIN: Final = 2.0
"""Time limit in seconds for git to find the first commit; very long histories exceed it."""
FEWEST_NAMES: Final = 3
"""Fewest top-level names that identify a project."""
NOTED_FOR: Final = 7 * 24 * 3600 * 1000
"""Milliseconds until a project's recorded identity is renewed."""
MOST_RUNS: Final = 1000


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project with private state, for front ends."""

    path: Path
    state: Path
    gone: bool
    """Its directory no longer exists."""
    used_at: int
    """Milliseconds since the epoch."""
    size: int
    """Size of its state in bytes."""
    unfinished: int
    """Number of runs that have not ended."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "path": str(self.path),
            "state": str(self.state),
            "gone": self.gone,
            "used_at": self.used_at,
            "bytes": self.size,
            "unfinished_runs": self.unfinished,
        }


def list_projects() -> list[ProjectView]:
    """Return all projects with private state, last used first; blocking.

    :raises ConfigError: the state directory cannot be read.
    """
    return [_view(one) for one in known_projects()]


def project_named(path: str) -> ProjectView:
    """Return the project at a path, or formerly there.

    :raises ConfigError: no private state belongs to this path.
    """
    return _view(_known(path))


def move_project(old: str, new: str, *, from_living: bool = False) -> Path:
    """Move a project's private state to its new path; trust does not move.

    :param from_living: allow it even if the project is still at the old path.
    :returns: the new path.
    :raises ConfigError: there is no such state, the old path still exists, or the new path is not a project
        root or has state.
    """
    known, target = _known(old), real_path(expand_home(new))
    if not target.is_dir():
        raise ConfigError(f"{new} is not a directory; give the present path of the project")
    if (root := find_root(target)) is None or real_path(root) != target:
        where = f" (it is in the project {root})" if root else ""
        raise ConfigError(f"{target} is not the root of a project{where}; give the project's current root")
    if not known.is_gone and not from_living:
        raise ConfigError(
            f"{known.path} is still there, and would lose its runs, snapshots and rollbacks; "
            "--yes moves them anyway"
        )
    _refuse_running(known)
    move_project_state(known.path, target)
    relocate_sessions(target)
    return target


def forget_project(path: str) -> Path:
    """Delete a project's private state: runs, snapshots, journals and trust.

    :returns: the project's path; its files are not touched.
    :raises ConfigError: there is no state, a run is active, or the state cannot be deleted.
    """
    known = _known(path)
    _refuse_running(known)
    try:
        shutil.rmtree(known.state)
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be removed: {error.strerror}") from error
    return known.path


def moved_from(root: Path) -> list[KnownProject]:
    """Return projects with deleted paths that resemble this one, which may have been moved.

    Only for a hint to the person: a clone may resemble any project.

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
    """Return a hint for each project that may have been moved here, with the command that moves its state.

    :raises ConfigError: the state directory cannot be read.
    """
    return [
        f"{one.path} is gone and looked like this project: if it was moved here, "
        f"`tideate project move {shlex.quote(str(one.path))} {shlex.quote(str(root))}` brings its runs along"
        for one in moved_from(root)
    ]


def note_use(root: Path) -> None:
    """Record the use of a project and the identity that recognises it after a move; blocking.

    :raises OSError: the record cannot be written.
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
        return None  # no git, another project's repository, or too long a history
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
    raise ConfigError(f"there is no state of {path}; `tideate project list` lists all projects with state")


def _refuse_running(known: KnownProject) -> None:
    for session in list_sessions(known.path):
        if session.state is GuardState.RUNNING:
            raise ConfigError(
                f"the guarded program {session.argv[0]} of {known.path} is running; end it first"
            )
    try:
        alive = [run for run in _unfinished(known) if run.lease is not None and run.lease.alive]
    except StoreError:
        return  # no process can be active in a database that cannot be read
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
        return 0  # removed in the meantime
