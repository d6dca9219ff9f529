"""List a project's files by folder in a planner's prompt, code first; suggest files for a wrong path."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from tideate_core.agents.model_input import text_budget
from tideate_core.mentions import IN_DIRECTORIES, secret_name
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.workflows import StepContext

LISTED_FILES: Final = 300
"""Names in the list, which is sent with every turn."""
ALL_LISTED: Final = 60
"""Names up to which large data folders are listed in full."""
LARGEST: Final = 1 << 20
"""Bytes of a file whose lines are counted."""
AVERAGE_PATH: Final = 40
"""Characters; an estimate of how many paths fit a small model."""
DATA_FOLDER: Final = 20
"""Data files below a folder from which it becomes one line."""
SHOWN_SUFFIXES: Final = 4
"""Suffixes named in the line of a folder."""

BINARY_TYPES: Final = frozenset({"audio", "font", "image", "video"})
"""Main MIME types of files that are not text."""
TEXT_SUBTYPES: Final = frozenset({"javascript", "json", "sql", "x-csh", "x-sh", "x-tcl", "x-tex", "xml"})
"""Subtypes of `application/` that are text."""
BINARY_SUFFIXES: Final = frozenset(
    f".{one}"
    for one in (
        *("7z", "class", "dat", "db", "eot", "gguf", "ico", "jar", "npy", "npz", "onnx", "otf", "parquet"),
        *("pickle", "pkl", "rar", "safetensors", "sqlite", "sqlite3", "ttf", "webp", "woff", "woff2"),
    )
)
"""Suffixes that are missing in some systems' tables of types."""
_TYPES: Final = mimetypes.MimeTypes()
"""Python's own table: the list must not depend on the machine."""

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
SHORTEST: Final = 3
"""Letters of a word that counts."""
DATA: Final = frozenset({"", "diff", "json", "jsonc", "text", "toml", "xml", "yaml"})
"""Languages that count as data; empty: no known language."""
SELDOM_EDITED: Final = frozenset(
    {
        "build",
        "dist",
        "fixtures",
        "generated",
        "node_modules",
        "testdata",
        "third_party",
        "vendor",
        "vendored",
    }
)
"""Folders of files that are seldom edited by hand."""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """A project's files as shown to a planner."""

    lines: list[str]
    """One line for each folder: its files, with line counts of code and documents."""
    more: int
    """Number of files in folders that are not listed."""
    files: list[str]
    """All files."""
    rules: list[str]
    """Rules files of folders."""


