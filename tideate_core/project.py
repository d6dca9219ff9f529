"""Where a project begins, where private files live, and what a person has trusted."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import tempfile
from pathlib import Path

from tideate_core.errors import ConfigError

__all__ = [
    "DEFINITION_SUFFIXES",
    "Trust",
    "agents_dir",
    "config_dir",
    "expanded",
    "find_root",
    "inside",
    "needs_trust",
    "private_dir",
    "private_place",
    "prompts_dir",
    "real",
    "state_dir",
    "trust_project",
    "workflows_dir",
]

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
"""Of workflows with steps; those with states need no trust."""
TEAM_FILES = ("config.toml", "context.json", "workflow.schema.json", "workflows/", "agents/", "prompts/")


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    # the XDG specification: a relative path is invalid and ignored
    return Path(value) if Path(value).is_absolute() else Path.home() / default


def state_dir() -> Path:
    """Return `$XDG_STATE_HOME/tideate`; it may not exist yet."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "tideate"


def config_dir() -> Path:
    """Return `$XDG_CONFIG_HOME/tideate`; it may not exist."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "tideate"


def find_root(start: Path) -> Path | None:
    """Return the nearest ancestor that is a project, None outside of any.

    A project has `.tideate/`, `.git` or a project file. The home directory and `/` need one of the first two:
    a stray `package.json` there would make everything a person owns one project.

    :param start: a file or directory; it need not exist.
    """
    start = real(start.expanduser())
    home = real(Path.home())
    for directory in (start, *start.parents):
        if any((directory / marker).exists() for marker in REPOSITORY_MARKERS):
            return directory
        if directory in (home, Path(directory.anchor)):
            continue
        if any((directory / name).is_file() for name in PROJECT_FILES):
            return directory
    return None


def agents_dir(root: Path) -> Path:
    """Return the directory of a project's own roles; it may not exist."""
    return root / ".tideate" / "agents"


def prompts_dir(root: Path) -> Path:
    """Return the directory of a project's own prompts; it may not exist."""
    return root / ".tideate" / "prompts"


def workflows_dir(root: Path) -> Path:
    """Return the directory of a project's own workflows; it may not exist."""
    return root / ".tideate" / "workflows"


def real(path: Path) -> Path:
    """Return where a path leads when all links are followed; links that lead in a circle stay as they are.

    `Path.resolve` raises a RuntimeError for those, before Python 3.13.
    """
    return Path(os.path.realpath(path))


def expanded(name: str) -> Path:
    """Return the path that a person named, with `~` for a home; one of nobody's stays as it is."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 `Path.expanduser` raises a RuntimeError there


def inside(path: Path, root: Path) -> bool:
    """Tell whether a path stays in a directory when all links are followed."""
    return real(path).is_relative_to(real(root))


def needs_trust(root: Path) -> list[Path]:
    """Return the files of a project that may need trust to be used; links out of it are none."""
    definitions = (
        path for path in workflows_dir(root).glob("*") if path.suffix.lower() in DEFINITION_SUFFIXES
    )
    prompts = prompts_dir(root).glob("*.md")
    roles = [path for path in sorted(agents_dir(root).glob("*.md")) if _has_front_matter(path)]
    candidates = [root / ".tideate" / "config.toml", *sorted(prompts), *roles, *sorted(definitions)]
    return [path for path in candidates if path.is_file() and inside(path, root)]


def _has_front_matter(path: Path) -> bool:
    """Tell whether a role's file may set more than its words; that it cannot be read is said in its place."""
    if not path.is_file():
        return False  # a pipe would block
    try:
        with path.open("rb") as file:
            return file.read(6).removeprefix(codecs.BOM_UTF8).startswith(b"---")
    except OSError:
        return False


def trust_project(root: Path) -> list[Path]:
    """Trust all of a project's files as they are now; returns them.

    :raises ConfigError: there is none, or one cannot be read.
    """
    files = needs_trust(root)
    if not files:
        raise ConfigError(
            f"{root / '.tideate'} has no config.toml, no prompts/*.md, no agents/*.md with keys and no "
            "workflows/*.yaml or *.json; there is nothing to trust"
        )
    for path in files:
        Trust().trust(path)
    return files


