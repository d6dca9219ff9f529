"""Private state of projects: the user's own directories outside of the projects.

A repository cannot place files there, so the content needs no seal. Every project has one directory, named by
its real path; its `project.json` contains the path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ConfigError, StateError
from tideate_core.project.roots import config_dir, expand_home, real_path, xdg_directory
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.private_files import make_private_directory, tighten
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = "TIDEATE_STATE"
IDENTITY: Final = "project.json"
_NAME_LENGTH: Final = 40
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_OWN_NAMES: Final = (
    "projects",
    "stores",
    "inbox",
    "journal*",
    "objects",
    "portable",
    "snapshots",
    "scratch",
    "keys",
    "mcp",
    "moving",
    "reviews",
    "trust*",
    "unfinished",
    "workflow",
    "project.json",
    "login*",
    ".*.json-*",
    "*.db",
    "*.db-*",
    "*.log",
    "*.log.1",
)
"""Patterns of names in the state directory; with any other name, it is not only tideate's."""
_OF_ONE_PATH: Final = ("trust.json", "trusted", "trust.json.lock")
"""Files that stay when a project's state is moved."""
_LARGEST: Final = 64 * 1024
"""Bytes of `project.json`."""


@dataclass(frozen=True, slots=True)
class KnownProject:
    """Project with private state."""

    state: Path
    path: Path
    """Real path of the project; it may no longer exist."""
    first_commit: str | None = None
    files: str | None = None
    """Digest of the top-level names of the project; None if unknown."""
    used_at: int = 0
    """Milliseconds since the epoch."""

    @property
    def is_gone(self) -> bool:
        """The project's directory no longer exists."""
        return not self.path.is_dir()


