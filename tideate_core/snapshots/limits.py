"""Limits of snapshots: how much one takes in, and how many are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.config import SnapshotsConfig

__all__ = ["MIB", "SnapshotLimits"]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Limits; files over them are left out, which the snapshot says."""

    keep: int = 10
    """Snapshots of a project; the oldest ones go when a new one is made."""
    max_file: int = 100 * MIB
    """Bytes of one file."""
    max_total: int = 4096 * MIB
    """Bytes of all files of a snapshot together."""
    max_files: int = 200_000
    ignored_directories: bool = False
    """Take in also what is in directories that git ignores, as `node_modules`."""

    @classmethod
    def configured(cls, section: SnapshotsConfig) -> SnapshotLimits:
        """Return those that a person's configuration says."""
        return cls(
            keep=section.keep,
            max_file=section.max_file_mib * MIB,
            max_total=section.max_total_mib * MIB,
            ignored_directories=section.ignored_directories,
        )
