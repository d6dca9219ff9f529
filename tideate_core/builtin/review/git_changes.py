"""Files that differ from a commit, as a checkout has them; nothing that a repository configures is run."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import PurePosixPath
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.git import EXCLUDE_PRIVATE
from tideate_core.mentions import ask_git, persons_filters, without_filters
from tideate_core.workspace import ABSENT, Difference, FileImage, file_or_link, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.workspace import Workspace

__all__ = ["MOST", "git_difference", "image_now", "link_above", "name_problem"]

MOST: Final = 20_000
"""Files of a review; a person could not look at more."""
LARGEST: Final = 32 << 20
"""Bytes of a file."""
MOST_BYTES: Final = 512 << 20
"""Bytes of all files, which are in memory."""
_DIFF: Final = (
    *("diff-index", "--raw", "-z", "--no-renames", "--relative", "--abbrev=64", "--no-ext-diff"),
    *("--no-textconv", "--ignore-submodules=dirty"),
)
_OTHERS: Final = ("ls-files", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")
_ATTRIBUTES: Final = ("filter", "ident", "working-tree-encoding")
_SUBMODULE: Final = "160000"
_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_AT_ONCE: Final = 500
"""Blobs that are read by one call of git."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A path of the commit's side; of a new file without a mode and an id."""

    mode: str = "000000"
    now: str = "000000"
    blob: str = ""


async def git_difference(workspace: Workspace, root: Path, commit: str, path: str = "") -> Difference:
    """Return what differs between a commit and the files as they are saved, new ones included.

    :param commit: the id of a commit or tree.
    :param path: only of this file or folder, relative to the root.
    :raises WorkspaceError: there is no git, no repository, or too much differs.
    """
    settings = await without_filters(root)
    entries = await _entries(root, settings, commit, path or ".")
    if len(entries) > MOST:
        raise WorkspaceError(f"more than {MOST:,} files differ; name a folder")
    found = Difference()
    now: dict[str, FileImage] = {}
    size = 0
    for name, entry in entries.items():
        why = _why_left(name, entry) or name_problem(workspace, name)
        image = None if why else await asyncio.to_thread(image_now, root, name, found)
        if why:
            found.left[name] = why
        elif image is not None:
            now[name] = image
            size += len(image.data)
            if size > MOST_BYTES:
                raise _too_much()
    wanted = {name: entries[name] for name in now}
    then = await _Commit(root, settings).images(wanted, now, found.left)
    for name, before in then.items():
        _add(found, name, entries[name], before, now[name])
    return found


def _too_much() -> WorkspaceError:
    return WorkspaceError(f"more than {MOST_BYTES >> 20} MiB differ; name a folder")


def _add(found: Difference, name: str, entry: _Entry, before: FileImage, after: FileImage) -> None:
    if not before.state.holds_same_as(after.state):
        found.files[name] = (before, after)
    modes = entry.mode, entry.now
    if before.state.kind == after.state.kind == "file" and "000000" not in modes and modes[0] != modes[1]:
        mode = after.state.mode
        then = mode | (mode & 0o444) >> 2 if entry.mode == _EXECUTABLE else mode & ~0o111
        if then != mode:
            found.modes[name] = (then, mode)


async def _entries(root: Path, settings: list[str], commit: str, path: str) -> dict[str, _Entry]:
    output, whole = await ask_git(root, *settings, *_DIFF, commit, "--", path, largest=LARGEST)
    others, all_others = await ask_git(root, *settings, *_OTHERS, "--", path, largest=LARGEST)
    if not (whole and all_others):
        raise WorkspaceError(f"more than {MOST:,} files differ; name a folder")
    fields = iter(output.split(b"\0"))
    entries: dict[str, _Entry] = {}
    for field in fields:
        if not field:
            continue
        mode, now, blob, *_ = field.decode().removeprefix(":").split(" ")
        entries[os.fsdecode(next(fields))] = _Entry(mode, now, blob)
    for name in map(os.fsdecode, filter(None, others.split(b"\0"))):
        entries.setdefault(name, _Entry())
    return dict(sorted(entries.items()))


def _why_left(name: str, entry: _Entry) -> str:
    if _SUBMODULE in (entry.mode, entry.now):
        return "a submodule; review it in its own directory"
    if name.endswith("/"):
        return "a repository in this one; review it in its own directory"
    return ""


def name_problem(workspace: Workspace, name: str) -> str:
    """Return why a path cannot be reviewed, empty where it can."""
    if not name.isprintable() and "\udc80" <= max(name) <= "\udcff":
        return "its name is not UTF-8"
    try:
        workspace.lexical(name)
    except OutsideRoot as error:
        return str(error)
    return ""


def image_now(root: Path, name: str, found: Difference) -> FileImage | None:
    """Return the file or link at a path; None, with the reason noted, if it cannot be reviewed.

    A path that is a directory now, or below a link, has neither: its parts have changes of their own.
    """
    path = root / name
    if link_above(root, name):
        return FileImage(ABSENT)
    try:
        if path.is_file() and not path.is_symlink() and path.stat().st_size > LARGEST:
            found.left[name] = f"it has more than {LARGEST >> 20} MiB"
            return None
        image = read_image_nofollow(path)
    except OSError as error:
        found.left[name] = f"it cannot be read: {error.strerror}"
        return None
    if image.state.kind == "other":
        found.left[name] = "it is no regular file now"
        return None
    return file_or_link(image)


