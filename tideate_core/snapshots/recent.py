"""The manifests that were read or written last: what is known of one is not parsed again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.manifest import parsed

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.snapshots.manifest import Header, Manifest

__all__ = ["Recent"]

MANIFESTS: Final = 3
"""The one that is restored, the one that the files are compared with, and the one made before the restore."""
LARGEST: Final = 50_000
"""Paths of one that is kept in memory, where each takes some 400 bytes."""


class Recent:
    """A few manifests by digest. What is on disk counts: they only save parsing what was read there."""

    def __init__(self) -> None:
        self._known: dict[str, Manifest] = {}

    def manifest(self, path: Path, header: Header, rest: bytes, like: Manifest | None = None) -> Manifest:
        """Return a manifest of its parts, as they were read and checked.

        :param like: one that has most of its entries.
        :raises WorkspaceError: it is damaged.
        """
        known = self._known.get(header.digest)
        if known is not None and known.rest == rest:
            found = replace(known, header=header)
        else:
            found = parsed(path, header, rest, like or next(reversed(self._known.values()), None))
        self.keep(found)
        return found

    def keep(self, manifest: Manifest) -> None:
        """Keep one, and let go of the one that was needed longest ago."""
        if len(manifest.entries) > LARGEST:
            return
        self._known.pop(manifest.header.digest, None)
        self._known[manifest.header.digest] = manifest
        while len(self._known) > MANIFESTS:
            del self._known[next(iter(self._known))]
