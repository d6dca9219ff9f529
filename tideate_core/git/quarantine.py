"""Fetch of commits into a quarantine beside a repository, which keeps them only if they are small enough."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tideate_core.errors import TransferTooLarge, WorkspaceError
from tideate_core.git.persons import REMOTE
from tideate_core.git.program import BLOCK, alternates_line
from tideate_core.git.remote_refs import FETCH, check_address, refuse_failed
from tideate_core.util.escaping import label
from tideate_core.util.file_locks import try_lock
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tideate_core.git.persons import PersonsGit
    from tideate_core.git.program import Terminal

PLACE: Final = "incoming"
"""Directory of the quarantines in a repository."""
_SETTINGS: Final = {
    "fetch.unpackLimit": "1",  # all objects in one file, which the system limits
    "core.alternateRefsCommand": "true",  # the refs of the repository do not matter
}
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


async def fetch_commits(
    git: PersonsGit, remote: str, commits: Collection[str], *, largest: int, terminal: Terminal = "none"
) -> int:
    """Fetch commits with their files, unless they are here; return the bytes that were received.

    Nothing of a failed fetch is kept. While git runs, no file of it grows beyond the limit: the pack, or its
    index.

    :param commits: ids, as a ref of the remote has them.
    :param largest: bytes of all objects, compressed.
    :raises TransferTooLarge: they are larger.
    :raises RemoteFailed: git cannot reach the remote, or it has a commit no more.
    :raises WorkspaceError: they cannot be written.
    """
    missing = await _missing(git, commits)
    if not missing:
        return 0
    check_address(git, remote)
    largest -= largest % BLOCK
    with _quarantine(git.place) as objects:
        done = await git.run(
            *FETCH,
            REMOTE,
            *missing,
            remote=remote,
            terminal=terminal,
            settings=_SETTINGS,
            variables={"GIT_OBJECT_DIRECTORY": str(objects)},
            largest_file=largest,
        )
        sizes = [entry.stat().st_size for entry in os.scandir(objects / "pack")]
        if done.status and max(sizes, default=0) >= largest:
            raise TransferTooLarge(
                f"the remote {label(remote)} sends more than {largest / 2**20:,.1f} MiB, so nothing was "
                "kept; `[inbox] max_fetch_mib` in your own config.toml sets the limit"
            )
        refuse_failed(done, git, remote, "read")
        try:
            _keep(objects / "pack", git.place / "objects" / "pack")
        except OSError as error:
            raise WorkspaceError(f"{git.place} cannot be written: {error.strerror}") from error
        return sum(sizes)


async def _missing(git: PersonsGit, commits: Collection[str]) -> list[str]:
    given = "".join(f"{commit}\n" for commit in commits).encode()
    told = await git.ask("cat-file", "--batch-check", given=given) if given else b""
    return [line.partition(" ")[0] for line in told.decode().splitlines() if line.endswith(" missing")]


@contextmanager
def _quarantine(repository: Path) -> Iterator[Path]:
    """Make an object directory beside a repository, and remove abandoned ones.

    :raises WorkspaceError: it cannot be created.
    """
    place = repository / PLACE
    objects = place / uuid.uuid4().hex
    try:
        make_private_directory(place)
        handle = _claim(place, objects)
    except OSError as error:
        raise WorkspaceError(f"{place} cannot be written: {error.strerror}") from error
    try:
        yield objects
    finally:
        shutil.rmtree(objects, ignore_errors=True)
        os.close(handle)


def _claim(place: Path, objects: Path) -> int:
    """Create and lock a quarantine; return the descriptor that protects it."""
    lock = os.open(place, _OPEN)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # held shortly: no other process sees an unlocked quarantine
        for entry in [*place.iterdir()]:
            _remove_abandoned(entry)
        for folder in (objects, objects / "pack", objects / "info"):
            folder.mkdir(mode=0o700)
        (objects / "info" / "alternates").write_bytes(alternates_line(place.parent / "objects"))
        handle = os.open(objects, _OPEN)
        try_lock(handle)
    finally:
        os.close(lock)
    return handle


def _remove_abandoned(objects: Path) -> None:
    with suppress(FileNotFoundError):  # its owner has just removed it
        handle = os.open(objects, _OPEN)
        try:
            if try_lock(handle):
                shutil.rmtree(objects, ignore_errors=True)
        finally:
            os.close(handle)


def _keep(source: Path, target: Path) -> None:
    """Move packs to a repository, each with its index last: git finds a pack by its index."""
    for path in sorted(source.glob("pack-*"), key=lambda path: path.suffix == ".idx"):
        path.rename(target / path.name)