async def list_for_model(step: StepContext, about: str) -> ListedFiles:
    """List the project's files, as many as the model can take.

    :param about: text of the question; if not all files fit, the most relevant ones are returned.
    """
    files = await step.workspace.list(notice=lambda words: step.notice(words, level="warn"))
    budget = text_budget(step)
    limit = LISTED_FILES if budget is None else min(LISTED_FILES, budget // AVERAGE_PATH // 2)
    listed, binaries = without_binaries(files, about)
    folders: list[str] = []
    if len(listed) + len(binaries) > min(limit, ALL_LISTED):
        listed, folders = without_data(listed, about)
    room = max(0, limit - len(listed) - len(folders))
    more = sum(map(len, list(binaries.values())[room:]))
    folders += list(binaries)[:room]
    chosen = nearest_files(listed, about, max(0, limit - len(folders)))
    counts = await asyncio.to_thread(_count_lines, step.workspace.root, chosen)
    lines = [*_by_own_folder(chosen, listed, counts), *folders]
    rules = [path for path in files if "/" in path and path.rpartition("/")[2] in IN_DIRECTORIES]
    shown = {path.rpartition("/")[0] for path in chosen}
    more += sum(path.rpartition("/")[0] not in shown for path in listed)
    return ListedFiles(lines, more, files, rules if step.rules_files is not None else [])


def _count_lines(root: Path | None, paths: Iterable[str]) -> dict[str, int]:
    """Return the number of lines of files of code and documents; blocking."""
    counts: dict[str, int] = {}
    for path in paths:
        if root is not None and not _is_data(path) and not secret_name(path):
            with suppress(OSError):
                content = b"" if (root / path).is_symlink() else read_regular(root / path, LARGEST)
                if 0 < len(content) < LARGEST:
                    counts[path] = content.count(b"\n")
    return counts


def _by_own_folder(chosen: Sequence[str], listed: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Return a line for each folder: its files, code first, and the number of files left out."""
    total = Counter(path.rpartition("/")[0] for path in listed)
    folders: dict[str, list[str]] = {}
    for path in sorted(chosen, key=lambda path: (path.rpartition("/")[0], _is_data(path), path)):
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    lines = []
    for folder, paths in folders.items():
        names = [path.rpartition("/")[2] for path in paths]
        names = [name if name.isprintable() else repr(name) for name in names]
        counted = [
            f"{name} {counts[path]}" if path in counts else name
            for name, path in zip(names, paths, strict=True)
        ]
        left = total[folder] - len(paths)
        lines.append(f"{folder or '.'}/: {', '.join(counted)}{f' and {left} more' if left else ''}")
    return lines


def without_binaries(files: Sequence[str], text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the text files, by their names, and the others by a summary line for each folder.

    :param files: paths with `/`.
    :param text: text of the question; a file that it names is always listed.
    """
    binary = [path for path in files if _is_binary(path) and path.rpartition("/")[2] not in text]
    hidden = set(binary)
    folded = {f"{line}, no text": paths for line, paths in _by_folder(binary, 1).items()}
    return [path for path in files if path not in hidden], folded


def without_data(files: Sequence[str], text: str) -> tuple[list[str], list[str]]:
    """Return the files to list one per line, and a summary line for each large data folder.

    :param files: paths with `/`.
    :param text: text of the question; data files that it names are listed.
    """
    data = [path for path in files if _is_data(path) and path.rpartition("/")[2] not in text]
    folded = _by_folder(data, DATA_FOLDER)
    hidden = {path for paths in folded.values() for path in paths}
    return [path for path in files if path not in hidden], list(folded)


def _by_folder(files: Sequence[str], least: int) -> dict[str, list[str]]:
    """Group the files of large folders by a summary line, sorted.

    :param least: number of files that makes a folder large; files of smaller folders are not returned.
    """
    below = Counter(folder for path in files for folder in _folders(path))
    collapsed: dict[str, list[str]] = {}
    for path in files:
        large = [folder for folder in _folders(path) if below[folder] >= least]
        if large:
            # the innermost folder with nearly all files of the outermost
            inner = [folder for folder in large if below[folder] * 10 >= below[large[0]] * 9]
            collapsed.setdefault(inner[-1], []).append(path)
        elif least == 1:
            collapsed.setdefault(".", []).append(path)
    return {
        f"{folder}/: {len(paths):,} {_suffixes(paths)} file{'' if len(paths) == 1 else 's'}": paths
        for folder, paths in sorted(collapsed.items())
    }


def nearest_files(files: Sequence[str], text: str, limit: int) -> list[str]:
    """Return the files most relevant to a text, in the given order.

    Named files come first, then code and documents, files that share most words with the text, files outside
    of `SELDOM_EDITED` folders, and files nearest to the root.

    :param files: paths with `/`.
    :param limit: number of files.
    """
    if len(files) <= limit:
        return list(files)
    words = _words(text)
    common = {path: len(_words(path) & words) for path in files}

    def rank(path: str) -> tuple[bool, bool, int, bool, int]:
        folders = path.split("/")
        named = path in text or (common[path] > 0 and folders[-1] in text)
        return not named, _is_data(path), -common[path], not SELDOM_EDITED.isdisjoint(folders), len(folders)

    chosen = set(sorted(files, key=rank)[:limit])
    return [path for path in files if path in chosen]


def neighbours(path: str, files: Iterable[str]) -> list[str]:
    """Return the files that a wrong path may mean: files of the same name, else files at similar paths."""
    known = list(files)
    name = path.rpartition("/")[2]
    same = [one for one in known if one.rpartition("/")[2] == name]
    return (same or get_close_matches(path, known))[:3]


def _is_data(path: str) -> bool:
    return language_of(path) in DATA


def _is_binary(path: str) -> bool:
    """Return whether a file is an image, an archive, a font or the like, by its name."""
    if language_of(path):
        return False
    kind, encoding = _TYPES.guess_type(path)
    main, _, sub = (kind or "").partition("/")
    application = main == "application" and sub not in TEXT_SUBTYPES
    suffix = f".{path.rpartition('.')[2].lower()}"
    return bool(encoding) or main in BINARY_TYPES or application or suffix in BINARY_SUFFIXES


def _folders(path: str) -> list[str]:
    """Return the folders that contain a file, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _suffixes(paths: Iterable[str]) -> str:
    names = (path.rpartition("/")[2] for path in paths)
    counted = Counter(f".{name.rpartition('.')[2]}" if "." in name else "other" for name in names)
    return "/".join(sorted(suffix for suffix, _ in counted.most_common(SHOWN_SUFFIXES)))


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case, `snake_case` and `camelCase` split, plurals merged."""
    found = (word.lower() for word in WORD.findall(text) if len(word) >= SHORTEST)
    return {word.removesuffix("s") for word in found}
