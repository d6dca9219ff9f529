"""Log in at a provider by device code, by a browser or by a key; list the sources of credentials."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from tideate_core.adapters.known_providers import known_providers, provider_named
from tideate_core.adapters.login_requests import plain_errors, token_client
from tideate_core.adapters.login_store import IN_KEYRING, LoginStore
from tideate_core.adapters.stored_logins import COPILOT, SUBSCRIPTIONS, copilot_login
from tideate_core.errors import AuthenticationFailed, ConfigError, UnknownAdapter, did_you_mean

if TYPE_CHECKING:
    from pydantic_ai.providers.github_copilot import GitHubCopilotOAuthFlow

CLIENT_VARIABLE: Final = "TIDEATE_GITHUB_CLIENT_ID"
CODEX_ADDRESS: Final = "http://localhost:1455/auth/callback"
"""Redirect address of a Codex login; OpenAI allows no other."""
BROWSER_LIMIT: Final = 600.0
"""Time limit of a browser login in seconds."""
LONGEST_KEY: Final = 8192
CLAUDE: Final = frozenset(
    {"claude", "claude-code", "claude-max", "claude-pro", "claude-subscription", "claudeai"}
)
NOT_OFFERED: Final = (
    "a login with a Claude subscription (Pro, Max) is not offered: Anthropic's terms keep it to its own "
    "applications. Use a key of its API, `tideate login anthropic`"
)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Instructions for a user who logs in."""

    address: str
    """Address to open in a browser."""
    code: str = ""
    """Code to enter there; empty if the browser returns by itself."""
    expires_in: float = BROWSER_LIMIT
    """Seconds."""


class LoginFlow(Protocol):
    """One login; cancelling its task ends it."""

    async def start(self) -> Challenge:
        """Return the instructions for the user.

        :raises AdapterError: the provider refused, or cannot be reached.
        """
        ...

    async def finish(self) -> None:
        """Wait until the user has logged in, and store the login.

        :raises AuthenticationFailed: the user declined, or the time is over.
        :raises AdapterError: the provider refused, or cannot be reached.
        :raises StateError: the login cannot be stored.
        """
        ...


