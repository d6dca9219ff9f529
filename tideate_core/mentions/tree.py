"""Draw the files of a project as a tree of bounded size."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(slots=True)
class _Folder:
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    count: int = 0
    """Files in it and below."""
    shown: bool = False


def draw_tree(paths: Iterable[str], entries: int, depth: int | None = None) -> tuple[str, int]:
    """Draw paths, relative to their directory and with ``/``, as an indented tree.

    Directories are expanded level by level while there is space; others show their number of files.

    :param entries: maximum lines.
    :param depth: maximum levels to expand, including the paths' own directory.
    :returns: the text, and the number of files without a line.
    """
    root = _Folder()
    for path in paths:
        _add(root, path)
    _open_folders(root, entries, depth)
    lines = list(_lines(root, 0))
    hidden = root.count - _seen(root)
    return "\n".join(lines), hidden


def _open_folders(root: _Folder, room: int, depth: int | None) -> None:
    names = sorted(root.folders)[:room]
    root.folders = {name: root.folders[name] for name in names}
    root.files = sorted(root.files)[: room - len(names)]
    waiting = deque([(root, 1)])
    while waiting:
        folder, level = waiting.popleft()
        takes = len(folder.folders) + len(folder.files)
        if takes <= room:
            folder.shown = True
            room -= takes
            if depth is None or level < depth:
                waiting.extend((folder.folders[name], level + 1) for name in sorted(folder.folders))


def _seen(folder: _Folder) -> int:
    return len(folder.files) + sum(_seen(inner) for inner in folder.folders.values() if inner.shown)


def _add(root: _Folder, path: str) -> None:
    *folders, name = path.split("/")
    root.count += 1
    for folder in folders:
        root = root.folders.setdefault(folder, _Folder())
        root.count += 1
    root.files.append(name)


def _lines(folder: _Folder, depth: int) -> Iterator[str]:
    for name in sorted(folder.folders):
        inner = folder.folders[name]
        closed = "" if inner.shown else f" ({inner.count} file{'' if inner.count == 1 else 's'})"
        yield f"{'  ' * depth}{_line(name)}/{closed}"
        if inner.shown:
            yield from _lines(inner, depth + 1)
    for name in sorted(folder.files):
        yield f"{'  ' * depth}{_line(name)}"


def _line(name: str) -> str:
    return name if name.isprintable() else repr(name)
