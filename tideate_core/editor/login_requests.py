"""Requests about logins at providers: list them, begin one and wait for its end, keep a key."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tideate_core.adapters import LoginFlow

__all__ = ["LoginRequests"]


class LoginRequests:
    """Logins of the person; one at a provider is under way at most."""

    def __init__(self) -> None:
        self._begun: dict[str, LoginFlow] = {}

    async def list(self, _params: dict[str, Any]) -> dict[str, Any]:
        """Return the providers with credentials and where these come from; never the credentials.

        :raises StateError: the file of logins cannot be used.
        """
        # here, because the host is to be ready before they are loaded
        from tideate_core.adapters import login_states

        states = await asyncio.to_thread(login_states)
        return {"ok": True, "providers": [state.as_json() for state in states], "now": time.time()}

    async def start(self, params: dict[str, Any]) -> dict[str, Any]:
        """Begin a login: return what the person has to do, or that a key is wanted.

        :param params: `provider`.
        :raises ConfigError: there is no such login.
        :raises AdapterError: the provider refused or cannot be reached.
        """
        from tideate_core.adapters import login_flow, login_kind

        provider = str(params["provider"])
        if login_kind(provider) == "key":
            return {"ok": True, "kind": "key"}
        flow = await asyncio.to_thread(login_flow, provider)
        challenge = await flow.start()
        self._begun[provider] = flow
        told = {"address": challenge.address, "code": challenge.code, "expires_in": challenge.expires_in}
        return {"ok": True, "kind": "account", **told}

    async def finish(self, params: dict[str, Any]) -> dict[str, Any]:
        """Wait until the person has done it; a request that is cancelled ends the login.

        :param params: `provider`.
        :raises InvalidInput: no login was begun.
        :raises AdapterError: the person or the provider refused, or the time is over.
        """
        flow = self._begun.pop(str(params["provider"]), None)
        if flow is None:
            raise InvalidInput("no login was begun")
        await flow.finish()
        return {"ok": True}

    async def keep(self, params: dict[str, Any]) -> dict[str, Any]:
        """Keep a key that the person typed.

        :param params: `provider`, `key`.
        :raises AuthenticationFailed: it can be no key.
        """
        from tideate_core.adapters import keep_key

        await asyncio.to_thread(keep_key, str(params["provider"]), str(params["key"]))
        return {"ok": True}
