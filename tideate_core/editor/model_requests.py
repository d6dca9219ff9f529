"""Handlers of Lua's requests about models, and about logins at their providers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from tideate_core.editor.projects import FolderRequests
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tideate_core.adapters import LoginFlow

# `tideate_core.adapters` is imported in the methods: the host has to be ready before it is loaded


class ModelRequests(FolderRequests):
    """Requests about the models of a folder's project."""

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the available models; ask a provider for its models only if it is named.

        :param params: `folder`; `name` of a provider or an adapter.
        """
        from tideate_core.adapters import list_models

        listed = await list_models(self._projects.config(params.get("folder")), params.get("name"))
        return listed.as_json()

    async def check(self, params: dict[str, Any]) -> dict[str, Any]:
        """Check that an adapter exists, without importing its code or sending anything.

        :raises UnknownAdapter: no adapter has this name.
        """
        from tideate_core.adapters import AdapterPool

        AdapterPool(self._projects.config(params.get("folder"))).get(str(params["name"]))
        return {}

    async def load(self, params: dict[str, Any]) -> dict[str, Any]:
        """Import the code of an adapter while the person still types.

        :param params: `folder`; `adapter`, by default the adapter of the configuration.
        """
        from tideate_core.adapters import preload

        config = self._projects.config(params.get("folder"))
        await preload(config, str(params.get("adapter") or config.adapter))
        return {}


class LoginRequests:
    """Requests about the person's logins, with at most one open login at each provider."""

    def __init__(self) -> None:
        self._begun: dict[str, LoginFlow] = {}

    async def list(self, _params: dict[str, Any]) -> dict[str, Any]:
        """Return the providers and the sources of their credentials, never the credentials."""
        from tideate_core.adapters import login_states

        states = await asyncio.to_thread(login_states)
        return {"providers": [state.as_json() for state in states], "now": time.time()}

    async def start(self, params: dict[str, Any]) -> dict[str, Any]:
        """Start a login: return the address and code for the person, or the request for a key.

        :raises AdapterError: the provider refused or cannot be reached.
        """
        from tideate_core.adapters import login_flow, login_kind

        provider = str(params["provider"])
        if login_kind(provider) == "key":
            return {"kind": "key"}
        flow = await asyncio.to_thread(login_flow, provider)
        challenge = await flow.start()
        self._begun[provider] = flow
        told = {"address": challenge.address, "code": challenge.code, "expires_in": challenge.expires_in}
        return {"kind": "account", **told}

    async def finish(self, params: dict[str, Any]) -> dict[str, Any]:
        """Wait for the person to finish a login; cancelling the request ends the login.

        :raises InvalidInput: no login was started.
        :raises AdapterError: the person or the provider refused, or the time is over.
        """
        flow = self._begun.pop(str(params["provider"]), None)
        if flow is None:
            raise InvalidInput("no login was begun")
        await flow.finish()
        return {}

    async def keep(self, params: dict[str, Any]) -> dict[str, Any]:
        """Store a key typed by the person.

        :raises AuthenticationFailed: the text cannot be a key.
        """
        from tideate_core.adapters import keep_key

        await asyncio.to_thread(keep_key, str(params["provider"]), str(params["key"]))
        return {}
