"""Roles: who does which stage of a task, in whose words, and within which budget.

A role is a Markdown file. The built-in one comes first, the person's (`agents/NAME.md` in the configuration)
is put over it, then the project's (`.tideate/agents/NAME.md`), key by key: what a file does not say stays as
it was. A project's file may come from anybody. Unless the person trusts its content it changes words, and
may make a budget smaller, but it cannot say where code is sent, which tools are used, or that more may be
spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents.role_file import LARGEST_ROLE, read_role
from tideate_core.errors import ConfigError, UnusableFile, did_you_mean
from tideate_core.project import Trust, config_dir, read_document
from tideate_core.workflows import shown_path

if TYPE_CHECKING:
    from tideate_core.agents.role_file import RoleFile

__all__ = ["BUILTIN_ROLES", "Role", "Roles"]

BUILTIN_ROLES: Final = Path(__file__).parent / "builtin"


@dataclass(frozen=True, slots=True)
class Role:
    """Who does a stage."""

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
    """What a person should be told: keys that were left out, and why."""


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
