"""Real copy of a guarded copy's layers, where overlays are not available."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.git import alternates_line
from tideate_core.snapshots.entries import Below, above
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.guarded.difference import MOST_READ, Found
from tideate_core.snapshots.guarded.git_data import BORROWED, own_directory
from tideate_core.snapshots.guarded.layers import copy_path, find_in_layers, finish_directory, names_in_layers
from tideate_core.snapshots.guarded.mirror import is_directory, load_folders, write_listing
from tideate_core.snapshots.scan import scan
from tideate_core.snapshots.scratch.cloning import Cloner, shares_blocks
from tideate_core.snapshots.scratch.copying import treatment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tideate_core.snapshots.guarded.ignoring import IgnoredNames
    from tideate_core.snapshots.guarded.record import Record

TREE: Final = "tree"
TREE_LISTING: Final = "tree-listing"


def shrunk(reason: str) -> str:
    """Return the notice about a copy at another path."""
    return (
        f"the agent works in a real copy, not at the project's own path, and can write to all of your files: "
        f"{reason}"
    )


def make_tree(place: Path, final: Path, layers: Sequence[Path], record: Record) -> Record:
    """Copy all layers to a tree; blocking.

    :param final: path of the complete copy.
    :returns: the record of a guarded copy of the kind `copy`.
    :raises OSError: it cannot be written.
    """
    project, tree = Path(record.project), place / TREE

    def in_copy(target: Path) -> Path:
        return link_in_copy(project, final / TREE, target)

    copying = _Copying(str(tree), [str(layer) for layer in layers], in_copy)
    copying.copy(set(record.heavy) | record.kept.keys())
    for path in record.borrowed:
        # the original objects stay in their place, and git only reads them
        (tree / path / BORROWED).rmdir()
        _borrow(tree / path, project / path)
    if record.outside:
        git = _Copying(str(place / "git/tree"), [str(place / "git/base")], in_copy)
        git.copy(set())
        git.finish()
        for path in record.outside_borrowed:
            _borrow(place / "git/tree" / path, Path(record.outside, path))
        (tree / ".git").unlink(missing_ok=True)
        own = own_directory(project, Path(record.outside))
        (tree / ".git").write_text(f"gitdir: {final / 'git/tree' / own}\n")
    notices = list(record.notices)
    shares = shares_blocks(project, place)
    for path in record.heavy:
        # no link, unlike in scratch copies: the program would write to the project
        if treatment(Path(path).name, shares=shares) == "left out":
            notices.append(f"left out of the copy: {path}")
        else:
            _Copying(str(tree / path), [str(project / path)], in_copy).copy(set())
    copying.finish()
    (place / TREE_LISTING).mkdir()
    with IgnoreQuery(project) as query:
        write_listing(place / TREE_LISTING, scan(tree, query, {}).folders)
    return replace(record, kind="copy", notices=tuple(notices))


def link_in_copy(project: Path, tree: Path, target: Path) -> Path:
    """Return the target of a link in a copy, so that the link does not lead into the project."""
    if target.is_absolute() and target.is_relative_to(project):
        return tree / target.relative_to(project)
    return target


def _borrow(git: Path, original: Path) -> None:
    (git / "objects/info/alternates").write_bytes(alternates_line(original / "objects"))


def changed_in_tree(tree: Path, listing: Path, project: Path, names: IgnoredNames) -> Iterator[Found]:
    """Yield the paths of a tree that may differ from the layers, outer ones first; blocking."""
    with IgnoreQuery(project) as query:
        found = scan(tree, query, load_folders(listing))
    ignored: set[str] = set()
    unknown = Below(found.skipped)
    changed = sorted({*found.changed, *found.gone, *found.skipped} - found.ignored)
    names.look_up([(path, is_directory(f"{tree}/{path}")) for path in changed[:MOST_READ]])
    for path in changed:
        if path not in found.skipped and (path in unknown or any(way in ignored for way in above(path))):
            continue
        where = tree / path if os.path.lexists(tree / path) else None
        if where is not None and is_directory(str(where)) and names.has(path, directory=True):
            ignored.add(path)
        yield Found(path, where)
        if path in found.skipped and where is not None and is_directory(str(where)):
            yield Found(path, where, found.skipped[path])


class _Copying:
    def __init__(self, tree: str, layers: Sequence[str], as_in_copy: Callable[[Path], Path]) -> None:
        self._as_in_copy = as_in_copy
        self._tree = tree
        self._layers = layers
        self._cloner = Cloner()
        self._directories: list[tuple[str, str]] = []

    def copy(self, without: Collection[str]) -> None:
        pending = [""]
        while pending:
            path = pending.pop()
            source = find_in_layers(self._layers, path)
            if source is None:
                continue  # removed meanwhile
            target = f"{self._tree}/{path}" if path else self._tree
            if stat.S_ISLNK(os.lstat(source).st_mode):
                Path(target).symlink_to(self._as_in_copy(Path(source).readlink()))
                continue
            if not stat.S_ISDIR(os.lstat(source).st_mode):
                with suppress(FileNotFoundError):  # removed meanwhile
                    copy_path(source, target, self._cloner)
                continue
            os.mkdir(target, 0o700)  # noqa: PTH102 there are many
            self._directories.append((source, target))
            prefix = f"{path}/" if path else ""
            names = names_in_layers(self._layers, path)
            pending += [prefix + name for name in names if prefix + name not in without]

    def finish(self) -> None:
        """Give the directories their modes and times."""
        for source, target in reversed(self._directories):
            with suppress(FileNotFoundError, NotADirectoryError):  # replaced by a link, or left out
                finish_directory(source, target)
