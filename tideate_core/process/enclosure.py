"""Enclosure: limits on the files, network and rights of a guarded program, and a report at its end."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ScratchUnavailable
from tideate_core.process.enter import has_landlock_scopes
from tideate_core.process.mount_plan import (
    Bind,
    Dev,
    Hide,
    Mount,
    MountPlan,
    Proc,
    ReadOnly,
    Rules,
    Shade,
    Tmpfs,
)
from tideate_core.process.namespaces import Namespaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PRIVATE: tuple[str, ...] = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 each program gets its own
"""Directories that are empty and private in an enclosure."""
KEPT: Final = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers")
"""Directories of programs and libraries on some systems."""
SOCKETS: Final = Path("/proc/net/unix")
MOST_SOCKETS: Final = 200
_SMALL: Final = 1 << 24
"""Size in bytes of a file system for a few files."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Limits of a guarded program, which has no capabilities and ends with the guard."""

    home: Path
    """Home directory, whose changes are reported and discarded."""
    writable: tuple[Path, ...] = ()
    """Directories and files whose changes are kept; missing ones are left out."""
    hidden: tuple[Path, ...] = ()
    visible: tuple[Path, ...] = ()
    """Readable paths, even in hidden or private directories."""
    kept: tuple[Path, ...] = ()
    """Files directly in the home directory that programs replace; `KeptFiles` keeps their changes."""
    emptied: tuple[Path, ...] = ()
    """Directories that are empty for the program; its changes there are discarded."""
    rules: Rules = field(default_factory=Rules)

    def mounts(self, project: Iterable[Mount]) -> MountPlan:
        """Return the plan of a view in which only some directories are writable; blocking.

        :param project: mounts of the project's copy.
        """
        copy = tuple(project)
        roots = [one.place for one in copy if not isinstance(one, ReadOnly | Proc | Dev)]
        private = [path for path in map(Path, PRIVATE) if path.is_dir() and not path.is_symlink()]
        home = _real(self.home)
        shaded = home.is_dir() and home != Path("/") and not _is_below(home, roots)
        # the program may have planted a link in a writable directory: its target is not the person's choice
        shared = [
            path
            for path in map(_real, self._outermost((*self.writable, *(() if shaded else self.kept))))
            if _exists(path)
        ]
        outer = [path for path in shared if any(root.is_relative_to(path) for root in roots)]
        hidden = [*map(_real, self.hidden), *_sockets(private)]
        covered = (*private, *hidden)
        visible = [
            path
            for path in (*map(_real, self._outermost(self.visible)), *_needed())
            if _exists(path) and _is_below(path, covered)
        ]
        return (
            ReadOnly(),
            Dev(_memory(4)),
            Proc(),
            *(
                Tmpfs(path, _SMALL, 0o755) if path.name == "run" else Tmpfs(path, _memory(2), 0o1777)
                for path in private
            ),
            Tmpfs(Path(f"/run/user/{os.getuid()}"), _SMALL, 0o700),
            *([Shade(home, _memory(4), tuple(path.name for path in self.kept))] if shaded else []),
            *(Bind(path, path, writable=True) for path in outer),
            *copy,
            *(
                Bind(path, path, writable=True)
                for path in shared
                if path not in outer and (home in roots or not _is_below(path, roots))
            ),
            *(
                Tmpfs(path, _SMALL, 0o700)
                for path in dict.fromkeys(map(_real, self.emptied))
                if path.is_dir() and not any(_is_below(one, [path]) for one in roots)
            ),
            *(
                Hide(path)
                for path in dict.fromkeys(hidden)
                if not any(_is_below(one, [path]) for one in roots)
            ),
            *(Bind(path, path, writable=False) for path in dict.fromkeys(visible)),
        )

    def _outermost(self, paths: Iterable[Path]) -> list[Path]:
        """Return the paths outside of all writable directories."""
        return [
            path
            for path in paths
            if not any(path.is_relative_to(one) for one in self.writable if one != path)
        ]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 false below a directory that may not be searched


