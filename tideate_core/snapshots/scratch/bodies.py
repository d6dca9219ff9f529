"""Files of a scratch copy: an overlay at the project's own path, or a real copy elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tideate_core.errors import ScratchUnavailable
from tideate_core.project import private_within
from tideate_core.snapshots.scratch.cloning import shares_blocks
from tideate_core.snapshots.scratch.copied_changes import changed_in_copy
from tideate_core.snapshots.scratch.copying import copy_project
from tideate_core.snapshots.scratch.foreign_paths import editable_sources
from tideate_core.snapshots.scratch.overlay import Overlay
from tideate_core.snapshots.scratch.policy import CopyPolicy
from tideate_core.snapshots.scratch.removal import remove_tree
from tideate_core.snapshots.scratch.upper import changed_in_upper
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping

    from tideate_core.snapshots.scratch.copying import Copied
    from tideate_core.snapshots.scratch.difference import Found
    from tideate_core.snapshots.scratch.ignoring import IgnoredNames

ScratchKind: TypeAlias = Literal["overlay", "copy"]


class Body(Protocol):
    """Files of a scratch copy of either kind; the methods are blocking."""

    kind: ScratchKind
    root: Path
    """Root as programs in the scratch copy see it."""
    view: Path
    """Root as this process sees it."""
    namespace: int | None
    """Pid of a process in the namespaces of the scratch copy; None if there are none."""
    notices: tuple[str, ...]
    """Notices for the user."""

    @property
    def is_there(self) -> bool: ...

    def changes(self, names: IgnoredNames) -> Iterator[Found]: ...

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]: ...

    def as_in_project(self, image: FileImage) -> FileImage: ...

    def close(self) -> None: ...


def make_body(
    root: Path,
    place: Path,
    kind: Literal["auto", "overlay", "copy"],
    policy: CopyPolicy | None,
    stop: threading.Event,
) -> Body:
    """Create the files of a scratch copy; blocking.

    :param root: of the project, real.
    :param place: an empty directory of its own.
    :param policy: of a copy; None links and omits directories only if copies do not share blocks.
    :raises ScratchUnavailable: it cannot be created.
    :raises OSError: the place cannot be used.
    """
    reason = ""
    if kind != "copy":
        try:
            return OverlayBody(root, Overlay.mount(root, place))
        except ScratchUnavailable as error:
            if kind == "overlay":
                raise
            reason = str(error)
            for directory in place.iterdir():
                remove_tree(directory)
    if policy is None:
        policy = CopyPolicy.sharing() if shares_blocks(root, place) else CopyPolicy()
    copied = copy_project(root, place / "tree", policy, without=private_within(root), stop=stop)
    return CopyBody(root, place / "tree", copied, reason)


class OverlayBody:
    """Overlay; its upper directory holds the changes."""

    kind: ScratchKind = "overlay"

    def __init__(self, root: Path, overlay: Overlay) -> None:
        self.root = root
        self.view = overlay.view(root)
        self.namespace: int | None = overlay.pid
        self.notices: tuple[str, ...] = ()
        self._overlay = overlay

    @property
    def is_there(self) -> bool:
        return self._overlay.is_mounted

    def changes(self, names: IgnoredNames) -> Iterator[Found]:
        return changed_in_upper(self._overlay.upper, self.root, names)

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        # the project's directory is a mount point, and git has to look beyond it
        return {**environment, "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}

    def as_in_project(self, image: FileImage) -> FileImage:
        return image

    def close(self) -> None:
        self._overlay.close()


class CopyBody:
    """Real copy.

    :param reason: why it is not an overlay; empty if a copy was requested.
    """

    kind: ScratchKind = "copy"

    def __init__(self, project: Path, tree: Path, copied: Copied, reason: str) -> None:
        self.root = tree
        self.view = tree
        self.namespace: int | None = None
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
