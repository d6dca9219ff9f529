"""Detection of the kind of scratch copy available on this machine."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import ScratchUnavailable
from tideate_core.project import project_state, real_path
from tideate_core.snapshots.scratch.cloning import shares_blocks
from tideate_core.snapshots.scratch.overlay import Overlay
from tideate_core.snapshots.scratch.removal import remove_tree
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from tideate_core.snapshots.scratch.bodies import ScratchKind


@dataclass(frozen=True, slots=True)
class ScratchSupport:
    """The kind that `auto` chooses."""

    kind: ScratchKind
    reason: str
    """Why it is not an overlay; empty if it is one."""
    shares_blocks: bool = False
    """A copy takes neither time nor space for unchanged files."""

    @property
    def words(self) -> str:
        """Description for the user."""
        if self.kind == "overlay":
            return "an overlay at the project's own path: no copy, any size"
        how = "that shares its blocks" if self.shares_blocks else "with links to installed dependencies"
        return f"a real copy {how}, not an overlay: {self.reason}"


def scratch_support(root: Path | None) -> ScratchSupport:
    """Try to mount an overlay; blocking, about 50 ms. It leaves no files.

    :param root: of a project; None tries it with an empty directory.
    :raises ConfigError: the directory of private state is unknown.
    """
    place = _beside(project_state(root))
    try:
        folder = Path(tempfile.mkdtemp(prefix=".tideate-scratch-", dir=place))
    except OSError as error:
        return ScratchSupport("copy", f"nothing can be written in {place} ({error.strerror})")
    try:
        return _try(folder / "root" if root is None else real_path(root), folder)
    finally:
        remove_tree(folder)


def _try(root: Path, folder: Path) -> ScratchSupport:
    make_private_directory(folder / "root")
    make_private_directory(folder / "changes")
    try:
        Overlay.mount(root, folder / "changes").close()
    except (ScratchUnavailable, OSError) as error:
        return ScratchSupport("copy", str(error), _shares_blocks(root, folder))
    return ScratchSupport("overlay", "")


def _shares_blocks(root: Path, folder: Path) -> bool:
    try:
        return shares_blocks(root, folder)
    except OSError:
        return False


def _beside(path: Path) -> Path:
    """Return a directory in the file system of a path that may not exist, preferably the temporary one."""
    existing = next(one for one in (path, *path.parents) if one.is_dir())
    temporary = Path(tempfile.gettempdir())
    return temporary if temporary.stat().st_dev == existing.stat().st_dev else existing
