"""Differences between the working tree and a commit, by content.

The repository's index, configuration, refs and exclude file hide nothing, and nothing configured there is
executed. The project's `.gitignore` and `.gitattributes`, and the user's own configuration, apply as in
git.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.git import (
    EXCLUDE_PRIVATE,
    Repository,
    Tree,
    TreeEntry,
    ask_git,
    ask_objects,
    file_id,
    find_commit,
    find_repository,
    object_id,
    objects_only,
    read_objects,
    read_tree,
    skipped_files,
    split_names,
    without_filters,
)
from tideate_core.project import real_path
from tideate_core.snapshots import CacheDirectories
from tideate_core.workspace import (
    ABSENT,
    Difference,
    FileImage,
    Workspace,
    file_or_link,
    read_image_nofollow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST: Final = 20_000
"""Files of one review."""
LARGEST: Final = 32 << 20
"""Bytes of a file."""
MOST_BYTES: Final = 512 << 20
"""Bytes of all files, which are kept in memory."""
MOST_HIDDEN: Final = 100
"""New files per folder that only the repository's exclude rules hide; beyond this the folder is named."""
MOST_ALIKE: Final = 10
"""Number of files above which identical modes are attributed to the file system."""
_LIST_UNTRACKED: Final = ("ls-files", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")
_LIST_IGNORED: Final = (*_LIST_UNTRACKED, "--ignored", "--directory")
_IGNORE_FILE: Final = ".gitignore"
_ATTRIBUTES: Final = ("filter", "ident", "working-tree-encoding")
_SUBMODULE: Final = "a submodule; review it in its own directory"
_HIDES_BELOW: Final = "it is not as in the commit, and new files that it hides are not shown"
_IS_IGNORED: Final = "the commit does not have it, and a .gitignore hides it"
_NESTED: Final = "a repository in this one; review it in its own directory"
_HIDES_ITSELF: Final = (
    "a new file that hides itself and the other new files that its rules name; remove it to see them"
)
_GITLINK: Final = 0o160000
_BLOBS_PER_CALL: Final = 500
"""Blobs read by one git process."""
_LFS: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*"
    rb"oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,15})\n"
)
"""Pointer text in a commit for a file kept by git-lfs."""


async def git_difference(workspace: Workspace, root: Path, commit: str, path: str = "") -> Difference:
    """Return the difference between a commit and the saved files, including new ones.

    :param commit: id of a commit or tree.
    :param path: limits the comparison to a file or folder, relative to the root.
    :raises WorkspaceError: git or the repository is missing, or too much differs.
    """
    repository = await asyncio.to_thread(find_repository, real_path(root))
    with objects_only(repository, commit) as objects:
        return await _Comparison(workspace, root, repository, objects, path).with_commit(commit)


