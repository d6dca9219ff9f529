"""Parts of a project: folders with their own project file, and the parts affected by a change."""

from __future__ import annotations

import os
import posixpath
import re
from collections import deque
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git import SAFE_OPTIONS, find_repository, run_git
from tideate_core.project import real_path
from tideate_core.toolchain.detection.tools import ProjectFiles, read_toml, table

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

PROJECT_FILES: Final = (
    "pyproject.toml", "setup.py", "manage.py", "package.json", "deno.json", "deno.jsonc", "Cargo.toml",
    "go.work", "go.mod", "CMakeLists.txt", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile",
    "*.gemspec", "mix.exs", "composer.json", "*.rockspec",
)  # fmt: skip
"""Files that make a folder below the root a separate part."""
_NAMING: Final = (
    *PROJECT_FILES, "setup.cfg", "requirements*.txt", "tsconfig.json", "settings.gradle",
    "settings.gradle.kts",
)  # fmt: skip
"""Files in which a part may name other parts."""
_PASSED_OVER: Final = frozenset((
    "node_modules", "vendor", "third_party", "third-party", "external", "deps", "site-packages", "venv",
    "env", "target", "dist", "build", "_build", "out", "__pycache__", "fixtures", "testdata", "test-data",
    "test_data", "test", "tests", "spec", "specs", "__tests__", "examples", "example", "samples", "sample",
    "templates", "template", "demo", "demos", "benchmarks", "bench",
))  # fmt: skip
"""Folders of foreign code, build output, tests or examples, besides hidden folders."""
_MOST_LOOKED_AT: Final = 5_000
"""Maximum number of folders searched."""
_MOST_PARTS: Final = 100
_PROSE: Final = (".md", ".rst", ".txt", ".adoc")
_PATH: Final = re.compile(r"(?<![\w.])\.{1,2}/[\w./@-]{0,200}")
_CHECK_IGNORE: Final = tuple(word for word in SAFE_OPTIONS if word != "--literal-pathspecs")


def find_folders(root: Path) -> dict[str, list[str]]:
    """Return the folders below the root with project files, and these files; blocking.

    Folders that git ignores are left out, and folders with names usual for foreign code.
    """
    return _search(root)[0]


def unsearched(root: Path) -> str:
    """Return a warning if the search for parts ended early; empty otherwise; blocking."""
    found, begun = _search(root)
    if not begun:
        return ""
    bound = f"{_MOST_LOOKED_AT:,} folders" if len(found) < _MOST_PARTS else f"{_MOST_PARTS} parts"
    return (
        f"parts of the project were looked for in its first {bound} only, so those in {begun} or after it "
        "may run no checks; name commands for all of them as verify.CHECK in .tideate/config.toml"
    )


def _search(root: Path) -> tuple[dict[str, list[str]], str]:
    """Return the parts, and the first folder that was not searched, empty if there is none."""
    found: dict[str, list[str]] = {}
    waiting, looked = deque([""]), 0
    while waiting and looked < _MOST_LOOKED_AT and len(found) < _MOST_PARTS:
        folder = waiting.popleft()
        looked += 1
        try:
            with os.scandir(root / folder) as entries:
                listed = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            continue
        below = f"{folder}/" if folder else ""
        files = [name for name, is_folder in listed if not is_folder and _fits(name, PROJECT_FILES)]
        if folder and files:
            found[folder] = files
        waiting += [below + name for name, is_folder in listed if is_folder and _is_own(name)]
    ignored = _ignored(root, [f"{folder}/{files[0]}" for folder, files in found.items()])
    own = {folder: files for folder, files in found.items() if f"{folder}/{files[0]}" not in ignored}
    return own, next(iter(waiting), "")


def _is_own(name: str) -> bool:
    return not name.startswith((".", "cmake-build-")) and name.lower() not in _PASSED_OVER


def _fits(name: str, patterns: Collection[str]) -> bool:
    return name in patterns or any("*" in pattern and fnmatchcase(name, pattern) for pattern in patterns)


def _ignored(root: Path, names: list[str]) -> set[str]:
    if not names:
        return set()
    try:
        repository = find_repository(real_path(root))
        given = "\0".join(f"./{name}" for name in names).encode("utf-8", "surrogateescape")
        said = run_git(
            repository, "check-ignore", "--stdin", "-z", cwd=root, given=given, options=_CHECK_IGNORE
        )
    except WorkspaceError:
        return set()  # without git only names decide
    return {os.fsdecode(name).removeprefix("./") for name in said.out.split(b"\0") if name}


def affected_folders(root: Path, folders: Collection[str], changed: Collection[str]) -> frozenset[str]:
    """Return the parts that a change affects; blocking.

    Affected are parts with a changed file, and parts with project files that name such a part or a changed
    path. A changed file outside all parts affects all of them, unless it is prose.

    :param changed: files relative to the root.
    """
    texts = {folder: _texts(root, folder) for folder in folders}
    named = {folder: _paths(folder, text) for folder, text in texts.items()}
    affected: set[str] = set()
    for name in changed:
        found = {
            one for one in folders if _holds(one, name) or any(_holds(path, name) for path in named[one])
        }
        if not found and not name.endswith(_PROSE) and not name.startswith(".tideate/"):
            return frozenset(folders)
        affected |= found
    waiting = list(affected)
    while waiting:
        one = waiting.pop()
        names = _names(root, one)
        new = {
            other
            for other in folders
            if other not in affected and (one in named[other] or (names and names.search(texts[other])))
        }
        affected |= new
        waiting += new
    return frozenset(affected or folders)


def _holds(folder: str, name: str) -> bool:
    return not folder or name == folder or name.startswith(f"{folder}/")


def _texts(root: Path, folder: str) -> str:
    files = ProjectFiles(root, folder)
    try:
        names = sorted(name for name in os.listdir(root / folder) if _fits(name, _NAMING))  # noqa: PTH208
    except OSError:
        return ""
    return "\n".join(files.text(name) for name in names)


def _paths(folder: str, text: str) -> set[str]:
    """Return the paths outside a part that its files name, relative to the root."""
    paths = {posixpath.normpath(posixpath.join(folder, path)) for path in _PATH.findall(text)}
    return {path for path in paths if path != "." and not path.startswith("..") and not _holds(folder, path)}


def _names(root: Path, folder: str) -> re.Pattern[str] | None:
    """Return a pattern of a part's names in other parts' files, None if it has no name."""
    files = ProjectFiles(root, folder)
    found = [
        table(files.pyproject, "project").get("name"),
        table(files.pyproject, "tool", "poetry").get("name"),
        files.package.get("name"),
        table(read_toml(files.text("Cargo.toml")), "package").get("name"),
        *re.findall(r"^module[ \t]+(\S+)", files.text("go.mod"), re.MULTILINE),
    ]
    # `-`, `_` and `.` are interchangeable in Python package names
    forms = [
        re.sub(r"(?:\\-|_|\\\.)+", "[-_.]", re.escape(name))
        for name in found
        if isinstance(name, str) and name
    ]
    return re.compile(rf"(?<![\w@/.-])(?:{'|'.join(forms)})(?![\w/-])", re.IGNORECASE) if forms else None
