"""Use cases of bundles: put a run into a file, read the file, and open it in a project or a new work tree."""

from __future__ import annotations

import asyncio
import io
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app.control_requests import opened_store
from tideate_core.app.runs import short_id
from tideate_core.app.workflow_files import STDIN
from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.project import expand_home, real_path
from tideate_core.store import Reader
from tideate_core.util.atomic_files import write_atomic_at
from tideate_core.util.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path
    from typing import BinaryIO

    from tideate_core.app.wiring import Project
    from tideate_core.portable import Bundle, BundleFacts, TakenUp

SUFFIX: Final = ".tideate-bundle"
GIT_WITHIN: Final = 120.0
"""Maximum seconds for git to create a work tree."""


@dataclass(frozen=True, slots=True)
class BundleHere:
    """A bundle compared with a project."""

    facts: BundleFacts
    has_base: bool | None
    differs: tuple[str, ...]
    """Files that the run read or wrote and that have another content here."""
    executed: tuple[str, ...]
    """Files that the run wrote and that other tools execute without asking, with the reason."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        here = {"has_base": self.has_base, "differs": list(self.differs), "executed": list(self.executed)}
        return {**self.facts.as_json(), "here": here}


def bundle_file(run: str) -> str:
    """Return the default name of a run's bundle."""
    return f"{short_id(run)}{SUFFIX}"


def make_bundle(project: Project, wanted: str, *, with_secrets: bool = False) -> tuple[BundleFacts, bytes]:
    """Return the facts and the content of a run's bundle; blocking.

    :param wanted: a run id, a prefix of one, or `last`.
    :raises RunNotFound: no run has this id.
    :raises RunIsOwned: a living process has the run.
    :raises InvalidInput: the run cannot be moved, or it seems to hold secrets.
    :raises WorkspaceError: content that the run wrote was not kept.
    """
    from tideate_core.portable import create_bundle

    run = Reader(project.private).run(wanted)
    target = io.BytesIO()
    place = project.workspace.root or project.directory
    facts = create_bundle(place, project.private, run.id, target, with_secrets=with_secrets)
    return facts, target.getvalue()


def save_bundle(name: str, content: bytes) -> Path:
    """Write a bundle to a file that only the person can read; return its path.

    :raises WorkspaceError: it cannot be written; an existing file is unchanged.
    """
    path = expand_home(name)
    try:
        target = real_path(path)
        if target.exists() and not target.is_file():
            raise WorkspaceError(f"{name} is not a regular file; `-o -` writes to stdout")
        directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            write_atomic_at(directory, target.name, content)
        finally:
            os.close(directory)
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be written: {error.strerror}") from error
    return path


def load_bundle(name: str, stdin: BinaryIO) -> Bundle:
    """Read and check a bundle.

    :param name: a file; `STDIN` is stdin.
    :raises InvalidBundle: it is damaged or not a bundle.
    :raises WorkspaceError: the file cannot be read.
    """
    from tideate_core.portable import read_bundle

    if name == STDIN:
        return read_bundle(stdin)
    try:
        with os.fdopen(open_regular(expand_home(name)), "rb") as file:
            return read_bundle(file)
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror or error}") from error


def beside_project(bundle: Bundle, project: Project) -> BundleHere:
    """Compare a bundle with the files of a project; blocking."""
    from tideate_core.portable import facts_here
    from tideate_core.workspace import executable_paths

    here = facts_here(bundle.manifest, project.workspace.root or project.directory)
    executed = executable_paths(project.workspace, bundle.facts.written)
    return BundleHere(bundle.facts, here.has_base, here.differs, tuple(map(str, executed)))


async def open_bundle(
    project: Project,
    bundle: Bundle,
    say: Callable[[str], None],
    on_write: Callable[[], object] = lambda: None,
) -> TakenUp:
    """Open a bundle: add its run to a project.

    :param say: shows a message to the person.
    :param on_write: called before the first write.
    :raises TideateError: as `portable.take_up`.
    """
    from tideate_core.app.opening import recover_before
    from tideate_core.portable import take_up

    await recover_before(project.root, say)
    async with opened_store(project.root) as store:
        return await take_up(store, project.workspace, bundle, on_write=on_write)


@asynccontextmanager
async def base_work_tree(root: Path | None, base: str | None, folder: str) -> AsyncIterator[Path]:
    """Create a git work tree of a commit and yield the project in it; remove it if the block fails.

    :param root: the project here.
    :param base: the commit.
    :param folder: path of the new work tree.
    :raises InvalidInput: the folder exists, or the bundle names no commit.
    :raises WorkspaceError: the repository lacks the commit, or git fails.
    """
    from tideate_core.git import find_repository, run_git, without_filters

    if root is None or base is None:
        raise InvalidInput("--worktree needs a project in git, and a bundle that names its base commit")
    place = _new_place(folder)
    repository = await asyncio.to_thread(find_repository, real_path(root))
    options = await without_filters(root)

    def git(*arguments: str) -> str:
        done = run_git(repository, *options, *arguments, cwd=root, patience=GIT_WITHIN)
        return done.said.strip() if done.status else ""

    if failed := await asyncio.to_thread(git, "worktree", "add", "--detach", str(place), base):
        raise WorkspaceError(
            f"a work tree of {base[:12]} cannot be created ({failed[:200]}); fetch that commit and try again"
        )
    try:
        yield place / real_path(root).relative_to(repository.top)
    except BaseException:
        with suppress(WorkspaceError):
            await asyncio.to_thread(git, "worktree", "remove", "--force", str(place))
        raise


def _new_place(folder: str) -> Path:
    place = real_path(expand_home(folder))
    if os.path.lexists(place):
        raise InvalidInput(f"--worktree {folder}: it exists already; name a new directory")
    return place