def _is_below(path: Path, roots: Iterable[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _memory(part: int) -> int:
    """Return a fraction of the machine's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // part


def _needed() -> Iterator[Path]:
    """Yield files of the system and of tideate that programs need from private or hidden directories."""
    yield from (Path(path) for path in KEPT)
    yield _real(Path("/etc/resolv.conf"))
    yield from dict.fromkeys(
        (Path(sys.prefix), Path(sys.base_prefix), _real(Path(sys.executable)), Path(__file__).parents[1])
    )


def _sockets(private: Iterable[Path]) -> Iterator[Path]:
    """Yield sockets in the file system, outside of private directories: connecting writes no file."""
    try:
        lines = SOCKETS.read_bytes().splitlines()
    except OSError:
        return
    names = {os.fsdecode(fields[7]) for line in lines if len(fields := line.split(b" ", 7)) == 8}
    named = [Path(name) for name in sorted(names) if name.startswith("/")]
    found = (path for path in named if not _is_below(path, private) and _is_socket(path))
    yield from (path for path, _ in zip(found, range(MOST_SOCKETS), strict=False))


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False


NOT_SHADED: Final = (
    "your home directory is read-only for agents, because another file system is mounted below it, or the "
    "system is older than Linux 6.6"
)
SEES_PROCESSES: Final = "agents see the names of all processes, because a part of /proc is hidden here"
REACHES_SOCKETS: Final = "agents can connect to abstract sockets of your programs; Linux 6.12 prevents this"
ALLOW: Final = "the page Security of the documents has an AppArmor profile that allows it only for tideate"


@dataclass(frozen=True, slots=True)
class EnclosureSupport:
    """Support of this system for enclosures."""

    reason: str
    """Reason why programs cannot be enclosed; empty if they can."""
    notices: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Description for the user."""
        if self.reason:
            advice = f". {ALLOW}" if "apparmor" in self.reason else ""
            return (
                "a real copy at another path; agents can write to all of your files and read your secrets: "
                f"{self.reason}{advice}"
            )
        whole = "agents write only to a copy at the project's own path and to directories of their own"
        return "; ".join([whole, *self.notices])


def enclosure_support() -> EnclosureSupport:
    """Try an enclosure; blocking, about 50 ms. No files remain."""
    inside = Enclosure(Path.home())
    try:
        held = Namespaces.hold(inside.mounts([]), inside.rules)
    except (ScratchUnavailable, OSError) as error:
        return EnclosureSupport(str(error))
    held.close()
    named = {"unshaded": NOT_SHADED, "processes": SEES_PROCESSES}
    notices = [named[one] for one in held.notices]
    if has_landlock_scopes():
        return EnclosureSupport("", tuple(notices))
    return EnclosureSupport("", (*notices, REACHES_SOCKETS))


@dataclass(frozen=True, slots=True)
class OutsideChange:
    """Change of the home directory, outside of the project and the writable directories."""

    path: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class Ran:
    """Program and its running time in seconds."""

    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class EscapeReport:
    """Actions of a guarded program outside of its copy."""

    outside: int = 0
    """Number of discarded changes in the home directory."""
    named: tuple[OutsideChange, ...] = ()
    """First discarded changes."""
    longest: tuple[Ran, ...] = ()
    """Programs with the longest running times, if over a few seconds."""
    ended: tuple[str, ...] = ()
    """Programs that were still running and were ended."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons for changes of kept files that were discarded nevertheless, by path."""
    full: str = ""
    """Reason why all programs were ended: they took too much of the disk."""

    @classmethod
    def of(cls, report: Mapping[str, Any], refused: Mapping[str, str] | None = None) -> EscapeReport:
        """Return the report of a holder's values; empty if it could not report."""
        return cls(
            report.get("outside", 0),
            tuple(OutsideChange(*one) for one in report.get("named", ())),
            tuple(Ran(*one) for one in report.get("ran", ())),
            tuple(report.get("ended", ())),
            refused or {},
            report.get("full", ""),
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """Sentences for the user; control characters are not escaped."""
        said = []
        if self.full:
            said.append(f"ended the program: {self.full}; `max_mib` under [agents.NAME] is its limit")
        if self.outside:
            kinds = [f"{one.path}{' (deleted)' if one.deleted else ''}" for one in self.named]
            more = f" and {self.outside - len(kinds):,} more" if self.outside > len(kinds) else ""
            said.append(f"discarded changes outside of the project: {', '.join(kinds)}{more}")
        said += [f"discarded a change of {path}: {why}" for path, why in self.refused.items()]
        if self.ended:
            said.append(f"ended programs that were still running: {', '.join(self.ended)}")
        return said
