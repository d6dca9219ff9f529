"""One schema for the configuration, read from the person's file, the project's file and `setup()`."""

from tideate_core.config.loading import LoadedConfig, load
from tideate_core.config.schema import (
    AdapterConfig,
    Config,
    History,
    Limits,
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
    "Snapshots",
    "Ui",
    "Verify",
    "WorkflowConfig",
    "load",
]
