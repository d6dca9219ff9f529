"""Settings that limit a snapshot: file size, total size, number of files, and snapshots kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.config import SnapshotsConfig

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Limits of a snapshot; files over them are left out with a notice."""

    keep: int = 10
    """Snapshots of a project; a new one evicts the oldest."""
    max_file: int = 100 * MIB
    """Bytes of one file."""
    max_total: int = 4096 * MIB
    """Bytes of all files of a snapshot."""
    max_files: int = 200_000
    ignored_directories: bool = False
    """Include directories that git ignores, such as `node_modules`."""

    @classmethod
    def configured(cls, section: SnapshotsConfig) -> SnapshotLimits:
        """Return the limits of a configuration."""
        return cls(
            keep=section.keep,
            max_file=section.max_file_mib * MIB,
            max_total=section.max_total_mib * MIB,
            ignored_directories=section.ignored_directories,
        )
