"""Files of a scratch copy: an overlay at the project's own path, or a real copy elsewhere."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tideate_core.errors import ScratchUnavailable
from tideate_core.project import private_within, project_state, real_path
from tideate_core.snapshots.scratch.cloning import shares_blocks
from tideate_core.snapshots.scratch.copying import changed_in_copy, copy_project
from tideate_core.snapshots.scratch.foreign_paths import editable_sources
from tideate_core.snapshots.scratch.overlay import Overlay
from tideate_core.snapshots.scratch.places import remove_tree
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping

    from tideate_core.snapshots.scratch.copying import Copied
    from tideate_core.snapshots.scratch.difference import Found
    from tideate_core.snapshots.scratch.ignoring import IgnoredNames


ScratchKind: TypeAlias = Literal["overlay", "copy"]


def make_body(
    root: Path,
    place: Path,
    kind: Literal["auto", "overlay", "copy"],
    stop: threading.Event,
) -> Overlay | Copy:
    """Create the files of a scratch copy; blocking.

    :param root: of the project, real.
    :param place: an empty directory of its own.
    :raises ScratchUnavailable: it cannot be created.
    :raises OSError: the place cannot be used.
    """
    reason = ""
    if kind != "copy":
        try:
            return Overlay.mount(root, place)
        except ScratchUnavailable as error:
            if kind == "overlay":
                raise
            reason = str(error)
            for directory in place.iterdir():
                remove_tree(directory)
    copied = copy_project(root, place / "tree", without=private_within(root), stop=stop)
    return Copy(root, place / "tree", copied, reason)


class Copy:
    """Real copy of a project.

    :param reason: why it is not an overlay; empty if a copy was requested.
    """

    kind: Final = "copy"
    namespace = None

    def __init__(self, project: Path, tree: Path, copied: Copied, reason: str) -> None:
        self.root = self.view = tree
        self.notices = (*([f"a real copy is used: {reason}"] if reason else []), *copied.notices())
        self._project = project
        self._copied = copied

    @property
    def is_there(self) -> bool:
        return self.root.is_dir()

    def changes(self, names: IgnoredNames) -> Iterator[Found]:
        return changed_in_copy(self.root, self._copied, names)

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return an environment that keeps programs from finding the original project.

        Python imports editable packages from the copy, and git searches no repository above it.
        """
        sources = [self.root / path.relative_to(self._project) for path in editable_sources(self._project)]
        ceilings = [str(self.root.parent), environment.get("GIT_CEILING_DIRECTORIES", "")]
        known = {**environment, "GIT_CEILING_DIRECTORIES": os.pathsep.join(filter(None, ceilings))}
        if sources:
            paths = [*map(str, sources), environment.get("PYTHONPATH", "")]
            known["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return known

    def as_in_project(self, image: FileImage) -> FileImage:
        """Turn a link into the copy into a link into the project."""
        if image.state.kind != "link":
            return image
        target = Path(os.fsdecode(image.data))
        if not target.is_relative_to(self.root):
            return image
        return FileImage.of_link(os.fsencode(self._project / target.relative_to(self.root)))

    def close(self) -> None:
        """Do nothing: a copy is only files."""


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
        shares = False
        with suppress(OSError):
            shares = shares_blocks(root, folder)
        return ScratchSupport("copy", str(error), shares)
    return ScratchSupport("overlay", "")


def _beside(path: Path) -> Path:
    """Return a directory in the file system of a path that may not exist, preferably the temporary one."""
    existing = next(one for one in (path, *path.parents) if one.is_dir())
    temporary = Path(tempfile.gettempdir())
    return temporary if temporary.stat().st_dev == existing.stat().st_dev else existing
