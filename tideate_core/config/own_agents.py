"""Agents of the user's configuration, without the time that reading all of it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.project import config_dir
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.config.schema import AgentConfig, Config

SECTIONS: Final = frozenset(
    (
        *("adapter", "adapters", "agents", "ci", "editor", "fleet", "history", "inbox", "land", "limits"),
        *("login", "mcp", "memory", "rules", "rules_files", "snapshots", "state", "telemetry", "ui"),
        *("verify", "watch", "workflow", "workflows"),
    )
)
"""Names of the sections of a configuration."""


@dataclass(frozen=True, slots=True)
class OwnAgents:
    """Part of a configuration without agents."""

    agents: Mapping[str, AgentConfig] = field(default_factory=dict)


def load_own_agents(root: Path) -> Config | OwnAgents:
    """Return the configuration as far as it is about agents; only the user's own file may be.

    :raises ConfigError: the file is unreadable, or has agents and mistakes.
    """
    try:
        content = read_regular(config_dir() / "config.toml")
        import tomllib  # here, because most users have no such file

        if not (names := tomllib.loads(content.decode()).keys()) - SECTIONS and "agents" not in names:
            return OwnAgents()
    except (FileNotFoundError, NotADirectoryError):
        return OwnAgents()
    except (OSError, ValueError, RecursionError):
        pass  # the complete reader names the mistake
    from tideate_core.config.loading import load_config

    return load_config(root).config
