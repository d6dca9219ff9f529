"""Configuration: one schema, read from the person's file, the project's file and `setup()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.config.loading import GUARDED, LoadedConfig, load
    from tideate_core.config.schema import (
        OWN_SERVERS,
        AdapterConfig,
        Config,
        History,
        Limits,
        Mcp,
        McpServer,
        Snapshots,
        Ui,
        Verify,
        WorkflowConfig,
    )

__all__ = [
    "AdapterConfig",
    "Config",
    "GUARDED",
    "History",
    "Limits",
    "LoadedConfig",
    "Mcp",
    "McpServer",
    "OWN_SERVERS",
    "Snapshots",
    "Ui",
    "Verify",
    "WorkflowConfig",
    "load",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "loading": (
                "GUARDED",
                "LoadedConfig",
                "load",
            ),
            "schema": (
                "AdapterConfig",
                "Config",
                "History",
                "Limits",
                "Mcp",
                "McpServer",
                "OWN_SERVERS",
                "Snapshots",
                "Ui",
                "Verify",
                "WorkflowConfig",
            ),
        },
    )
