"""One schema for the configuration, read from the person's file, the project's file and `setup()`."""

from tideate_core.config.loading import LoadedConfig, load
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
