"""Settings that limit a snapshot: file size, total size, number of files, and snapshots kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.config import SnapshotsConfig, WatchConfig
    from tideate_core.snapshots.manifest import CaptureFilter

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
    left_out: tuple[str, ...] = ()
    """Names of ignored directories to leave out; caches are left out if there are names."""
    max_stored: int | None = None
    """Bytes on disk of the snapshots of one series."""

    @classmethod
    def configured(cls, section: SnapshotsConfig) -> SnapshotLimits:
        """Return the limits of a configuration."""
        return cls(
            keep=section.keep,
            max_file=section.max_file_mib * MIB,
            max_total=section.max_total_mib * MIB,
            ignored_directories=section.ignored_directories,
        )

    @classmethod
    def of_watch(cls, section: WatchConfig, snapshots: SnapshotsConfig) -> SnapshotLimits:
        """Return the limits of the snapshots of `tideate watch`."""
        return cls(
            keep=section.keep,
            max_file=snapshots.max_file_mib * MIB,
            max_total=section.max_mib * MIB,
            ignored_directories=True,
            left_out=tuple(section.leave_out),
            max_stored=section.max_mib * MIB,
        )

    def with_filter(self, used: CaptureFilter | None) -> SnapshotLimits:
        """Return the limits with the filter of a snapshot, so that both sides of a comparison see the same.

        :param used: None for a snapshot without a recorded filter.
        """
        return self if used is None else replace(self, **used.model_dump())