@dataclass(frozen=True, slots=True)
class LoginState:
    """Source of a provider's credentials, without the credentials."""

    provider: str
    kind: Literal["account", "key", "none"]
    source: str
    """`login`, a variable such as `$OPENAI_API_KEY`, or empty."""
    expires_at: float | None = None
    """Expiry in seconds since the epoch, of a token that is refreshed before."""
    store: Literal["file", "keyring", ""] = ""
    """Store of the login; empty without one."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def login_kind(provider: str) -> Literal["account", "key"]:
    """Return the kind of a provider's login.

    :raises ConfigError: the provider's terms do not allow it.
    :raises UnknownAdapter: the provider is unknown.
    """
    if provider.lower() in CLAUDE:
        raise ConfigError(NOT_OFFERED)
    if provider in SUBSCRIPTIONS:
        return "account"
    if provider_named(provider) is None:
        hint = did_you_mean(provider, known_providers())
        raise UnknownAdapter(f"no provider is called {provider!r}{hint}; `tideate models` lists some")
    return "key"


def login_flow(provider: str, *, client_id: str = "") -> LoginFlow:
    """Return a login at a provider with accounts.

    :param client_id: client id of an OAuth app, for GitHub; default: `$TIDEATE_GITHUB_CLIENT_ID`.
    :raises ConfigError: the provider has no login, or the client id is missing.
    :raises StateError: the login could not be stored.
    """
    if login_kind(provider) != "account":
        raise ConfigError(f"{provider} has keys and no login; `tideate login {provider}` asks for one")
    LoginStore().check()  # before the user takes all the steps
    if provider != COPILOT:
        return _BrowserLogin(provider)
    earlier = LoginStore().get(COPILOT) or {}
    client = client_id or os.environ.get(CLIENT_VARIABLE, "") or str(earlier.get("client_id") or "")
    if not client.strip():
        raise ConfigError(
            "github-copilot: GitHub gives codes to registered applications only. Make an OAuth app (GitHub, "
            "Settings, Developer settings) with the device flow enabled, and give its client id: --client-id "
            f"or ${CLIENT_VARIABLE}. Or give a token: `gh auth token`, then `tideate login --key "
            "github-copilot`"
        )
    return _DeviceLogin(client.strip())


def keep_key(provider: str, key: str) -> None:
    """Store a key that the user typed.

    :raises AuthenticationFailed: the key cannot be sent in a header.
    :raises ConfigError: as in `login_kind`.
    :raises StateError: the key cannot be stored.
    """
    login_kind(provider)
    key = key.strip()
    if not key:
        raise AuthenticationFailed(f"{provider}: no key was given; nothing was stored")
    if not (key.isascii() and key.isprintable() and len(key) <= LONGEST_KEY):
        raise AuthenticationFailed(
            f"{provider}: this is not a key: it cannot be sent in a header; nothing was stored"
        )
    if provider == COPILOT:
        LoginStore().put(provider, {"kind": "oauth", "access_token": key})
    elif provider in SUBSCRIPTIONS:
        raise AuthenticationFailed(f"{provider} has no keys; `tideate login {provider}` opens a browser")
    else:
        LoginStore().put(provider, {"kind": "key", "key": key})


def login_states() -> list[LoginState]:
    """Return the providers with credentials, and the providers with account logins.

    :raises StateError: the file of logins cannot be used.
    """
    logins = LoginStore().all()
    states = []
    for name in sorted({*known_providers(), *logins}):
        known, login = provider_named(name), logins.get(name)
        variable = known.key_variable() if known else ""
        if variable:
            states.append(LoginState(name, "key", f"${variable}"))
        elif login is not None:
            kind: Literal["account", "key"] = "key" if login.get("kind") == "key" else "account"
            ends = login.get("expires_at")
            expires_at = ends if isinstance(ends, int | float) else None
            store: Literal["file", "keyring"] = "keyring" if login.get(IN_KEYRING) else "file"
            states.append(LoginState(name, kind, "login", expires_at, store))
        elif name in SUBSCRIPTIONS:
            states.append(LoginState(name, "none", ""))
    return states


class _DeviceLogin:
    """GitHub's device flow."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._flow: GitHubCopilotOAuthFlow | None = None

    async def start(self) -> Challenge:
        from pydantic_ai.providers.github_copilot import GitHubCopilotOAuthFlow

        self._client = token_client()
        self._flow = GitHubCopilotOAuthFlow(client_id=self._client_id, http_client=self._client)
        try:
            with plain_errors(COPILOT, ()):
                found = await self._flow.start()
        except BaseException:
            await self._client.aclose()
            raise
        self._device_code = found.device_code
        return Challenge(found.verification_uri, found.user_code, found.expires_in)

    async def finish(self) -> None:
        assert self._flow is not None  # noqa: S101 `start` comes first
        try:
            with plain_errors(COPILOT, (self._device_code,)):
                found = await self._flow.wait_for_authorization()
        finally:
            await self._client.aclose()
        store = LoginStore()
        await store.in_thread(store.put, COPILOT, copilot_login(found, self._client_id))


class _BrowserLogin:
    """OpenAI's login: the browser returns to a local port."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._flow: Any = None

    async def start(self) -> Challenge:
        if self._provider == "openai-codex":
            from pydantic_ai.providers.openai_codex import OpenAICodexOAuthFlow

            self._flow = OpenAICodexOAuthFlow(redirect_uri=CODEX_ADDRESS)
        else:
            from pydantic_ai.providers.openai_chatgpt import OpenAIChatGPTOAuthFlow

            store = LoginStore()
            earlier = await store.in_thread(store.get, self._provider) or {}
            self._flow = OpenAIChatGPTOAuthFlow(
                app_name="tideate",
                client_id=earlier.get("client_id"),
                redirect_uri=f"http://127.0.0.1:{_free_port()}/auth/callback",
            )
        return Challenge(self._flow.authorization_url())

    async def finish(self) -> None:
        flow = self._flow
        try:
            with plain_errors(self._provider, (flow.code_verifier, flow.state)):
                async with asyncio.timeout(BROWSER_LIMIT):
                    found = await flow.exchange_code_from_callback()
        except TimeoutError:
            raise AuthenticationFailed(
                f"{self._provider}: the login was not completed within ten minutes"
            ) from None
        except OSError as error:
            raise AuthenticationFailed(
                f"{self._provider}: {flow.redirect_uri} cannot be served ({error.strerror}); is "
                "another login under way?"
            ) from None
        login = {"kind": "oauth", **asdict(found)}
        store = LoginStore()
        await store.in_thread(store.put, self._provider, login)
        if not getattr(found, "plan_usage_granted", True):
            raise AuthenticationFailed(
                f"{self._provider}: you did not allow the use of your plan; log in again and allow it"
            )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