class _Comparison:
    """Comparison of saved files with a commit.

    :param objects: the repository's objects without its configuration.
    """

    def __init__(
        self, workspace: Workspace, root: Path, repository: Repository, objects: Repository, path: str
    ) -> None:
        self._workspace = workspace
        self._root = root
        self._repository = repository
        self._objects = objects
        self._path = path
        below = real_path(root).relative_to(repository.top).as_posix()
        self._prefix = "" if below == "." else f"{below}/"
        self._found = Difference()
        self._known_by_fold: dict[str, str] = {}

    async def with_commit(self, commit: str) -> Difference:
        whole = await read_tree(self._objects, commit, room=MOST_BYTES)
        tree = self._subtree(whole)
        look = _WorkingTree(self._root, commit)
        differing = await asyncio.to_thread(look.differing, tree)
        if look.modeless:
            self._found.left["."] = "its file system marks all files as executable, so modes are not compared"
        new = await self._new_files(tree)
        ignored = await self._ignored(tree)
        if self._path and not (tree or new or self._found.left):
            await asyncio.to_thread(self._report_empty_path, ignored)
        if ignored:
            await asyncio.to_thread(self._report_rules_above, whole, commit)
        await self._report_sparse(look.absent, differing)
        await self._compare_submodules(tree)
        if len(differing) + len(new) > MOST:
            raise WorkspaceError(f"more than {MOST:,} files differ; name a folder")
        entries: dict[str, TreeEntry | None] = {
            **{name: tree[name] for name in differing},
            **dict.fromkeys(new),
        }
        now = await self._images_now(sorted(entries))
        then = await self._committed_images({name: entries[name] for name in now}, now)
        for name, before in then.items():
            self._add(name, entries[name], before, now[name], look)
        return self._found

    def _subtree(self, tree: Tree) -> Tree:
        """Return the compared part of a tree, relative to the root."""
        start = len(self._prefix)
        names = (name for name in tree if name.startswith(self._prefix))
        return {name[start:]: tree[name] for name in names if self._is_wanted(name[start:])}

    def _is_wanted(self, name: str) -> bool:
        return not self._path or name == self._path or name.startswith(f"{self._path}/")

    async def _new_files(self, tree: Tree) -> list[str]:
        """Return files that are missing in the commit and not ignored by a `.gitignore`."""
        told = await ask_objects(
            self._objects, *_LIST_UNTRACKED, "--", self._path or ".", cwd=self._root, largest=LARGEST
        )
        others = {os.fsdecode(name) for name in told.split(b"\0") if name} - tree.keys()
        for name in [name for name in others if name.endswith("/")]:
            others.discard(name)
            if name.rstrip("/") not in tree:
                self._found.left[name] = _NESTED
        new = [name for name in others if not self._is_same_file(name, tree)]
        return await self._without_folders(new, tree) if len(new) > MOST_HIDDEN else new

    async def _ignored(self, tree: Tree) -> bool:
        """Tell whether any file is ignored.

        Reports each new `.gitignore` that ignores itself, except in tool caches.
        """
        # git fails if every path of the request is below an ignored folder; `.git` is never ignored
        places = (f"{self._prefix}{self._path}".rstrip("/"), ".git") if self._prefix or self._path else (".",)
        told = await ask_objects(self._objects, *_LIST_IGNORED, "--", *places, largest=LARGEST)
        caches = CacheDirectories(self._root)
        start = os.fsencode(self._prefix)
        for name in (os.fsdecode(one[len(start) :]) for one in told.split(b"\0") if one.startswith(start)):
            folder, _, last = name.rpartition("/")
            if last != _IGNORE_FILE or name in tree:
                continue
            has_files = any(known.startswith(f"{folder}/") for known in tree)
            if not folder or has_files or not await asyncio.to_thread(caches.contain, folder):
                self._found.left[name] = _HIDES_ITSELF
        return bool(told)

    def _report_rules_above(self, whole: Tree, commit: str) -> None:
        """Report each changed `.gitignore` above the compared path; blocking."""
        top = self._repository.top
        above = (str(one / _IGNORE_FILE) for one in PurePosixPath(self._prefix, self._path).parents)
        names = [name for name in above if os.path.lexists(top / name)]
        rules = {name: whole[name] for name in names if name in whole}
        for name in (
            _WorkingTree(top, commit).differing(rules).union(name for name in names if name not in whole)
        ):
            self._found.left.setdefault(os.path.relpath(top / name, real_path(self._root)), _HIDES_BELOW)

    def _report_empty_path(self, ignored: bool) -> None:
        """Report the reason for an empty comparison of an existing path; blocking."""
        above = [str(one) for one in reversed(PurePosixPath(self._path).parents)][1:]
        for place in (*above, self._path):
            if os.path.lexists(self._root / place / ".git"):
                self._found.left[f"{place}/"] = _NESTED
                return
        if ignored:
            self._found.left[self._path] = _IS_IGNORED

    def _is_same_file(self, name: str, tree: Tree) -> bool:
        """Tell whether a name is a committed name in another case, if case is ignored."""
        known = self._folded(tree).get(_fold(name))
        if known is None or not os.path.lexists(self._root / known):
            return False
        return PurePosixPath(known).name not in os.listdir((self._root / known).parent)  # noqa: PTH208

    def _folded(self, tree: Tree) -> dict[str, str]:
        if not self._known_by_fold:
            self._known_by_fold = {_fold(known): known for known in tree}
        return self._known_by_fold

    async def _without_folders(self, new: list[str], tree: Tree) -> list[str]:
        """Report folders with many files hidden only by the repository's rules; return the other files."""
        told, _ = await ask_git(self._root, *_LIST_UNTRACKED, "--", self._path or ".", largest=LARGEST)
        believed = set(split_names(told))
        known = {str(above) for name in (*tree, *believed) for above in PurePosixPath(name).parents}
        places = {
            name: next(
                (str(one) for one in reversed(PurePosixPath(name).parents) if str(one) not in known), ""
            )
            for name in new
            if name not in believed
        }
        counts = Counter(places.values())
        many = {place for place, count in counts.items() if place and count > MOST_HIDDEN}
        for place in many:
            self._found.left[f"{place}/"] = (
                f"{counts[place]:,} new files that only .git/info/exclude or core.excludesFile hides; name "
                "the folder to review them"
            )
        return [name for name in new if places.get(name) not in many]

    async def _report_sparse(self, absent: list[str], differing: set[str]) -> None:
        """Report files that the index marks as absent (sparse checkout)."""
        if not absent:
            return
        for name in set(await skipped_files(self._root)).intersection(absent):
            differing.discard(name)
            self._found.left[name] = "it is missing because of a sparse checkout"

    async def _compare_submodules(self, tree: Tree) -> None:
        for name, entry in tree.items():
            if stat.S_IFMT(entry.mode) != _GITLINK:
                continue
            place = self._root / name
            if name_problem(self._workspace, name) or not await asyncio.to_thread(
                _is_submodule, self._root, name
            ):
                # a submodule that was not fetched is an empty directory
                if not await asyncio.to_thread(_is_empty, place):
                    self._found.left[name] = _SUBMODULE
                continue
            try:
                same = await find_commit(place, "HEAD") == entry.id and not _has_differences(
                    await git_difference(Workspace(place), place, entry.id)
                )
            except WorkspaceError:
                same = False
            if not same:
                self._found.left[name] = _SUBMODULE

    async def _images_now(self, names: list[str]) -> dict[str, FileImage]:
        now: dict[str, FileImage] = {}
        size = 0
        for name in names:
            if why := name_problem(self._workspace, name):
                self._found.left[name] = why
                continue
            image = await asyncio.to_thread(image_now, self._root, name, self._found)
            if image is not None:
                now[name] = image
                size += len(image.data)
                if size > MOST_BYTES:
                    raise _too_large_error()
        return now

    def _add(
        self, name: str, entry: TreeEntry | None, before: FileImage, after: FileImage, look: _WorkingTree
    ) -> None:
        if not before.state.holds_same_as(after.state):
            self._found.files[name] = (before, after)
        if entry is None or look.modeless or not before.state.kind == after.state.kind == "file":
            return
        mode = after.state.mode
        if bool(entry.mode & 0o100) != bool(mode & 0o100):
            then = mode | (mode & 0o444) >> 2 if entry.mode & 0o100 else mode & ~0o111
            self._found.modes[name] = (then, mode)

    # -- the committed side -----------------------------------------------------------------------------

    async def _committed_images(
        self, entries: Mapping[str, TreeEntry | None], now: Mapping[str, FileImage]
    ) -> dict[str, FileImage]:
        """Return files as a checkout would write them; report a reason for each path without one."""
        left = self._found.left
        blobs = {name: entry for name, entry in entries.items() if entry is not None}
        attributes = await self._attributes(blobs)
        texts = await read_objects(
            self._objects, "blob", {entry.id for entry in blobs.values()}, largest=LARGEST, room=MOST_BYTES
        )
        images = {name: FileImage(ABSENT) for name, entry in entries.items() if entry is None}
        unlike: dict[str, str] = {}
        for name, entry in blobs.items():
            data, attribute = texts.get(entry.id), attributes.get(name, set())
            if data is None:
                left[name] = "git cannot read the committed version, or the file is too large"
            elif stat.S_ISLNK(entry.mode):
                images[name] = FileImage.of_link(data)
            elif "filter" in attribute:
                if not _is_kept_by_lfs(data, now[name].data):
                    left[name] = "a filter of git converts it; `git diff` shows it"
            else:
                if attribute or (b"\r\n" in now[name].data and data != now[name].data):
                    unlike[name] = entry.id
                images[name] = FileImage.of_file(data, 0o111 if entry.mode & 0o100 else 0)
        for name, data in (await self._converted(unlike)).items():
            images[name] = FileImage.of_file(data, images[name].state.mode)
        for name in await self._only_other_line_ends({name: images[name] for name in unlike}, now, blobs):
            left[name] = "only its line ends differ, which git converts"
            del images[name]
        return images

    async def _attributes(self, names: Iterable[str]) -> dict[str, set[str]]:
        """Return the git attributes, by file, that change its checkout."""
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        if not given:
            return {}
        output = await self._ask("check-attr", "-z", "--stdin", *_ATTRIBUTES, given=given, largest=LARGEST)
        fields = [os.fsdecode(field) for field in output.split(b"\0")]
        found: dict[str, set[str]] = {}
        filters = await self._filters()
        for name, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            # a filter of the repository's own configuration is not run
            if value not in ("unspecified", "unset") and (attribute != "filter" or value in filters):
                found.setdefault(name, set()).add(attribute)
        return found

    async def _filters(self) -> frozenset[str]:
        """Return the filters of the user's configuration; the repository's is not read."""
        listed = await self._ask("config", "--list", "--name-only", "-z", largest=LARGEST)
        keys = (os.fsdecode(key) for key in listed.split(b"\0") if key.lower().startswith(b"filter."))
        return frozenset(key.partition(".")[2].rpartition(".")[0] for key in keys)

    async def _only_other_line_ends(
        self, images: Mapping[str, FileImage], now: Mapping[str, FileImage], blobs: Mapping[str, TreeEntry]
    ) -> list[str]:
        """Return files that differ only in line ends that git normalizes."""
        names = [
            name
            for name, image in images.items()
            if image.data != now[name].data and _plain_ends(image.data) == _plain_ends(now[name].data)
            if "\n" not in name
        ]
        if not names:
            return []
        given = b"".join(os.fsencode(f"{self._prefix}{name}\n") for name in names)
        settings = await without_filters(self._root)
        told = ("hash-object", "--stdin-paths")
        ids, _ = await ask_git(self._repository.top, *settings, *told, given=given, largest=LARGEST)
        return [name for name, one in zip(names, ids.decode().split(), strict=True) if blobs[name].id == one]

    async def _converted(self, wanted: Mapping[str, str]) -> dict[str, bytes]:
        """Return blobs with the line ends, identifiers and encodings of a checkout.

        :param wanted: blob ids by path.
        """
        if not wanted:
            return {}
        prefix = self._prefix
        plain = [name for name in wanted if _is_one_line(prefix + name)]
        converted: dict[str, bytes] = {}
        room = MOST_BYTES
        for at in range(0, len(plain), _BLOBS_PER_CALL):
            some = plain[at : at + _BLOBS_PER_CALL]
            given = b"".join(os.fsencode(f"{wanted[name]} {prefix}{name}\n") for name in some)
            # git reports sizes before conversion: an unpredictable mark separates the texts
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
        return await ask_objects(self._objects, *arguments, cwd=self._root, given=given, largest=largest)


