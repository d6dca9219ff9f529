"""Open a scratch copy (overlay or real copy) and run programs in it."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tideate_core.errors import ScratchUnavailable
from tideate_core.process import ProcessLimits, entering, make_environment, run_program
from tideate_core.project import make_project_state, private_within, project_state, real_path
from tideate_core.snapshots.scratch.cloning import shares_blocks
from tideate_core.snapshots.scratch.copying import copy_project
from tideate_core.snapshots.scratch.foreign_paths import environment_in_copy
from tideate_core.snapshots.scratch.laying import checked_name, lay_file
from tideate_core.snapshots.scratch.overlay import Overlay
from tideate_core.snapshots.scratch.places import claim_place, release_place, remove_tree, sweep_places
from tideate_core.util.private_files import make_private_directory
from tideate_core.util.uncancelled import run_uncancelled, wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.snapshots.scratch.copying import Copied
    from tideate_core.snapshots.scratch.laying import Content

DIRECTORY: Final = "scratch"
"""Directory in a project's private state for its scratch copies."""


_LIMITS: Final = ProcessLimits()
ScratchKind: TypeAlias = Literal["overlay", "copy"]


class Scratch:
    """Open scratch copy."""

    def __init__(
        self,
        body: Overlay | Copy,
        place: Path,
        handle: int,
        failed: Sequence[str] = (),
    ) -> None:
        self._body = body
        self._failed = failed
        self._place = place
        self._handle = handle
        self._laying = threading.Lock()

    @property
    def kind(self) -> ScratchKind:
        """Overlay at the project's own path, or copy elsewhere."""
        return self._body.kind

    @property
    def root(self) -> Path:
        """Root as programs in the scratch copy see it; for an overlay, the project's own path."""
        return self._body.root

    @property
    def view(self) -> Path:
        """Root as this process sees it, while the scratch copy is open.

        Links must not be followed there: an absolute target leads out of it.
        """
        return self._body.view

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user: why it is not an overlay, links, omissions, leftovers of killed owners."""
        return (*self._failed, *self._body.notices)

    def as_json(self) -> dict[str, Any]:
        """Return the fields for an event."""
        return {"kind": self.kind, "root": str(self.root), "notices": list(self.notices)}

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "",
        environment: Mapping[str, str] | None = None,
        limits: ProcessLimits = _LIMITS,
        on_lines: Callable[[Sequence[OutputLine]], None] | None = None,
        hint: str = "",
    ) -> CommandResult:
        """Run a program in the scratch copy, like `run_program`.

        :param cwd: directory below the root, with ``/``.
        :param environment: complete environment; None for `make_environment()`.
        :raises ScratchUnavailable: the scratch copy is gone, or has no such directory.
        :raises InvalidCommand: `argv` is no command.
        :raises ProgramMissing: the program does not exist.
        :raises ProgramNotExecutable: the program cannot be executed.
        """
        self._check_there()
        if cwd and not (self.view.joinpath(*checked_name(cwd))).is_dir():
            raise ScratchUnavailable(f"the scratch copy has no directory {cwd}")
        result = await run_program(
            argv,
            cwd=self.root / cwd,
            environment=await asyncio.to_thread(self.environment, environment),
            limits=limits,
            on_lines=on_lines,
            hint=hint,
            namespace=self._body.namespace,
        )
        self._check_there()
        return result

    def environment(self, environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """Return the environment for a program started with `command`; blocking, reads files.

        :param environment: complete environment; None for `make_environment()`. The result also makes git
            find the right repository and, in a copy, Python the right packages.
        """
        return self._body.environment(make_environment() if environment is None else environment)

    def command(self, argv: Sequence[str], *, cwd: str = "") -> list[str]:
        """Return the command line that starts a program in the scratch copy.

        For a copy, the caller also has to set the working directory `root / cwd`. Programs in an overlay are
        ended when the scratch copy is closed or its owner killed.

        :param cwd: directory below the root, with ``/``.
        """
        if self._body.namespace is None:
            return list(argv)
        return entering(self._body.namespace, self.root / cwd, argv)

    async def lay_over(self, files: Mapping[str, Content]) -> None:
        """Replace the content of paths, as later edits of a run do.

        :param files: by path below the root: bytes, which keep the file's mode; an image; or None for a
            deletion.
        :raises OutsideRoot: a path leaves the root, or is in `.git` or `.tideate`; nothing was written.
        :raises WorkspaceError: a path cannot be written; others may have been.
        """
        self._check_there()
        for name in files:
            checked_name(name)
        await run_uncancelled(asyncio.to_thread(self._lay, dict(files)))

    async def close(self) -> str | None:
        """End all programs in the scratch copy and remove it; return the reason if a part remains."""
        return await run_uncancelled(asyncio.to_thread(self._close))

    def _check_there(self) -> None:
        if not self._body.is_there:
            raise ScratchUnavailable("the scratch copy is gone; make another one")

    def _lay(self, files: Mapping[str, Content]) -> None:
        with self._laying:
            for name, content in files.items():
                lay_file(self.view, name, content)

    def _close(self) -> str | None:
        self._body.close()
        try:
            release_place(self._place, self._handle)
        except OSError as error:
            return f"{self._place} cannot be removed: {error.strerror}"
        return None


def _make_files(
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

    @property
    def is_there(self) -> bool:
        return self.root.is_dir()

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return environment_in_copy(self._project, self.root, environment)

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


@asynccontextmanager
async def open_scratch(
    root: Path,
    private: Path | None = None,
    files: Mapping[str, Content] | None = None,
    *,
    kind: Literal["auto", "overlay", "copy"] = "auto",
    notice: Callable[[str], None] | None = None,
) -> AsyncIterator[Scratch]:
    """Open a scratch copy of a project; it is removed at the end of the block.

    Scratch copies of killed owners are removed first. It is no sandbox: programs in it can write to all other
    files of the user.

    :param root: of the project.
    :param private: directory of its scratch copies, outside of it; None for the one in its private state.
    :param files: laid over it, see `Scratch.lay_over`: staged edits and unsaved buffers.
    :param kind: `auto` prefers an overlay.
    :param notice: called with each of `Scratch.notices`.
    :raises ScratchUnavailable: it cannot be created.
    :raises StateError: the private state cannot be used.
    :raises WorkspaceError: see `Scratch.lay_over`.
    """
    project = real_path(root)
    for name in files or ():
        checked_name(name)
    stop = threading.Event()
    opening = asyncio.ensure_future(asyncio.to_thread(_open, project, private, kind, stop))
    if await wait_uncancelled(opening, stop.set):
        if opening.exception() is None:
            await opening.result().close()
        raise asyncio.CancelledError
    scratch = opening.result()
    tell = notice or (lambda _: None)
    try:
        for words in scratch.notices:
            tell(words)
        if files:
            await scratch.lay_over(files)
        yield scratch
    finally:
        if (left := await scratch.close()) is not None:
            tell(left)


def _open(
    project: Path,
    private: Path | None,
    kind: Literal["auto", "overlay", "copy"],
    stop: threading.Event,
) -> Scratch:
    try:
        directory = make_project_state(project) / DIRECTORY if private is None else private
        failed = sweep_places(directory)
        place, handle = claim_place(directory)
    except OSError as error:
        raise ScratchUnavailable(f"no scratch copy can be made: {error}") from error
    with ExitStack() as undo:
        undo.callback(release_place, place, handle)
        try:
            body = _make_files(project, place, kind, stop)
            undo.callback(body.close)
        except OSError as error:
            raise ScratchUnavailable(f"no scratch copy can be made in {place}: {error}") from error
        undo.pop_all()
    return Scratch(body, place, handle, failed)
