"""Scratch copies: the project as a run sees it, in which anything may be written without touching it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.errors import ScratchUnavailable
from tideate_core.process import ProcessLimits, entering, make_environment, run_program
from tideate_core.project import make_project_state, private_within, real_path
from tideate_core.snapshots.scratch.baseline import Baseline
from tideate_core.snapshots.scratch.bodies import make_body
from tideate_core.snapshots.scratch.difference import read_difference
from tideate_core.snapshots.scratch.ignoring import IgnoredNames
from tideate_core.snapshots.scratch.kept import KeptFiles
from tideate_core.snapshots.scratch.laying import checked_name, lay_file
from tideate_core.snapshots.scratch.places import claim_place, release_place, sweep_places
from tideate_core.util.uncancelled import run_uncancelled, wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.snapshots.scratch.bodies import Body, ScratchKind
    from tideate_core.snapshots.scratch.difference import ScratchDifference
    from tideate_core.snapshots.scratch.laying import Content
    from tideate_core.snapshots.scratch.policy import CopyPolicy

__all__ = ["DIRECTORY", "Scratch", "open_scratch"]

DIRECTORY: Final = "scratch"
"""Of a project's private state: where its scratch copies are."""


_LIMITS: Final = ProcessLimits()


class Scratch:
    """A scratch copy that is open."""

    def __init__(
        self, body: Body, baseline: Baseline, place: Path, handle: int, failed: Sequence[str] = ()
    ) -> None:
        self._body = body
        self._failed = failed
        self._baseline = baseline
        self._place = place
        self._handle = handle
        self._laying = threading.Lock()

    @property
    def kind(self) -> ScratchKind:
        """Its kind: an overlay at the project's own path, or a copy at another one."""
        return self._body.kind

    @property
    def root(self) -> Path:
        """The root as programs in the scratch copy see it; of an overlay the project's own path."""
        return self._body.root

    @property
    def view(self) -> Path:
        """The root as this process sees it, while the scratch copy is open.

        Where a link leads is not to be followed there: a link with an absolute target leads out of it.
        """
        return self._body.view

    @property
    def notices(self) -> tuple[str, ...]:
        """Words for a person: why it is no overlay, what is linked or left out, what others left here."""
        return (*self._failed, *self._body.notices)

    def as_json(self) -> dict[str, Any]:
        """Return what an event tells of it."""
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
        """Run a program in the scratch copy, to its end, as `run_program` does.

        :param cwd: directory below the root, with ``/``.
        :param environment: all of it; None for that of `make_environment()`.
        :raises ScratchUnavailable: the scratch copy is gone, or has no such directory.
        :raises InvalidCommand: `argv` is no command.
        :raises ProgramMissing: there is no such program.
        :raises ProgramNotExecutable: it is there and cannot be run.
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
        """Return the environment for a program that is started by `command`; blocking, reads files.

        :param environment: all of it, None for that of `make_environment()`. Variables are added by which
            git finds the right repository, and in a copy Python the right packages.
        """
        return self._body.environment(make_environment() if environment is None else environment)

    def command(self, argv: Sequence[str], *, cwd: str = "") -> list[str]:
        """Return the command with which another part of tideate starts a program in the scratch copy.

        Of a copy the caller has to set the working directory, too: it is `root` and `cwd`. When the scratch
        copy is closed, or its owner killed, what is left in an overlay is ended.

        :param cwd: directory below the root, with ``/``.
        """
        if self._body.namespace is None:
            return list(argv)
        return entering(self._body.namespace, self.root / cwd, argv)

    async def lay_over(self, files: Mapping[str, Content]) -> None:
        """Make paths hold other contents, as later edits of a run do; they are no part of the difference.

        :param files: by path below the root: bytes, which keep the mode of what stands there; an image; or
            None, which deletes.
        :raises OutsideRoot: a path leaves the root, or is in `.git` or `.tideate`; nothing was written.
        :raises WorkspaceError: one cannot be written; others may have been.
        """
        self._check_there()
        for name in files:
            checked_name(name)
        await run_uncancelled(asyncio.to_thread(self._lay, dict(files)))

    async def difference(self) -> ScratchDifference:
        """Return what was changed since it was opened, what was laid over it left out.

        What is written in `.git` and `.tideate`, in caches and to what git ignores stays in the scratch copy
        and goes with it; the difference names it under `ignored`.

        :raises ScratchUnavailable: the scratch copy is gone.
        :raises OSError: it cannot be read.
        """
        self._check_there()
        return await asyncio.to_thread(self._difference)

    async def close(self) -> str | None:
        """End what still runs in it and remove it; returns why something could not be removed."""
        return await run_uncancelled(asyncio.to_thread(self._close))

    def _check_there(self) -> None:
        if not self._body.is_there:
            raise ScratchUnavailable("the scratch copy is gone; make another one")

    def _lay(self, files: Mapping[str, Content]) -> None:
        with self._laying:
            for name, content in files.items():
                self._baseline.laid[name] = lay_file(self.view, name, content, self._baseline.made)

    def _difference(self) -> ScratchDifference:
        with self._laying, IgnoredNames(self._baseline.root, self.view) as names:
            body = self._body
            return read_difference(body.changes(names), self._baseline, names, body.as_in_project)

    def _close(self) -> str | None:
        self._body.close()
        if self._baseline.kept is not None:
            self._baseline.kept.close()
        try:
            release_place(self._place, self._handle)
        except OSError as error:
            return f"{self._place} cannot be removed: {error.strerror}"
        return None


@asynccontextmanager
async def open_scratch(
    root: Path,
    private: Path | None = None,
    files: Mapping[str, Content] | None = None,
    *,
    kind: Literal["auto", "overlay", "copy"] = "auto",
    policy: CopyPolicy | None = None,
    keep: bool = False,
    notice: Callable[[str], None] | None = None,
) -> AsyncIterator[Scratch]:
    """Have a scratch copy of a project, which is gone when the block is left.

    What owners that were killed left is removed first. It is no sandbox: a program in it can write
    everywhere else that the person can.

    :param root: of the project.
    :param private: directory of its scratch copies, outside of it; None for the one in its private state.
    :param files: laid over it, as by `Scratch.lay_over`: staged edits and unsaved buffers.
    :param kind: `auto` is an overlay where there can be one.
    :param policy: what a copy does with large directories; None for links and omissions only where copies
        do not share their blocks.
    :param keep: copy the project's smaller files meanwhile, so that of what a person changes, too, the
        difference has what stood there before, and it can be merged.
    :param notice: is told what a person should know, see `Scratch.notices`.
    :raises ScratchUnavailable: it cannot be made.
    :raises StateError: the private state cannot be used.
    :raises WorkspaceError: as of `Scratch.lay_over`.
    """
    project = real_path(root)
    for name in files or ():
        checked_name(name)
    stop = threading.Event()
    opening = asyncio.ensure_future(asyncio.to_thread(_open, project, private, kind, policy, keep, stop))
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
    policy: CopyPolicy | None,
    keep: bool,
    stop: threading.Event,
) -> Scratch:
    baseline = Baseline(project)
    try:
        directory = make_project_state(project) / DIRECTORY if private is None else private
        failed = sweep_places(directory)
        place, handle = claim_place(directory)
    except OSError as error:
        raise ScratchUnavailable(f"no scratch copy can be made: {error}") from error
    with ExitStack() as undo:
        undo.callback(release_place, place, handle)
        try:
            body = make_body(project, place, kind, policy, stop)
            undo.callback(body.close)
            if keep:
                own = private_within(project)
                baseline.kept = KeptFiles(project, place / "kept", baseline.began, own)
        except OSError as error:
            raise ScratchUnavailable(f"no scratch copy can be made in {place}: {error}") from error
        undo.pop_all()
    return Scratch(body, baseline, place, handle, failed)
