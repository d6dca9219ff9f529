"""Configuration: one schema, read from the user's file, the project's file and `setup()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.config.loading import (
        LoadedConfig as LoadedConfig,
        load_config as load_config,
        waiting_keys as waiting_keys,
    )
    from tideate_core.config.own_agents import OwnAgents as OwnAgents, load_own_agents as load_own_agents
    from tideate_core.config.schema import (
        OWN_SERVERS as OWN_SERVERS,
        AdapterConfig as AdapterConfig,
        AgentConfig as AgentConfig,
        CiConfig as CiConfig,
        Config as Config,
        FleetConfig as FleetConfig,
        HistoryConfig as HistoryConfig,
        InboxConfig as InboxConfig,
        LimitsConfig as LimitsConfig,
        McpConfig as McpConfig,
        McpServerConfig as McpServerConfig,
        SnapshotsConfig as SnapshotsConfig,
        VerifyConfig as VerifyConfig,
        WatchConfig as WatchConfig,
        WorkflowConfig as WorkflowConfig,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
