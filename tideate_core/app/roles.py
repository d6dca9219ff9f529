"""Agents of a project: names, origin, tool name check, JSON form; copy of a built-in agent."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tideate_core.errors import ConfigError, InvalidInput, UnknownAgent, UnusableFile, WorkspaceError
from tideate_core.project import config_dir, read_document, write_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.agents import Role

IN_ORDER = ("assistant", "planner", "auditor", "executor", "documenter", "corrector")
"""Built-in agents: the default of a step, then the roles of a task in order."""


def role_names(root: Path | None) -> list[str]:
    """Return the names of all agents, built-in agents first; blocking.

    :param root: None outside of a project.
    """
    known = agent_names(root)
    return [*IN_ORDER, *sorted(known.difference(IN_ORDER))]


def agent_names(root: Path | None) -> frozenset[str]:
    """Return the names of all agents, including invalid ones; blocking."""
    from tideate_core.agents import Roles

    return Roles(root).names()


def own_tool_names() -> tuple[str, ...]:
    """Return the names of tideate's own tools and tool groups."""
    from tideate_core.agents import own_tool_names as names

    return names()


def tool_mistakes(names: Sequence[str], root: Path | None) -> list[str]:
    """Return messages for unknown or ambiguous tool names, given the configured servers; blocking."""
    from tideate_core.config import OWN_SERVERS, load_config
    from tideate_core.workflows import read_tool_name

    if not names:
        return []
    own = own_tool_names()
    servers = {*load_config(root).config.mcp.servers, *(OWN_SERVERS if root is not None else ())}
    found = []
    for name in names:
        try:
            read_tool_name(name, own, servers)
        except ConfigError as error:
            found.append(str(error))
    return found


def role_origin(role: Role, root: Path | None) -> list[str]:
    """Return the sources of an agent in increasing precedence."""
    from tideate_core.agents import BUILTIN_ROLES, LARGEST_ROLE, package_file

    found = ["built-in"] if (BUILTIN_ROLES / f"{role.name}.md").is_file() else []
    if not found and package_file(role.name) is not None:
        found.append("a package")
    if (config_dir() / "agents" / f"{role.name}.md").is_file():
        found.append("yours")
    if root is not None:
        with suppress(FileNotFoundError, UnusableFile):
            read_document(root, f".tideate/agents/{role.name}.md", LARGEST_ROLE)
            found.append("the project's")
    return found


def eject_role(root: Path, name: str) -> Path:
    """Copy a built-in role to the project; return the new file.

    :raises UnknownAgent: no agent has this name.
    :raises InvalidInput: the agent is not built in.
    :raises WorkspaceError: the file exists already, or cannot be written.
    """
    if name not in IN_ORDER and name in agent_names(root):
        raise InvalidInput(f"{name!r} is not built in; change its file instead")
    if name not in IN_ORDER:
        raise UnknownAgent(name, IN_ORDER)
    return _write_role(root, name)


def role_json(role: Role, root: Path | None) -> dict[str, Any]:
    """Return the JSON form of a role."""
    return {
        "name": role.name,
        "description": role.description,
        "from": role_origin(role, root),
        "path": str(role.path) if role.path else None,
        "adapter": role.adapter,
        "tools": list(role.tools),
        "agents": list(role.agents),
        "output_schema": dict(role.output_schema) if role.output_schema is not None else None,
        "tokens": role.tokens,
        "timeout_ms": role.timeout,
        "notices": list(role.notices),
    }


def _write_role(root: Path, name: str) -> Path:
    from tideate_core.agents import BUILTIN_ROLES

    document = f".tideate/agents/{name}.md"
    content = (BUILTIN_ROLES / f"{name}.md").read_bytes()
    try:
        return write_document(root, document, content, replace=False)
    except FileExistsError as error:
        raise WorkspaceError(f"{root / document} already exists; it was not changed") from error
    except UnusableFile as error:
        raise WorkspaceError(str(error)) from error
