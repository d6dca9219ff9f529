"""A hostile clone: forged state in `.tideate/`, and files beside it that it could harm."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from tests.harness.project import Project

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Clone"]

ENVRC = b"touch ran-by-direnv\n"
RUN = "f00dfacef00dface"


class Clone(Project):
    """A project as an attacker would publish it.

    :param root: of the project.
    :param home: of the person; gets files to lose.
    """

    def __init__(self, root: Path, home: Path) -> None:
        super().__init__(root)
        self.home = home
        self.victim = home / "precious.txt"
        self.victim.write_text("precious\n")
        self.treasure = home / "treasure"
        (self.treasure / RUN).mkdir(parents=True)
        (self.treasure / "one.txt").write_text("one\n")
        (self.treasure / RUN / "two.txt").write_text("two\n")
        self.sibling = home / "sibling"

    def outside(self) -> dict[str, tuple[int, str]]:
        """Return mode and content of the files outside the project and tideate's own state, by path."""
        return {
            str(path.relative_to(self.home)): (path.lstat().st_mode, self._content(path))
            for path in sorted([self.victim, *self._tree(self.treasure), *self._tree(self.sibling)])
        }

    def _tree(self, top: Path) -> list[Path]:
        return [top, *top.rglob("*")] if top.exists() else []

    def _content(self, path: Path) -> str:
        return path.read_text() if path.is_file() else ""

    def upwards(self, path: Path) -> str:
        """Return a path as relative to the project."""
        return os.path.relpath(path, self.root)

    def link(self, name: str, target: Path) -> None:
        """Make a path in `.tideate/` a link; `.` is `.tideate` itself."""
        path = self.root / ".tideate" / name if name != "." else self.root / ".tideate"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def forge_restore(self, temp: Path | str) -> None:
        """Forge the journal of a restore of a snapshot that was interrupted."""
        self.forge_journal("snapshots/journal", RUN, str(temp))

    def forge_journal(self, place: str, run: str, temp: str) -> None:
        """Forge an apply that would write `.envrc` when it is put back, and delete `temp`."""
        digest = hashlib.blake2b(ENVRC, digest_size=20).hexdigest()
        absent = {"kind": "absent", "digest": "", "mode": 0}
        written = {
            "kind": "file",
            "path": ".envrc",
            "before": {"kind": "file", "digest": digest, "mode": 0o755},
            "after": absent,
            "temp": ".tideate-0123456789abcdef.tmp",
            "offset": 0,
            "length": len(ENVRC),
        }
        # nothing is to be restored here: only what was left beside it is removed
        removed = {"kind": "file", "path": "none", "before": absent, "after": absent, "temp": temp}
        folder = self.root / ".tideate" / place / run / "0001"
        folder.mkdir(parents=True)
        (folder / "before").write_bytes(ENVRC)
        manifest = {"version": 1, "step": None, "entries": [written, removed], "seal": ""}
        (folder / "manifest.json").write_text(json.dumps(manifest))

    def trusted_sibling(self) -> None:
        """Create another project with a configuration that starts relative commands."""
        config = self.sibling / ".tideate" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            '[mcp.servers.helper]\ncommand = ["./helper.sh"]\n[verify]\ntests = ["sh", "./check.sh"]\n'
        )
        (self.sibling / "helper.sh").write_text("#!/bin/sh\nexit 1\n")
        (self.sibling / "helper.sh").chmod(0o755)
        (self.sibling / "check.sh").write_text("exit 0\n")
