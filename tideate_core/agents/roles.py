"""Roles of a task: instructions, adapter, tools and budgets, read from Markdown files.

A role's file is YAML front matter between two lines of `---`, then instructions. The built-in one comes
first, the person's (`agents/NAME.md` in the configuration) is put over it, then the project's
(`.tideate/agents/NAME.md`), key by key: a key that a file does not have stays as it was. A project's file may
come from anybody. Unless the person trusts its content it changes words, and may make a budget smaller, but
it cannot say where code is sent, which tools are used, or that more may be spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import (
    ConfigError,
    InvalidDefinition,
    InvalidDefinitionFile,
    UnusableFile,
    did_you_mean,
)
from tideate_core.project import Trust, config_dir, read_document
from tideate_core.workflows import LineTable, Located, Nearest, Problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BUILTIN_ROLES", "LARGEST_ROLE", "Role", "RoleFile", "Roles", "read_role"]

BUILTIN_ROLES: Final = Path(__file__).parent / "builtin"
LARGEST_ROLE: Final = 64 * 1024
"""Bytes."""
MARK: Final = "---"


@dataclass(frozen=True, slots=True)
class Role:
    """The agent of one stage: its words, adapter, tools and budgets."""

    name: str
    instructions: str
    """The system prompt's words."""
    adapter: str | None = None
    """None: the run's."""
    tools: tuple[str, ...] = ()
    tokens: int | None = None
    """Of all questions and answers of one stage; None: no limit."""
    timeout: int | None = None
    """Milliseconds of one stage; None: no limit."""
    path: Path | None = None
    """The file whose words these are."""
    description: str = ""
    notices: tuple[str, ...] = ()
    """For the person: keys that were left out, and why."""


class Roles:
    """Finds roles by name.

    :param root: of the project whose files come before all others; None: there is none.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def get(self, name: str) -> Role:
        """Return a role as its files say.

        :raises ConfigError: there is no such role, or what is trusted cannot be read.
        :raises InvalidDefinition: a file cannot be read, or has mistakes: a line each, `file:line:column`.
        """
        known = sorted(path.stem for path in BUILTIN_ROLES.glob("*.md"))
        if name not in known:
            raise ConfigError(f"there is no role {name!r}{did_you_mean(name, known)}")
        role = _over(Role(name, ""), read_role(BUILTIN_ROLES / f"{name}.md"))
        own = config_dir() / "agents" / f"{name}.md"
        if own.is_file():
            role = _over(role, read_role(own))
        return self._of_project(role)

    def _of_project(self, role: Role) -> Role:
        if self._root is None:
            return role
        name = f".tideate/agents/{role.name}.md"
        path = self._root / name
        try:
            file = read_role(path, read_document(self._root, name, LARGEST_ROLE))
        except FileNotFoundError:
            return role
        except UnusableFile as error:
            return replace(role, notices=(str(error),))
        left_out = [key for key in file.keys if _needs_trust(key, file.keys[key], role)]
        # the content that is trusted is the content that is used: nothing is read twice
        if not left_out or Trust(self._root).is_trusted(name, file.content):
            return _over(role, file)
        kept = {key: value for key, value in file.keys.items() if key not in left_out}
        notice = (
            f"{shown_path(path)}: left out {', '.join(left_out)}: it could send code elsewhere, use tools or "
            "spend more, and this file is not trusted. Read it, then run :Workflow trust or `tideate trust`"
        )
        return replace(_over(role, replace(file, keys=kept)), notices=(notice,))


def _needs_trust(key: str, value: Any, below: Role) -> bool:
    """Tell whether a key does more than change words or make a budget smaller."""
    if key in {"tokens", "timeout"}:
        limit = below.tokens if key == "tokens" else below.timeout
        return limit is not None and value > limit
    return key in {"adapter", "tools"}


def _over(role: Role, file: RoleFile) -> Role:
    keys = dict(file.keys)
    if "tools" in keys:
        keys["tools"] = tuple(keys["tools"])
    if file.instructions:
        keys |= {"instructions": file.instructions, "path": file.path}
    return replace(role, **keys)


@dataclass(frozen=True, slots=True)
class RoleFile:
    """The content of one role's file; a key that it does not set is not in `keys`."""

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
            f"{shown_path(path)} is larger than {LARGEST_ROLE // 1024} KiB; that is not a role"
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
"""Keys of a role's front matter: the test of a value, and the words for one that does not fit."""
