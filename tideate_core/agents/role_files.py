"""Find and parse the files of agents: settings in YAML front matter, then instructions."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile
from tideate_core.project import config_dir
from tideate_core.util.regular_files import read_regular
from tideate_core.workflows import LineTable, Located, Nearest, Problem, check_output_schema, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BUILTIN_ROLES: Final = Path(__file__).parent / "builtin"
LARGEST_ROLE: Final = 64 * 1024
"""Bytes."""
ENTRY_POINT_GROUP: Final = "tideate.agents"
"""Entry points of packages: each is a package or a path, whose directory has files `NAME.md`."""
MARK: Final = "---"
NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,49}", re.ASCII)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoleFile:
    """The content of one agent's file; `keys` has only the keys that it sets."""

    path: Path
    content: bytes
    keys: dict[str, Any]
    instructions: str
    """Empty: the file sets none."""


def agent_names(root: Path | None) -> frozenset[str]:
    """Return the names of all agents; no file is read, so some may be invalid.

    :param root: the project's root; None: there is no project.
    """
    folders: list[Path] = [BUILTIN_ROLES, *package_directories(), config_dir() / "agents"]
    names = [name for folder in folders for name in _names_in(folder)]
    if root is not None and not (root / ".tideate").is_symlink():
        own = root / ".tideate/agents"
        names += [] if own.is_symlink() else _names_in(own)
    return frozenset(names)


def package_file(name: str) -> Path | None:
    """Return the file of an agent from an installed package, if any."""
    return next((file for folder in package_directories() if (file := folder / f"{name}.md").is_file()), None)


@lru_cache(maxsize=1)
def package_directories() -> tuple[Path, ...]:
    """Return the agent directories of installed packages; one that fails to load is logged and left out."""
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            found.append(_directory(point.load()))
        except Exception:  # code of others may raise anything
            log.exception("the agents of the entry point %s = %s were not loaded", point.name, point.value)
    return tuple(found)


def _directory(given: Any) -> Path:
    """Return the directory of an entry point: a path, or that of a package."""
    return Path(given.__path__[0]) if isinstance(given, ModuleType) else Path(given)


def _names_in(folder: Path) -> list[str]:
    try:
        files: Iterable[Path] = list(folder.iterdir())
    except OSError:
        return []  # most people and projects have none
    return [file.stem for file in files if file.suffix == ".md" and NAME.fullmatch(file.stem)]


def read_role(path: Path, content: bytes | None = None) -> RoleFile:
    """Read an agent's file.

    :param content: content of the file, if it was read before.

    :raises InvalidDefinition: it cannot be read.
    :raises InvalidDefinitionFile: its front matter has mistakes; one line each, with `file:line:column`.
    """
    content = _bytes(path) if content is None else content
    try:
        text = content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidDefinition(f"{shown_path(path)}: not UTF-8 at byte {error.start}") from error
    lines = text.split("\n")
    if lines[0].rstrip() != MARK:
        return RoleFile(path, content, {}, text.strip())
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == MARK), None)
    if end is None:
        raise InvalidDefinitionFile(
            f"{shown_path(path)}:1:1: the front matter does not end; add a line `---` after its keys"
        )
    # an empty line replaces the mark, so that line numbers of mistakes are those of the file
    keys = _keys(path, "\n".join(["", *lines[1:end]]))
    return RoleFile(path, content, keys, "\n".join(lines[end + 1 :]).strip())


def _bytes(path: Path) -> bytes:
    try:
        content = read_regular(path, LARGEST_ROLE + 1)
    except OSError as error:
        raise InvalidDefinition(f"{shown_path(path)} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_ROLE:
        raise InvalidDefinition(
            f"{shown_path(path)} is larger than {LARGEST_ROLE // 1024} KiB; that is not an agent"
        )
    return content


def _keys(path: Path, text: str) -> dict[str, Any]:
    # here, because most runs need no parser
    from tideate_core.workflows import read_yaml

    if all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n")):
        return {}
    root, problems = read_yaml(text)
    if root is not None:
        problems = [*problems, *_wrong(root)]
    if root is None or problems:
        table = LineTable(text)
        mistakes = sorted(table.mistake(problem) for problem in problems)
        raise InvalidDefinitionFile("\n".join(one.describe(shown_path(path)) for one in mistakes), mistakes)
    return {key: value for key, value in root.value.items() if value is not None}


def _wrong(root: Located) -> list[Problem]:
    if not isinstance(root.items, dict):
        return [Problem(root.start, root.end, "the front matter is not a mapping", "write `key: value`")]
    found = []
    nearest = Nearest()
    for key, item in root.items.items():
        if key not in KEYS:
            hint = nearest.hint(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            found.append(Problem(*root.keys[key], f"unknown key {key!r}", hint))
            continue
        if item.value is None:
            continue
        fits, wanted = KEYS[key]
        if not fits(item.value):
            found.append(Problem(item.start, item.end, f"`{key}` {wanted}"))
        elif key == "output_schema":
            found += check_output_schema(item)
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(one) for one in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


KEYS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "description": (_is_text, "is one line of text"),
    "adapter": (_is_text, "is the name of an adapter, as `claude` or `openai:gpt-6.1-sol`"),
    "tools": (_is_list, "is a list of names"),
    "agents": (_is_list, "is a list of names of agents"),
    "tokens": (_is_count, "is a number of tokens above 0"),
    "timeout": (_is_count, "is a number of milliseconds above 0"),
    "output_schema": (_is_mapping, "is a JSON Schema"),
}
"""Keys of an agent's front matter: the test of a value, and the message for a wrong one."""
