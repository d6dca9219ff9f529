"""What a person trusts of a project all at once: its files, and the commands that verify it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tideate_core.commands import CommandTrust
from tideate_core.commands.detection import detect_clean
from tideate_core.commands.selection import ProjectTrust, select_tools, verification_environment
from tideate_core.config import load
from tideate_core.project import needs_trust, trust_project

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["revoke_commands", "trust_all"]


def trust_all(root: Path) -> list[str]:
    """Trust a project's files, the commands that verify it and what its repository runs, as they are now.

    Returns what that is.

    :raises ConfigError: there is nothing to trust, or a file cannot be read.
    """
    files = trust_project(root) if needs_trust(root) else []
    # only now: the commands that a file names count once it is trusted
    config = load(root).config.verify
    environment = verification_environment(root, config)
    tools = ProjectTrust(root).trust(select_tools(root, config, environment))
    if clean := detect_clean(root, environment):
        CommandTrust(root).trust([clean])
        tools.append(clean)
    brought = _trust_repository(root)
    if not files and not tools and not brought:
        trust_project(root)  # says so
    return [*map(str, files), *(f"`{shlex.join(tool.argv)}` ({tool.check})" for tool in tools), *brought]


def _trust_repository(root: Path) -> list[str]:
    if not (root / ".git").exists():
        return []
    from tideate_core.mcp.servers.git.trusting import trust_repository  # the SDK of MCP takes its time

    return trust_repository(root)


def revoke_commands(root: Path) -> bool:
    """Trust no command of a project any more; False if none was trusted.

    :raises ConfigError: what is trusted cannot be read or written.
    """
    return CommandTrust(root).revoke()