def state_dir() -> Path:
    """Return the directory of all private state; it may not exist yet.

    `$TIDEATE_STATE`, else `[state] directory` of the user's configuration, else `$XDG_STATE_HOME/tideate`.

    :raises ConfigError: the user's configuration is unreadable, or the path is not absolute.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return _absolute(named, VARIABLE)
    return _configured() or xdg_directory("XDG_STATE_HOME", ".local/state") / "tideate"


def _configured() -> Path | None:
    path = config_dir() / "config.toml"
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if b"state" not in content:
        return None  # usual case: nothing to parse
    import tomllib  # here, as `shutil` below, because every command reads this module

    try:
        section = tomllib.loads(content.decode("utf-8")).get("state", {})
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    if not isinstance(section, dict) or section.keys() - {"directory"}:
        raise ConfigError(f"{path}: [state] has one key, `directory`")
    if (named := section.get("directory")) is None:
        return None
    if not isinstance(named, str):
        raise ConfigError(f"{path}: state.directory is the path of a directory, not {named!r}")
    return _absolute(named, f"{path}: state.directory")


def _absolute(name: str, source: str) -> Path:
    path = expand_home(name)
    if not path.is_absolute():
        raise ConfigError(
            f"{source} is {name!r}, which is not an absolute path; name a directory from `/` or `~`"
        )
    return path


def project_state(root: Path | None) -> Path:
    """Return the directory of a project's private state; it may not exist yet.

    :param root: of the project; None returns the user's own state outside of projects.
    :raises ConfigError: see `state_dir`.
    :raises StateError: a clone could place files there, or another user did.
    """
    base = state_dir()
    path = None if root is None else real_path(root)
    _refuse_within(base, path)
    directory = base if path is None else _state_directory(path)
    for level in dict.fromkeys((base, base / "projects", directory)):
        try:
            _refuse_shared(level)
        except FileNotFoundError:
            break  # nothing exists below it either
        except OSError as error:
            raise _unusable(level, error) from error
    return directory


def _unusable(directory: Path, error: OSError) -> StateError:
    return StateError(
        f"{directory} cannot be used for private state: {error.strerror}; {VARIABLE} or [state] directory"
        " can name another directory"
    )


def private_within(root: Path) -> tuple[Path, ...]:
    """Return the real paths of tideate's own directories below a root, such as the home directory.

    :param root: real path.
    """
    places = (real_path(state_dir()), real_path(config_dir()))
    return tuple(place for place in places if place.is_relative_to(root))


def _refuse_within(base: Path, path: Path | None) -> None:
    """Reject a state directory inside the project, unless the project contains the home directory."""
    if path is None:
        return
    place = real_path(base)
    if place.is_relative_to(path / ".tideate") or (
        place.is_relative_to(path) and not real_path(Path.home()).is_relative_to(path)
    ):
        raise StateError(
            f"the state directory {base} is in the project {path}, where a clone could bring its own; set "
            f"{VARIABLE} or [state] directory to one outside of projects"
        )


def state_directory_name(path: Path) -> str:
    """Return the directory name of a project's state: the end of its path and a digest of all of it.

    :param path: real path.
    """
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    name = _ODD.sub("-", path.name).strip("-.")[:_NAME_LENGTH] or "project"
    return f"{name}-{digest}"


def _state_directory(path: Path) -> Path:
    return state_dir() / "projects" / state_directory_name(path)


def make_project_state(root: Path | None) -> Path:
    """Return the directory of a project's private state, creating it for the user alone.

    Permissions of other users are removed.

    :raises StateError: it cannot be created or used, or another user placed files there.
    """
    path = None if root is None else real_path(root)
    directory = project_state(path)
    try:
        _make_private(directory)
        if path is not None and not (directory / IDENTITY).exists():
            _write_identity(directory, {"path": str(path), "used_at": _now()})
    except OSError as error:
        raise _unusable(directory, error) from error
    return directory


def _make_private(directory: Path) -> None:
    base = state_dir()
    # all levels: write access to one allows replacing the levels below
    levels = [base, *(base / part for part in (["projects"] if directory != base else []))]
    for level in dict.fromkeys([*levels, directory]):
        make_private_directory(level)
        _refuse_shared(level)
        _tighten_all(level)


def _refuse_shared(directory: Path) -> None:
    """Reject a directory that belongs to another user or contains another user's files.

    :raises StateError: with the reason and the remedy.
    :raises OSError: it does not exist.
    """
    found = directory.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise StateError(f"{directory} is not a directory; set {VARIABLE} to one")
    if os.geteuid() not in (found.st_uid, 0):
        raise StateError(f"{directory} belongs to another user; set {VARIABLE} to your own directory")
    if found.st_mode & _OTHERS_WRITE:
        _refuse_foreign(directory, found.st_uid)


def _refuse_foreign(directory: Path, owner: int) -> None:
    """Reject a directory writable by others, unless all its content is tideate's and the user's."""
    if not _is_only_ours(directory):
        raise StateError(
            f"others may write to {directory}, which has files of other programs; `chmod 700 {directory}` if "
            f"only you should, or set {VARIABLE} to another directory"
        )
    owners = {owner, os.geteuid(), 0}
    foreign = next((path for path in _below(directory) if path.lstat().st_uid not in owners), None)
    if foreign is not None:
        raise StateError(
            f"others may write to {directory}, and {foreign} belongs to another user; remove what is not "
            f"yours, then `chmod 700 {directory}`"
        )


def _is_only_ours(directory: Path) -> bool:
    """Return whether a directory contains only tideate's files, unlike a home directory."""
    if directory != state_dir():
        return True
    return all(any(fnmatchcase(path.name, own) for own in _OWN_NAMES) for path in directory.iterdir())


