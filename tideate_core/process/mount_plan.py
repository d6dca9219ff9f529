"""Mount plan: ordered mounts of a private view, applied by the holder of its namespaces."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Overlay:
    """Overlay mounted over a directory."""

    place: Path
    lowers: tuple[Path, ...]
    """Lower layers, the uppermost first."""
    upper: Path
    work: Path
    """Empty directory in the file system of `upper`."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Directory or file visible at another path, with all mounts below it."""

    source: Path
    place: Path
    writable: bool


@dataclass(frozen=True, slots=True)
class Tmpfs:
    """Empty file system in memory."""

    place: Path
    size: int
    """Bytes."""
    mode: int


@dataclass(frozen=True, slots=True)
class Hide:
    """Empty directory over a directory, or empty file over a file; a missing path is accepted."""

    place: Path


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """Make all earlier mounts read-only, without devices and setuid programs; sources keep their state."""


@dataclass(frozen=True, slots=True)
class Shade:
    """Directory with changes in memory, which are reported at the end and discarded.

    It is read-only if the system cannot mount an overlay there.
    """

    place: Path
    size: int
    """Bytes."""
    kept: tuple[str, ...] = ()
    """Names of files there whose new contents are in the report, and are not reported as discarded."""


@dataclass(frozen=True, slots=True)
class Proc:
    """`/proc` with only the processes of the namespace."""


@dataclass(frozen=True, slots=True)
class Dev:
    """`/dev` with harmless devices, terminals of its own and private shared memory."""

    size: int
    """Bytes of shared memory."""


Mount: TypeAlias = Overlay | Bind | Tmpfs | Hide | ReadOnly | Shade | Proc | Dev
MountPlan: TypeAlias = tuple[Mount, ...]
"""Mounts in their order. Sources and layers are paths outside of the namespace."""


def plan_as_json(plan: Iterable[Mount]) -> list[dict[str, Any]]:
    """Return a plan as JSON values: the fields of each mount and its kind under `mount`."""
    return [{"mount": type(one).__name__.lower(), **_plain(asdict(one))} for one in plan]


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [str(one) for one in value]
        if isinstance(value, tuple)
        else value
        if isinstance(value, bool | int)
        else str(value)
        for name, value in fields.items()
    }


Network: TypeAlias = Literal["on", "loopback", "off"]
"""The machine's network, only the namespace's own loopback addresses, or none."""


DISK: Final = 10 << 30
"""Default limit of bytes on the disk."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for programs in the namespaces; they also lose all capabilities and gain no privileges."""

    network: Network = "on"
    processes: int = 4096
    """Limit of processes and threads."""
    disk: int = DISK
    """Bytes that changes in overlays may take on the disk; then all programs are killed."""
