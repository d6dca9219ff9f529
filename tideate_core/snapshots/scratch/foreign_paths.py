"""Paths that lead out of a scratch copy: editable installations, and a git directory elsewhere."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.process import VIRTUAL_ENVIRONMENTS
from tideate_core.project import real_path
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LARGEST: Final = 256 * 1024
"""Bytes of an inspected file."""
_MAPPING: Final = re.compile(r"^MAPPING\b[^=\n]*= *(\{[^\n]*\})", re.MULTILINE)
"""Mapping of package names to directories in setuptools' finders."""


def editable_sources(root: Path) -> list[Path]:
    """Return a project's source directories that its virtual environment imports; blocking.

    In a copy they must come first in the import path; otherwise tests would import the project itself.
    """
    found: dict[Path, None] = {}
    for name in VIRTUAL_ENVIRONMENTS:
        for packages in sorted((root / name / "lib").glob("python3*/site-packages")):
            for path in (*_named_in_pth(packages), *_named_in_finders(packages)):
                if path.is_relative_to(root) and not path.is_relative_to(root / name):
                    found[path] = None
    return list(found)


def _named_in_pth(packages: Path) -> Iterator[Path]:
    for file in sorted(packages.glob("*.pth")):
        for line in _text(file).splitlines():
            if line.startswith("/"):
                yield Path(line.rstrip())


def _named_in_finders(packages: Path) -> Iterator[Path]:
    for file in sorted(packages.glob("__editable__*_finder.py")):
        if (found := _MAPPING.search(_text(file))) is not None:
            try:
                mapping = ast.literal_eval(found[1])
            except (ValueError, SyntaxError):
                continue  # format of another version
            if isinstance(mapping, dict):
                yield from (Path(path).parent for path in mapping.values() if isinstance(path, str))


def environment_in_copy(project: Path, tree: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return an environment that keeps programs in a copy from finding the original project; blocking.

    Python imports editable packages from the copy, and git searches no repository above it.
    """
    sources = [tree / path.relative_to(project) for path in editable_sources(project)]
    ceilings = [str(tree.parent), environment.get("GIT_CEILING_DIRECTORIES", "")]
    known = {**environment, "GIT_CEILING_DIRECTORIES": os.pathsep.join(filter(None, ceilings))}
    if sources:
        paths = [*map(str, sources), environment.get("PYTHONPATH", "")]
        known["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return known


def outside_git(root: Path) -> Path | None:
    """Return the git directory of a project that lies outside of it; blocking.

    It belongs to a parent directory, or `.git` names it in a worktree or submodule.

    :returns: the directory shared by all worktrees; None if `.git` is a directory or invalid.
    """
    try:
        common = _common_directory(root)
        is_git = (common / "HEAD").is_file() and (common / "objects").is_dir()
    except PermissionError:
        return None
    apart = not common.is_relative_to(root) and not root.is_relative_to(common)
    return common if is_git and apart else None


def _common_directory(root: Path) -> Path:
    """Return the git directory named for a project, valid or not."""
    place = next((above for above in (root, *root.parents) if (above / ".git").exists()), root)
    named = _text(place / ".git").partition("gitdir:")[2].strip() or ".git"
    own = real_path(place / named)
    return real_path(own / (_text(own / "commondir").strip() or "."))


def _text(path: Path) -> str:
    return (read_bounded(path, _LARGEST) or b"").decode(errors="replace").replace("\0", "")