def link_above(root: Path, name: str) -> str:
    """Return the outermost link on the way to a path, relative to the root; empty if there is none."""
    places = reversed(PurePosixPath(name).parents[:-1])
    return next((str(place) for place in places if (root / place).is_symlink()), "")


class _Commit:
    """The side of the commit."""

    def __init__(self, root: Path, settings: Sequence[str]) -> None:
        self._root = root
        self._settings = settings

    async def images(
        self, entries: Mapping[str, _Entry], now: Mapping[str, FileImage], left: dict[str, str]
    ) -> dict[str, FileImage]:
        """Return images as a checkout has them; paths of which there is none get a reason."""
        blobs = {name: entry for name, entry in entries.items() if entry.mode != "000000"}
        attributes = await self._attributes(blobs)
        texts = await self._read({entry.blob for entry in blobs.values()})
        images: dict[str, FileImage] = {}
        unlike: dict[str, str] = {}
        for name, entry in entries.items():
            if name not in blobs:
                images[name] = FileImage(ABSENT)
                continue
            data, attribute = texts.get(entry.blob), attributes.get(name, set())
            if data is None:
                left[name] = "git does not have it as it was, or it is too large"
            elif entry.mode == _LINK:
                images[name] = FileImage.of_link(data)
            elif "filter" in attribute:
                left[name] = "a filter of git converts it; `git diff` shows it"
            else:
                if attribute or (b"\r\n" in now[name].data and b"\r\n" not in data):
                    unlike[name] = entry.blob
                images[name] = FileImage.of_file(data, 0o111 if entry.mode == _EXECUTABLE else 0)
        for name, data in (await self._converted(unlike)).items():
            images[name] = FileImage.of_file(data, images[name].state.mode)
        return images

    async def _attributes(self, names: Iterable[str]) -> dict[str, set[str]]:
        """Return which attributes that change what a checkout has are set."""
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        if not given:
            return {}
        output, _ = await ask_git(
            self._root, "check-attr", "-z", "--stdin", *_ATTRIBUTES, given=given, largest=LARGEST
        )
        fields = [os.fsdecode(field) for field in output.split(b"\0")]
        found: dict[str, set[str]] = {}
        filters = await persons_filters(self._root)
        for name, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            # a filter that only the repository brings is not run, and converts nothing
            if value not in ("unspecified", "unset") and (attribute != "filter" or value in filters):
                found.setdefault(name, set()).add(attribute)
        return found

    async def _read(self, ids: Iterable[str]) -> dict[str, bytes]:
        texts: dict[str, bytes] = {}
        wanted, room = sorted(ids), MOST_BYTES
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            given = "".join(f"{blob}\n" for blob in some).encode()
            sizes, _ = await ask_git(self._root, "cat-file", "--batch-check", given=given, largest=LARGEST)
            small = [
                fields[0]
                for line in sizes.decode().splitlines()
                if len(fields := line.split(" ")) == 3 and int(fields[2]) <= LARGEST
            ]
            given = "".join(f"{blob}\n" for blob in small).encode()
            if not given:
                continue
            output, whole = await ask_git(self._root, "cat-file", "--batch", given=given, largest=room)
            if not whole:
                raise _too_much()
            texts |= _blobs(output)
            room -= len(output)
        return texts

    async def _converted(self, wanted: Mapping[str, str]) -> dict[str, bytes]:
        """Return blobs with the line ends, identifiers and encodings that a checkout gives them.

        :param wanted: their ids, by path.
        """
        if not wanted:
            return {}
        shown, _ = await ask_git(self._root, "rev-parse", "--show-prefix")
        prefix = os.fsdecode(shown.removesuffix(b"\n"))
        plain = [name for name in wanted if _is_one_line(prefix + name)]
        converted: dict[str, bytes] = {}
        room = MOST_BYTES
        for at in range(0, len(plain), _AT_ONCE):
            some = plain[at : at + _AT_ONCE]
            given = b"".join(os.fsencode(f"{wanted[name]} {prefix}{name}\n") for name in some)
            # the sizes that git tells are those before: where one ends, a mark tells that nobody can foresee
            mark = token_hex()
            output = await self._ask("cat-file", f"--batch={mark}", "--filters", given=given, largest=room)
            _, *texts = output.split(f"{mark}\n".encode())
            converted |= {name: text.removesuffix(b"\n") for name, text in zip(some, texts, strict=True)}
            room -= len(output)
        for name in wanted.keys() - converted.keys():
            told = ("cat-file", "--filters", f"--path={prefix}{name}", wanted[name])
            converted[name] = await self._ask(*told, largest=room)
            room -= len(converted[name])
        return converted

    async def _ask(self, *arguments: str, largest: int, given: bytes = b"") -> bytes:
        output, whole = await ask_git(self._root, *self._settings, *arguments, largest=largest, given=given)
        if not whole:
            raise _too_much()
        return output


def _is_one_line(path: str) -> bool:
    """Tell if git reads a path from a line as it is: it drops blanks before it and a CR behind it."""
    return path == path.strip() and "\n" not in path


def _blobs(output: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        blob, _, size = output[at:end].decode().split(" ")
        found[blob] = output[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
    return found