def _is_submodule(root: Path, name: str) -> bool:
    is_link = link_above(root, name) or (root / name).is_symlink()
    return not is_link and os.path.lexists(root / name / ".git")


def _is_empty(place: Path) -> bool:
    try:
        return not place.is_symlink() and not any(place.iterdir())
    except OSError:
        return False


def _has_differences(difference: Difference) -> bool:
    return bool(difference.files or difference.modes or difference.left)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class _WorkingTree:
    """Content and mode comparison of the files of a commit.

    :param commit: tells the hash function of all ids.
    """

    def __init__(self, root: Path, commit: str) -> None:
        self._root = real_path(root)
        self._like = commit
        self.absent: list[str] = []
        self.modeless = False
        """All files are executable, contrary to the commit."""
        self._real: dict[str, bool] = {}

    def differing(self, tree: Tree) -> set[str]:
        """Return the paths that differ from the commit; blocking."""
        differing: set[str] = set()
        modes: set[str] = set()
        executable = plain = 0
        for name, entry in tree.items():
            if stat.S_IFMT(entry.mode) == _GITLINK:
                continue
            try:
                found = os.lstat(f"{self._root}/{name}")  # no Path object: there may be many thousands
                same = self._is_same(name, entry, found)
            except (FileNotFoundError, NotADirectoryError):
                self.absent.append(name)
                same = False
            except (OSError, ValueError):
                same = False  # the reader reports the reason
            else:
                if stat.S_ISREG(found.st_mode):
                    is_executable = bool(found.st_mode & 0o100)
                    executable, plain = executable + is_executable, plain + (not is_executable)
                    if stat.S_ISREG(entry.mode) and is_executable != bool(entry.mode & 0o100):
                        modes.add(name)
            if not same:
                differing.add(name)
        self.modeless = bool(modes) and not plain and executable >= MOST_ALIKE
        return differing if self.modeless else differing | modes

    def _is_same(self, name: str, entry: TreeEntry, found: os.stat_result) -> bool:
        """Tell whether a path, not behind a link, has the committed content."""
        if stat.S_IFMT(found.st_mode) != stat.S_IFMT(entry.mode):
            return False
        above = name.rpartition("/")[0]
        if above not in self._real:
            place = self._root / above
            self._real[above] = real_path(place) == place
        if not self._real[above]:
            return False
        path = f"{self._root}/{name}"
        if stat.S_ISLNK(found.st_mode):
            return object_id("blob", os.fsencode(Path(path).readlink()), self._like) == entry.id
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return file_id(handle, self._like) == entry.id
        finally:
            os.close(handle)


