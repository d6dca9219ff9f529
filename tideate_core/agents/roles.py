"""Agents by name: settings and instructions, merged from built-in, user and project files.

A built-in file or a package's file comes first. The person's file (`agents/NAME.md` in the configuration) and
then the project's (`.tideate/agents/NAME.md`) override it, key by key. Anybody may have written a project's
file: unless the person trusts its content, it can only add an agent, change the instructions of a task's role
that has no tools, or lower a budget. It cannot choose where code is sent or which tools and agents are used,
nor raise a budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents.role_files import (
    BUILTIN_ROLES,
    LARGEST_ROLE,
    RoleFile,
    agent_names,
    package_file,
    read_role,
)
from tideate_core.errors import InvalidDefinition, UnknownAgent, UnusableFile
from tideate_core.project import Trust, config_dir, read_document
from tideate_core.workflows import DEFAULT_AGENT, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TASK_ROLES: Final = frozenset({"planner", "auditor", "executor", "documenter", "corrector"})
"""Roles whose instructions a project may change without trust: gates and the person check their results."""


@dataclass(frozen=True, slots=True)
class Role:
    """An agent, of a step or of a task's stage: its instructions, adapter, tools and budgets."""

    name: str
    instructions: str
    """Instructions for the system prompt."""
    adapter: str | None = None
    """None: the run's adapter."""
    tools: tuple[str, ...] = ()
    """Names of tideate's own tools and groups, and of MCP tools: `SERVER/TOOL`, or `SERVER` for all."""
    agents: tuple[str, ...] = ()
    """Other agents that it may delegate to."""
    tokens: int | None = None
    """Tokens of all questions and answers of one stage, with those of delegated agents; None: no limit."""
    timeout: int | None = None
    """Milliseconds of one stage; None: no limit."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of its answers in a step; None: text, or the step's own schema."""
    path: Path | None = None
    """File that sets the instructions."""
    description: str = ""
    notices: tuple[str, ...] = ()
    """Messages for the person: keys that were ignored, and why."""


class Roles:
    """Finds agents by name.

    :param root: root of the project whose files override all others; None: there is no project.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def names(self) -> frozenset[str]:
        """Return the names of all agents; some may be invalid."""
        return agent_names(self._root)

    def get(self, name: str) -> Role:
        """Return an agent, merged from its files; blocking.

        :raises UnknownAgent: no agent has this name.
        :raises ConfigError: the record of trusted files cannot be read.
        :raises InvalidDefinition: a file cannot be read, or has mistakes: one line each, `file:line:column`.
        """
        if name not in (known := self.names()):
            raise UnknownAgent(name, known)
        builtin = BUILTIN_ROLES / f"{name}.md"
        first = builtin if builtin.is_file() else package_file(name)
        role = _over(Role(name, ""), read_role(first)) if first else Role(name, "")
        own = config_dir() / "agents" / f"{name}.md"
        if own.is_file():
            role = _over(role, read_role(own))
        role = self._of_project(role)
        if not role.instructions and first != builtin:
            reason = "; ".join(role.notices) or "write them below the front matter of its file"
            raise InvalidDefinition(f"the agent {name!r} has no instructions; {reason}")
        return role

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
        keys = {**file.keys, **({"instructions": file.instructions} if file.instructions else {})}
        left_out = [key for key in keys if _needs_trust(key, keys[key], role)]
        # nothing is read twice: the content that is checked for trust is the content in use
        if not left_out or Trust(self._root).is_trusted(name, file.content):
            return _over(role, file)
        kept = {key: value for key, value in file.keys.items() if key not in left_out}
        notice = (
            f"{shown_path(path)}: left out {', '.join(left_out)}: it could send code elsewhere, use tools "
            "or agents, spend more, or change an agent that is not the project's, and this file is not "
            "trusted. Read it, then run :Workflow trust or `tideate trust`"
        )
        words = "" if "instructions" in left_out else file.instructions
        return replace(_over(role, replace(file, keys=kept, instructions=words)), notices=(notice,))


def _needs_trust(key: str, value: Any, below: Role) -> bool:
    """Return whether a key needs trust: it does more than set a task's words, lower a budget or add an agent.

    :param below: the agent without the project's file; empty if only the project defines it.
    """
    now = getattr(below, key)
    if value == (list(now) if isinstance(now, tuple) else now):
        return False
    is_new = not below.instructions and below.name not in TASK_ROLES and below.name != DEFAULT_AGENT
    if key == "instructions":
        does_more = bool(below.agents or below.tools)
        return not is_new and (does_more or below.name not in TASK_ROLES)
    if key in {"description", "output_schema"}:
        return not is_new
    if key in {"tokens", "timeout"}:
        limit = below.tokens if key == "tokens" else below.timeout
        return limit is not None and value > limit
    return key in {"adapter", "agents", "tools"}


def _over(role: Role, file: RoleFile) -> Role:
    keys = dict(file.keys)
    keys |= {key: tuple(keys[key]) for key in ("agents", "tools") if key in keys}
    if file.instructions:
        keys |= {"instructions": file.instructions, "path": file.path}
    return replace(role, **keys)
