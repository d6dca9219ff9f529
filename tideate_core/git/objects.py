"""Read git objects by id, verified, without the repository's configuration, index and refs.

git runs in an empty repository that borrows the objects. Each object is checked against its id.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.errors import WorkspaceError
from tideate_core.git.program import Repository, query_git, reasons_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_AT_ONCE: Final = 500
"""Objects read in one call of git."""
_CHUNK: Final = 1 << 20
_SHA256: Final = 64
"""Hexadecimal digits of a SHA-256 id."""
_LISTED: Final = 4 << 20
_DIRECTORY: Final = 0o040000
_MOST: Final = 2_000_000
"""Paths of a commit: a few small trees could expand to any number."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, link or submodule in a commit's tree."""

    mode: int
    """File type and permissions."""
    id: str


Tree: TypeAlias = "dict[str, TreeEntry]"
"""Entries of a commit by path."""


@dataclass(frozen=True, slots=True)
class _BoundRepository(Repository):
    """A repository bound by its git directory, optionally with the objects of another one."""

    objects: Path | None = None

    def variables(self) -> Mapping[str, str]:
        found = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.top)}
        return found if self.objects is None else {**found, "GIT_OBJECT_DIRECTORY": str(self.objects)}


@contextmanager
def empty_repository(top: Path | None = None) -> Iterator[Repository]:
    """Create an empty repository in a temporary directory that is removed on exit.

    :param top: the work tree; by default the temporary directory.
    """
    with tempfile.TemporaryDirectory(prefix="tideate-git-") as folder:
        place = Path(folder)
        _make(place, "")
        yield _BoundRepository(top or place, place, place)


@contextmanager
def objects_only(repository: Repository, some_id: str) -> Iterator[Repository]:
    """Create a temporary repository that shares only the work tree and the objects of another one.

    :param some_id: any object id of the repository; its length tells the hash algorithm.
    """
    with tempfile.TemporaryDirectory(prefix="tideate-git-") as folder:
        place = Path(folder)
        _make(place, "\tobjectFormat = sha256\n" if len(some_id) == _SHA256 else "")
        yield _BoundRepository(repository.top, place, place, repository.common_dir / "objects")


def _make(place: Path, extensions: str) -> None:
    for name in ("objects", "refs"):
        (place / name).mkdir()
    (place / "HEAD").write_text("ref: refs/heads/none\n")
    head = f"[extensions]\n{extensions}" if extensions else ""
    (place / "config").write_text(f"[core]\n\trepositoryFormatVersion = {int(bool(head))}\n{head}")


def object_id(kind: str, data: bytes, like: str) -> str:
    """Compute the id of an object.

    :param like: any object id of the repository; its length tells the hash algorithm.
    """
    make = hashlib.sha256 if len(like) == _SHA256 else hashlib.sha1
    return make(f"{kind} {len(data)}\0".encode() + data).hexdigest()


def file_id(descriptor: int, like: str) -> str:
    """Compute the blob id of a file's content; blocking."""
    size = os.fstat(descriptor).st_size
    made = (hashlib.sha256 if len(like) == _SHA256 else hashlib.sha1)(f"blob {size}\0".encode())
    while data := os.read(descriptor, min(size + 1, _CHUNK)):
        made.update(data)
    return made.hexdigest()


async def read_objects(
    repository: Repository, kind: str, ids: Collection[str], *, largest: int, room: int
) -> dict[str, bytes]:
    """Read objects by id; missing, oversized and corrupt ones are left out.

    :param repository: from `objects_only`.
    :param largest: bytes of one object.
    :param room: bytes of all objects together.
    :raises WorkspaceError: the objects take more than `room`, or git fails.
    """
    found: dict[str, bytes] = {}
    wanted = sorted(ids)
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        sizes = await ask_objects(
            repository, "cat-file", "--batch-check", given=_lines(some), largest=_LISTED
        )
        small = [
            fields[0]
            for line in sizes.decode().splitlines()
            if len(fields := line.split(" ")) == 3 and fields[1] == kind and int(fields[2]) <= largest
        ]
        if not small:
            continue
        output = await ask_objects(repository, "cat-file", "--batch", given=_lines(small), largest=room)
        found |= {one: data for one, data in _split(output) if object_id(kind, data, one) == one}
        room -= len(output)
    return found


async def read_tree(repository: Repository, tree: str, *, room: int) -> Tree:
    """Read all entries of a commit or tree, by path.

    :param repository: from `objects_only`.
    :param tree: the id of a commit or tree.
    :param room: bytes of one level of trees.
    :raises WorkspaceError: an object is missing or corrupt, or there are too many paths.
    """
    kind = (await ask_objects(repository, "cat-file", "-t", tree, largest=_LISTED)).decode().strip()
    if kind == "commit":
        commit = await _all(repository, kind, [tree], room)
        tree = commit[tree].partition(b"\n")[0].removeprefix(b"tree ").decode()
    found: Tree = {}
    folders = [("", tree)]
    while folders:
        texts = await _all(repository, "tree", {one for _, one in folders}, room)
        folders, level = [], folders
        for prefix, one in level:
            for name, entry in _entries(texts[one], len(one) // 2):
                path = prefix + name
                if entry.mode == _DIRECTORY:
                    folders.append((f"{path}/", entry.id))
                else:
                    found[path] = entry
            if len(found) + len(folders) > _MOST:
                raise WorkspaceError(f"the commit has more than {_MOST:,} files")
    return found


async def _all(repository: Repository, kind: str, ids: Collection[str], room: int) -> dict[str, bytes]:
    output = await ask_objects(repository, "cat-file", "--batch", given=_lines(ids), largest=room)
    found = {one: data for one, data in _split(output) if object_id(kind, data, one) == one}
    if lost := sorted(set(ids) - found.keys()):
        raise WorkspaceError(
            f"the repository's {kind} {lost[0]} is missing or damaged; run `git fsck` for details"
        )
    return found


def _entries(tree: bytes, width: int) -> Iterator[tuple[str, TreeEntry]]:
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        if name in (b"", b".", b"..") or b"/" in name:
            raise WorkspaceError(f"the commit has a file named {name!r}; run `git fsck` for details")
        at = end + 1 + width
        yield os.fsdecode(name), TreeEntry(int(mode, 8), tree[end + 1 : at].hex())


def _split(output: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of each object that `cat-file --batch` printed; a missing one is a single line."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        one, _, *size = output[at:end].decode().split(" ")
        at = end + 1
        if size:
            yield one, output[at : at + int(size[0])]
            at += int(size[0]) + 1


def _lines(ids: Collection[str]) -> bytes:
    return "".join(f"{one}\n" for one in ids).encode()


async def ask_objects(
    repository: Repository, *arguments: str, largest: int, given: bytes = b"", cwd: Path | None = None
) -> bytes:
    """Run a git command on objects and files and return its output.

    :param repository: from `objects_only`.
    :raises WorkspaceError: the output exceeds `largest` bytes, or git fails.
    """
    answer = await query_git(repository, *arguments, cwd=cwd or repository.top, given=given, largest=largest)
    if not answer.whole:
        raise WorkspaceError(f"git printed more than {largest >> 20} MiB; name a folder")
    if answer.status:
        raise WorkspaceError(f"git cannot read the commit: {'; '.join(reasons_first(answer.said))[:200]}")
    return answer.out
