"""Pool of adapters: creates each one by name and keeps it until the pool is closed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.errors import UnknownAdapter, did_you_mean
from tideate_core.project import expand_home

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.adapters.acp.agent import AcpAgent
    from tideate_core.adapters.base import Adapter
    from tideate_core.adapters.sources import ModelSource
    from tideate_core.config import Config

RECORD_VARIABLE = "TIDEATE_RECORD"
_REPLAYS = ("replay", "replay-exact")


class AdapterPool:
    """Creates adapters by name and keeps them until it is closed.

    Names are `local` (the bundled model), `replay:FILE`, `replay-exact:FILE`, `acp:AGENT`, a key of
    `[adapters]`, or `PROVIDER:MODEL`.

    :param root: project of which agents get copies; None if there is none.
    :param record: file to record every exchange in, for `replay:FILE`; default: `$TIDEATE_RECORD`.
    """

    def __init__(self, config: Config, *, root: Path | None = None, record: Path | None = None) -> None:
        self._config = config
        self._root = root
        self._agents: dict[str, AcpAgent] = {}
        variable = os.environ.get(RECORD_VARIABLE)
        self._record = record or (expand_home(variable) if variable else None)
        self._adapters: dict[str, Adapter] = {}

    def get(self, name: str) -> Adapter:
        """Return the adapter of a name, without importing, starting or sending anything.

        :raises UnknownAdapter: the name is unknown.
        """
        if name not in self._adapters:
            self._adapters[name] = self._make(name)
        return self._adapters[name]

    def agent(self, name: str) -> AcpAgent | None:
        """Return the agent with a name, without starting it; None if the name is that of a model.

        :raises UnknownAdapter: no agent has this name.
        """
        if name not in self._agents:
            if (agent := self._make_agent(name)) is None:
                return None
            self._agents[name] = agent
        return self._agents[name]

    def destination(self, name: str) -> str:
        """Return an adapter's name with the server or provider that receives its prompts."""
        configured = self._config.adapters.get(name)
        if configured is None:
            return name
        if configured.acp:
            return f"{name} {' '.join(configured.acp)}"
        return f"{name} {configured.base_url or configured.model.partition(':')[0]}"

    def is_recorded(self, name: str) -> bool:
        """Tell whether an adapter replays a recording or is being recorded."""
        return self._record is not None or name.partition(":")[0] in _REPLAYS

    async def aclose(self) -> None:
        """Close every adapter; they remain usable."""
        for adapter in self._adapters.values():
            await adapter.aclose()

    def _make(self, name: str) -> Adapter:
        prefix, colon, rest = name.partition(":")
        if prefix in _REPLAYS and rest:
            from tideate_core.adapters.recordings import ReplayAdapter

            return ReplayAdapter(name, expand_home(rest), exact=prefix == "replay-exact")
        adapter = self.agent(name) or self._make_model(name, prefix if colon and rest else None)
        if self._record is None:
            return adapter
        from tideate_core.adapters.recordings import RecordingAdapter

        return RecordingAdapter(adapter, self._record)

    def _make_agent(self, name: str) -> AcpAgent | None:
        prefix, _, rest = name.partition(":")
        own = rest if prefix == "acp" else name
        configured = self._config.adapters.get(own)
        if configured is not None and configured.acp is None:
            configured = None
        if configured is None and prefix != "acp":
            return None
        from tideate_core.adapters.acp.agent import SILENCE, AcpAgent
        from tideate_core.process import KNOWN_AGENTS, agent_named

        known = agent_named(own)
        command = configured.acp if configured else known.acp if known else ()
        if not command:
            raise self._unknown_agent(own, [one.name for one in KNOWN_AGENTS if one.acp])
        given = configured is not None and "timeout" in configured.model_fields_set
        return AcpAgent(
            name,
            command,
            self._root,
            self._config,
            settings=configured.options if configured else None,
            silence=configured.timeout if configured and given else SILENCE,
            attempts=self._config.limits.attempts,
        )

    def _make_model(self, name: str, provider: str | None) -> Adapter:
        attempts = self._config.limits.attempts
        if name == "local":
            from tideate_core.adapters.local import local_adapter

            return local_adapter(attempts)
        configured = self._config.adapters.get(name)
        if configured is None and provider is None:
            raise self._unknown(name)
        from tideate_core.adapters.model import ModelAdapter
        from tideate_core.adapters.model_options import request_settings
        from tideate_core.adapters.prices import ModelReference

        provider, _, model = (configured.model if configured else name).partition(":")
        reference = ModelReference(model, provider)
        if configured and configured.base_url:
            reference = ModelReference(configured.model, address=configured.base_url)
        return ModelAdapter(
            name,
            source_of(self._config, name),
            attempts=attempts,
            context_tokens=configured.context_tokens if configured else None,
            tools=configured.tools if configured else True,
            settings=request_settings(configured) if configured else None,
            reference=reference,
        )

    def _unknown_agent(self, name: str, known: Iterable[str]) -> UnknownAdapter:
        agents = sorted({*known, *(key for key, one in self._config.adapters.items() if one.acp)})
        listed = ", ".join(f"acp:{one}" for one in agents)
        return UnknownAdapter(
            f"unknown agent {name!r}{did_you_mean(name, agents)} (known: {listed}; add others with acp under "
            "[adapters] in config.toml)"
        )

    def _unknown(self, name: str) -> UnknownAdapter:
        own = ["local", *self._config.adapters]
        return UnknownAdapter(
            f"unknown adapter {name!r}{did_you_mean(name, own)} (known: {', '.join(own)}, replay:FILE, "
            "acp:AGENT such as acp:claude, and PROVIDER:MODEL such as openai:gpt-6.1-sol; add others under "
            "[adapters] in config.toml)"
        )


def source_of(config: Config, name: str) -> ModelSource:
    """Return the model source of a configured adapter or of `PROVIDER:MODEL`.

    :raises UnknownAdapter: the provider is unknown.
    """
    configured = config.adapters.get(name)
    if configured is not None and configured.base_url is not None:
        from tideate_core.adapters.sources import ServerSource

        return ServerSource(name, configured)
    from tideate_core.adapters.known_providers import known_providers, provider_named
    from tideate_core.adapters.provider_source import ProviderSource

    model = configured.model if configured else name
    provider, known = model.partition(":")[0], known_providers()
    if known and provider_named(provider) is None:
        raise UnknownAdapter(
            f"unknown adapter {name!r}: no provider is called {provider!r}"
            f"{did_you_mean(provider, known)} (known: {', '.join(known)})"
        )
    return ProviderSource(name, model, configured)
