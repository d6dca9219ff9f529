"""Roles of a gated task: names, origin, JSON form; copy a built-in one to the project."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tideate_core.errors import UnusableFile, WorkspaceError
from tideate_core.project import config_dir, read_document, write_document

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.agents import Role

__all__ = ["eject_role", "role_json", "role_names", "role_origin"]

IN_ORDER = ("planner", "auditor", "executor", "documenter", "corrector")
"""As a task asks them."""


def role_names() -> list[str]:
    """Return the names of all roles, in the order in which a task asks them."""
    from tideate_core.agents import BUILTIN_ROLES

    known = {path.stem for path in BUILTIN_ROLES.glob("*.md")}
    return [*(name for name in IN_ORDER if name in known), *sorted(known.difference(IN_ORDER))]


def role_origin(role: Role, root: Path | None) -> list[str]:
    """Return which files a role is made of, the last of them counting most."""
    from tideate_core.agents import LARGEST_ROLE

    found = ["built-in"]
    if (config_dir() / "agents" / f"{role.name}.md").is_file():
        found.append("yours")
    if root is not None:
        with suppress(FileNotFoundError, UnusableFile):
            read_document(root, f".tideate/agents/{role.name}.md", LARGEST_ROLE)
            found.append("the project's")
    return found


def eject_role(root: Path, name: str) -> Path:
    """Write a built-in role to the project; return its file.

    :raises WorkspaceError: there is a file already, or it cannot be written.
    """
    from tideate_core.agents import Roles

    Roles(None).get(name)  # or says which are known
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
        raise WorkspaceError(f"{root / document} is there already; it was left as it is") from error
    except UnusableFile as error:
        raise WorkspaceError(str(error)) from error
