"""Role files: YAML front matter between two lines of `---`, then instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile
from tideate_core.workflows import LineTable, Located, Nearest, Problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["KEYS", "LARGEST_ROLE", "RoleFile", "read_role"]

LARGEST_ROLE: Final = 64 * 1024
"""Bytes."""
MARK: Final = "---"


@dataclass(frozen=True, slots=True)
class RoleFile:
    """What one file says; a key that it does not set is not in `keys`."""

    path: Path
    content: bytes
    keys: dict[str, Any]
    instructions: str
    """Empty: the file has no words of its own."""


def read_role(path: Path, content: bytes | None = None) -> RoleFile:
    """Read a role's file.

    :param content: of the file, where it was read already.

    :raises InvalidDefinition: it cannot be read.
    :raises InvalidDefinitionFile: its front matter has mistakes; a line each, with `file:line:column`.
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
            f"{shown_path(path)}:1:1: the front matter does not end; write a line `---` below its keys"
        )
    # an empty line in place of the mark, so that a mistake's line is the file's
    keys = _keys(path, "\n".join(["", *lines[1:end]]))
    return RoleFile(path, content, keys, "\n".join(lines[end + 1 :]).strip())


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_ROLE + 1)
    except OSError as error:
        raise InvalidDefinition(f"{shown_path(path)} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_ROLE:
        raise InvalidDefinition(
            f"{shown_path(path)} is larger than {LARGEST_ROLE // 1024} KiB; that is no role"
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
        return [Problem(root.start, root.end, "the front matter is no mapping", "write `key: value` lines")]
    found = []
    nearest = Nearest()
    for key, item in root.items.items():
        if key not in KEYS:
            hint = nearest.hint(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            found.append(Problem(*root.keys[key], f"unknown key {key!r}", hint))
            continue
        fits, wanted = KEYS[key]
        if item.value is not None and not fits(item.value):
            found.append(Problem(item.start, item.end, f"`{key}` {wanted}"))
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(one) for one in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


KEYS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "description": (_is_text, "is one line of text"),
    "adapter": (_is_text, "is the name of an adapter, as `claude` or `openai:gpt-5`"),
    "tools": (_is_list, "is a list of names"),
    "tokens": (_is_count, "is a number of tokens above 0"),
    "timeout": (_is_count, "is a number of milliseconds above 0"),
}
"""What a role's front matter may set: whether a value fits, and what is said where it does not."""