def _tighten_all(directory: Path) -> None:
    """Remove other users' permissions from an existing state directory and everything below it.

    :raises StateError: another user placed files there.
    """
    found = directory.stat()
    if not found.st_mode & _OTHERS or not _is_only_ours(directory):
        return
    tighten(real_path(directory))  # first, so that nobody adds files during the check
    if found.st_mode & _OTHERS_WRITE:
        try:
            _refuse_foreign(directory, found.st_uid)
        except StateError:
            directory.chmod(stat.S_IMODE(found.st_mode))  # keep rejecting it next time
            raise
    for path in _below(directory):
        with suppress(FileNotFoundError):
            tighten(path)


def _below(directory: Path) -> Iterator[Path]:
    """Yield all paths below a directory; for scratch copies, with project modes, only the top."""
    for folder, folders, names in os.walk(directory):
        for name in (*folders, *names):
            yield Path(folder, name)
        if Path(folder).name == "scratch":
            folders.clear()


def note_identity(root: Path, *, first_commit: str | None, files: str | None) -> None:
    """Record how to recognise a project after it is moved.

    :param first_commit: of its git repository.
    :param files: digest of its top-level names.
    :raises OSError: it cannot be written.
    """
    path = real_path(root)
    known: dict[str, Any] = {"path": str(path), "used_at": _now()}
    _write_identity(_state_directory(path), {**known, "first_commit": first_commit, "files": files})


def known_projects() -> list[KnownProject]:
    """Return the projects with private state, the last used first.

    :raises ConfigError: the directory cannot be listed.
    """
    projects = state_dir() / "projects"
    try:
        directories = list(projects.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(f"{projects} cannot be read: {error.strerror}") from error
    return sorted(_known(directories), key=lambda one: one.used_at, reverse=True)


def known_project(path: Path) -> KnownProject | None:
    """Return the record of the project at a path, or None.

    :param path: real path; the project may be gone.
    :raises ConfigError: see `state_dir`.
    """
    return next(_known([_state_directory(path)]), None)


def _known(directories: list[Path]) -> Iterator[KnownProject]:
    for directory in directories:
        found = _identity(directory)
        path = found.get("path")
        if isinstance(path, str) and Path(path).is_absolute():
            texts = {key: found.get(key) for key in ("first_commit", "files")}
            kept = {key: value for key, value in texts.items() if isinstance(value, str)}
            used = found.get("used_at")
            yield KnownProject(directory, Path(path), used_at=used if isinstance(used, int) else 0, **kept)


def _identity(directory: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(read_regular(directory / IDENTITY, _LARGEST))
        if isinstance(found, dict):
            return found
    return {}


def move_project_state(old: Path, new: Path) -> Path:
    """Move the private state of a project to its new path, without trust.

    :param old: earlier path of the project.
    :param new: current path of the project.
    :returns: the new state directory.
    :raises ConfigError: the old path has no state, or the new path already has some.
    """
    before, target = _state_directory(old), _state_directory(real_path(new))
    if not (before / IDENTITY).is_file():
        raise ConfigError(f"there is no state of {old}; `tideate project list` lists all")
    if not has_no_work(target):
        raise ConfigError(
            f"{real_path(new)} has state of its own ({target}); `tideate project forget "
            f"{shlex.quote(str(new))}` removes that first"
        )
    found = _identity(before)
    try:
        for name in _OF_ONE_PATH:  # trust is bound to one path
            _remove(before / name)
            if (target / name).exists():
                (target / name).rename(before / name)
        _remove(target)
        before.rename(target)
        _write_identity(target, {**found, "path": str(real_path(new)), "used_at": _now()})
    except OSError as error:
        raise ConfigError(f"{before} cannot be moved: {error.strerror}") from error
    return target


def has_no_work(state: Path) -> bool:
    """Return whether a project's state has no runs or snapshots; a missing one has none."""
    try:
        return {path.name for path in state.iterdir()} <= {IDENTITY, *_OF_ONE_PATH}
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_identity(directory: Path, content: dict[str, Any]) -> None:
    write_atomic(directory / IDENTITY, json.dumps(content, indent=1).encode())


def _now() -> int:
    return time.time_ns() // 1_000_000