def private_place(root: Path | None) -> Path:
    """Return where a project's private files are: `ROOT/.tideate` or `state_dir()`; it may not exist yet."""
    return state_dir() if root is None else root / ".tideate"


def private_dir(root: Path | None) -> Path:
    """Return the directory of a project's private files, made if it is missing.

    A project's gets a `.gitignore` that leaves only the team's files to git.

    :raises ConfigError: `.tideate` leads out of the project, or cannot be made.
    """
    directory = private_place(root)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if root is not None:
            if not inside(directory, root):
                raise ConfigError(f"{directory} is a link out of the project; remove it, nothing was written")
            _write_gitignore(directory)
    except OSError as error:
        raise ConfigError(f"{directory} cannot be used for private files: {error.strerror}") from error
    return directory


def _write_gitignore(directory: Path) -> None:
    lines = ["# what belongs to the team; everything else here is private", "*"]
    for name in TEAM_FILES:
        lines.append(f"!/{name}")
        if name.endswith("/"):
            lines.append(f"!/{name}**")
    try:
        with (directory / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except FileExistsError:
        pass  # the person's, or ours from before


class Trust:
    """Which files of projects a person trusts, by their content: a change asks again."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or state_dir() / "trust.json"
        self._meanings = self._file.with_name("trusted-definitions.json")
        """The path of the file, by the digest of it and a definition."""

    def is_trusted(self, path: Path, content: bytes) -> bool:
        """Tell whether exactly this content was trusted at this path.

        :param content: what the caller read and is about to use, so that nothing can change in between.
        :raises ConfigError: the store cannot be read.
        """
        return self._load(self._file).get(_key(path)) == _digest(content)

    def trust(self, path: Path) -> None:
        """Trust a file's present content.

        :raises ConfigError: the file cannot be read or the store cannot be written.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
        self._save(self._file, self._load(self._file) | {_key(path): _digest(content)})

    def knows_definition(self, path: Path, definition: str) -> bool:
        """Tell whether a file that the person trusted, or the person's own, had this definition once.

        :raises ConfigError: the store cannot be read.
        """
        return _meaning(path, definition) in self._load(self._meanings)

    def keep_definition(self, path: Path, definition: str) -> None:
        """Trust a definition that a trusted file has, so that its runs can go on when the file was changed.

        Runs are kept with the project, which may come from anybody; this is kept with the person.

        :raises ConfigError: the store cannot be read or written.
        """
        entries = self._load(self._meanings)
        if (key := _meaning(path, definition)) not in entries:
            self._save(self._meanings, entries | {key: _key(path)})

    def revoke(self, path: Path) -> bool:
        """Stop trusting a file, and all that it ever said; return False if it was not trusted."""
        meanings = self._load(self._meanings)
        left = {key: file for key, file in meanings.items() if file != _key(path)}
        if left != meanings:
            self._save(self._meanings, left)
        entries = self._load(self._file)
        known = entries.pop(_key(path), None)
        if known is not None:
            self._save(self._file, entries)
        return known is not None or left != meanings

    def paths(self) -> list[Path]:
        """Return every trusted path, sorted; its content may have changed since."""
        return [Path(name) for name in sorted(self._load(self._file))]

    def _load(self, place: Path) -> dict[str, str]:
        try:
            entries = json.loads(place.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(f"{place} cannot be read ({error}); remove it to trust nothing") from error
        if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
            raise ConfigError(f"{place} is not a trust store; remove it to trust nothing")
        return entries

    def _save(self, place: Path, entries: dict[str, str]) -> None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".trust-")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(entries, file, indent=1, sort_keys=True)
            Path(name).replace(place)
        except OSError as error:
            raise ConfigError(f"{place} cannot be written: {error.strerror}") from error


def _key(path: Path) -> str:
    return str(real(path.expanduser()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _meaning(path: Path, definition: str) -> str:
    return _digest(f"{_key(path)}\0{definition}".encode("utf-8", "surrogateescape"))
