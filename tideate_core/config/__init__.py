"""Configuration: one schema, read from the person's file, the project's file and `setup()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.config.loading import GUARDED_KEYS, LoadedConfig, load_config
    from tideate_core.config.schema import (
        OWN_SERVERS,
        AdapterConfig,
        Config,
        HistoryConfig,
        LimitsConfig,
        McpConfig,
        McpServerConfig,
        SnapshotsConfig,
        VerifyConfig,
    )

__all__ = [
    "GUARDED_KEYS",
    "OWN_SERVERS",
    "AdapterConfig",
    "Config",
    "HistoryConfig",
    "LimitsConfig",
    "LoadedConfig",
    "McpConfig",
    "McpServerConfig",
    "SnapshotsConfig",
    "VerifyConfig",
    "load_config",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "loading": ("GUARDED_KEYS", "LoadedConfig", "load_config"),
            "schema": (
                "AdapterConfig",
                "Config",
                "HistoryConfig",
                "LimitsConfig",
                "McpConfig",
                "McpServerConfig",
                "OWN_SERVERS",
                "SnapshotsConfig",
                "VerifyConfig",
            ),
        },
    )
