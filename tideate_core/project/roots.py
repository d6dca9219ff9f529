"""Find a project's root and the user's XDG directories; resolve links and `~`."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY_MARKERS = (".tideate", ".git")
PROJECT_FILES = (
    "pyproject.toml",
    "setup.py",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "CMakeLists.txt",
    "meson.build",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "composer.json",
    "Gemfile",
    "mix.exs",
    "deno.json",
)
DEFINITION_SUFFIXES = (".yaml", ".yml", ".json")
"""Definitions of graphs, which need trust; machines do not."""


def xdg_directory(variable: str, default: str) -> Path:
    """Return a directory of the XDG specification.

    :param default: relative to the home directory.
    """
    value = os.environ.get(variable, "")
    # the XDG specification: a relative path is invalid and ignored
    return Path(value) if Path(value).is_absolute() else Path.home() / default


def config_dir() -> Path:
    """Return `$XDG_CONFIG_HOME/tideate`; it may not exist."""
    return xdg_directory("XDG_CONFIG_HOME", ".config") / "tideate"


def find_root(start: Path) -> Path | None:
    """Return the nearest ancestor that is a project, or None.

    A project has `.tideate/`, `.git` or a project file. The home directory and `/` need one of the first two:
    a stray `package.json` there would turn all of a user's files into one project.

    :param start: a file or directory; it need not exist.
    """
    start = real_path(expand_home(start))
    home = real_path(Path.home())
    for directory in (start, *start.parents):
        # `os.path` treats unreadable directories as empty
        if any(os.path.exists(directory / marker) for marker in REPOSITORY_MARKERS):  # noqa: PTH110
            return directory
        if directory in (home, Path(directory.anchor)):
            continue
        if any(os.path.isfile(directory / name) for name in PROJECT_FILES):  # noqa: PTH113
            return directory
    return None


def real_path(path: Path) -> Path:
    """Resolve all links; circular ones stay.

    `Path.resolve` raises a RuntimeError for them before Python 3.13.
    """
    return Path(os.path.realpath(path))


def expand_home(name: str | Path) -> Path:
    """Expand `~` in a path; an unknown user's stays."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 `Path.expanduser` raises a RuntimeError there


def is_inside(path: Path, root: Path) -> bool:
    """Return whether a path is inside a directory after all links are followed."""
    return real_path(path).is_relative_to(real_path(root))