def _too_large_error() -> WorkspaceError:
    return WorkspaceError(f"more than {MOST_BYTES >> 20} MiB differ; name a folder")


def name_problem(workspace: Workspace, name: str) -> str:
    """Return the reason that a path cannot be reviewed; empty if it can."""
    if not name.isprintable() and "\udc80" <= max(name) <= "\udcff":
        return "its name is not UTF-8"
    try:
        workspace.lexical(name)
    except OutsideRoot as error:
        return str(error)
    return ""


def image_now(root: Path, name: str, found: Difference) -> FileImage | None:
    """Return the current file or link at a path; None, with the reason noted, if it cannot be reviewed.

    A directory, or a path below a link, counts as absent: its parts have changes of their own.
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
        found.left[name] = "it is not a regular file now"
        return None
    return file_or_link(image)


def link_above(root: Path, name: str) -> str:
    """Return the outermost link among a path's parents, relative to the root; empty if there is none."""
    places = reversed(PurePosixPath(name).parents[:-1])
    return next((str(place) for place in places if (root / place).is_symlink()), "")


def _is_one_line(path: str) -> bool:
    """Tell whether git reads a path unchanged from a line: it strips blanks and a trailing CR."""
    return path == path.strip() and "\n" not in path


def _is_kept_by_lfs(pointer: bytes, data: bytes) -> bool:
    """Tell whether a text matches the git-lfs pointer in the commit."""
    found = _LFS.fullmatch(pointer)
    return found is not None and (int(found[2]), found[1].decode()) == (
        len(data),
        hashlib.sha256(data).hexdigest(),
    )


def _plain_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")
