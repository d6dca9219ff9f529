"""pydantic-ai providers made from stored logins; refreshes tokens under a lock across processes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.login_requests import bound_answer, plain_errors, token_client
from tideate_core.adapters.login_store import Login, LoginStore
from tideate_core.errors import AuthenticationFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    import httpx2
    from pydantic_ai.providers import Provider

COPILOT: Final = "github-copilot"
SUBSCRIPTIONS: Final = (COPILOT, "openai-chatgpt", "openai-codex")
"""Providers with account logins; all others have keys."""
EARLY: Final = 300.0
"""Seconds before expiry at which GitHub's token is refreshed."""
GITHUB_TOKENS: Final = "https://github.com/login/oauth/access_token"
SECRET_FIELDS: Final = ("access_token", "refresh_token", "id_token", "key")
INFERENCE_TIMEOUT: Final = 600.0


class LoginSecrets:
    """Current and earlier secrets of a login, and further words, to remove from messages."""

    def __init__(self, login: Login) -> None:
        self._known: dict[str, None] = {}
        self.add(login)

    def add(self, login: Login) -> None:
        self.add_words(str(login[name]) for name in SECRET_FIELDS if login.get(name))

    def add_words(self, words: Iterable[str]) -> None:
        self._known |= dict.fromkeys(words)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._known))


def stored_key(provider: str) -> str:
    """Return the key given to `tideate login`; empty without one.

    :raises StateError: the file of logins cannot be used.
    """
    login = LoginStore().get(provider)
    return str(login.get("key", "")) if login and login.get("kind") == "key" else ""


def login_provider(provider: str, login: Login) -> tuple[Provider[Any], LoginSecrets]:
    """Return the library's provider for a stored login, and the secrets to remove from its messages.

    :raises AuthenticationFailed: the stored login is incomplete.
    """
    secrets = LoginSecrets(login)
    try:
        if provider == COPILOT:
            return _copilot(login, secrets), secrets
        return _openai(provider, login, secrets), secrets
    except (KeyError, TypeError):
        raise AuthenticationFailed(
            f"the stored login of {provider} is incomplete; run `tideate login {provider}` again"
        ) from None


def _openai(provider: str, login: Login, secrets: LoginSecrets) -> Provider[Any]:
    from pydantic_ai.providers.openai_chatgpt import OpenAIChatGPTCredentials, OpenAIChatGPTProvider
    from pydantic_ai.providers.openai_codex import OpenAICodexCredentials, OpenAICodexProvider

    kind: Any = OpenAICodexProvider if provider == "openai-codex" else OpenAIChatGPTProvider
    shape: Any = OpenAICodexCredentials if provider == "openai-codex" else OpenAIChatGPTCredentials
    source = _CredentialSource(provider, shape, secrets)
    source.read(login)

    class Refreshing(kind):  # type: ignore[misc]
        async def _refresh_grant(self, credentials: Any, http_client: httpx2.AsyncClient) -> Any:
            """Refresh under a lock; another process's newer token is used instead."""
            store = LoginStore()
            async with store.refreshing(provider):
                newer = await source.load()
                if newer != credentials:
                    return newer
                with _final_refusal(provider, secrets):
                    fresh = await super()._refresh_grant(credentials, http_client)
                await source.keep(fresh)
                return fresh

    made: Provider[Any] = Refreshing(credential_source=source, http_client=_client())
    return made


class _CredentialSource:
    """Stored login in the library's interface."""

    def __init__(self, provider: str, shape: Any, secrets: LoginSecrets) -> None:
        self._provider = provider
        self._shape = shape
        self._secrets = secrets

    def read(self, login: Login) -> Any:
        """Return a login as the library's credentials.

        :raises TypeError: the login is incomplete.
        """
        self._secrets.add(login)
        names = self._shape.__dataclass_fields__
        return self._shape(**{name: login[name] for name in names if name in login})

    async def load(self) -> Any:
        store = LoginStore()
        login = await store.in_thread(store.get, self._provider)
        if login is None or login.get("kind") != "oauth":
            raise _openai_error(
                f"the login of {self._provider} was removed; `tideate login {self._provider}` again"
            )
        return self.read(login)

    async def save(self, credentials: Any) -> None:
        """Nothing: `keep` stores them, under the lock."""

    async def keep(self, credentials: Any) -> None:
        login = {"kind": "oauth", **asdict(credentials)}
        self._secrets.add(login)
        store = LoginStore()
        await store.in_thread(store.put, self._provider, login)


def _copilot(login: Login, secrets: LoginSecrets) -> Provider[Any]:
    import httpx2
    from pydantic_ai.providers.github_copilot import GitHubCopilotProvider

    token = str(login["access_token"])
    host = "api.githubcopilot.com"

    class StoredToken(httpx2.Auth):
        """Sends the token to its host only, refreshed before expiry and once after a 401."""

        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            if request.url.scheme != "https" or request.url.host != host:
                request.headers.pop("Authorization", None)
                yield request
                return
            await request.aread()
            current = await _fresh_copilot(secrets)
            request.headers["Authorization"] = f"Bearer {current['access_token']}"
            response = yield request
            if response.status_code == httpx2.codes.UNAUTHORIZED and current.get("refresh_token"):
                await response.aread()
                renewed = await _fresh_copilot(secrets, refused=str(current["access_token"]))
                request.headers["Authorization"] = f"Bearer {renewed['access_token']}"
                yield request

    client = _client()
    client.auth = StoredToken()
    made: Provider[Any] = GitHubCopilotProvider(api_key=token, base_url=f"https://{host}", http_client=client)
    return made


async def _fresh_copilot(secrets: LoginSecrets, refused: str = "") -> Login:
    """Return GitHub's login, refreshed if necessary and possible.

    :param refused: token refused by the provider.
    """
    store = LoginStore()
    if not _is_stale(login := await _copilot_login(store), refused):
        secrets.add(login)
        return login
    async with store.refreshing(COPILOT):
        login = await _copilot_login(store)
        if _is_stale(login, refused):  # no other process refreshed it meanwhile
            with _final_refusal(COPILOT, secrets):
                login = await _refresh_copilot(login)
            await store.in_thread(store.put, COPILOT, login)
    secrets.add(login)
    return login


async def _copilot_login(store: LoginStore) -> Login:
    login = await store.in_thread(store.get, COPILOT)
    if login is None or not login.get("access_token"):
        raise _openai_error(f"the login of {COPILOT} was removed; `tideate login {COPILOT}` again")
    return login


def _is_stale(login: Login, refused: str) -> bool:
    if not login.get("refresh_token"):
        return False
    ends = login.get("expires_at")
    return login["access_token"] == refused or (isinstance(ends, int | float) and time.time() >= ends - EARLY)


async def _refresh_copilot(login: Login) -> Login:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers.github_copilot import GitHubCopilotCredentials

    form = {
        "client_id": str(login.get("client_id", "")),
        "grant_type": "refresh_token",
        "refresh_token": str(login["refresh_token"]),
    }
    async with token_client() as client:
        response = await client.post(GITHUB_TOKENS, data=form, headers={"Accept": "application/json"})
    try:
        found = TypeAdapter(GitHubCopilotCredentials).validate_json(response.content)
    except ValidationError:
        raise UserError(f"GitHub did not refresh the token (HTTP {response.status_code})") from None
    return copilot_login(found, str(login.get("client_id", "")))


def copilot_login(credentials: Any, client_id: str) -> Login:
    """Return the stored form of GitHub's credentials."""
    ends = {"expires_at": time.time() + credentials.expires_in} if credentials.expires_in else {}
    return {
        "kind": "oauth",
        "access_token": credentials.access_token,
        "refresh_token": credentials.refresh_token,
        "client_id": client_id,
        **ends,
    }


def _client() -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(
        event_hooks={"response": [bound_answer]}, timeout=httpx2.Timeout(INFERENCE_TIMEOUT, connect=5)
    )


@contextmanager
def _final_refusal(provider: str, secrets: LoginSecrets) -> Iterator[None]:
    """Raise a refusal as an error that OpenAI's client does not retry."""
    try:
        with plain_errors(provider, secrets):
            yield
    except AuthenticationFailed as refused:
        raise _openai_error(f"{refused}; run `tideate login {provider}` again") from None


def _openai_error(words: str) -> Exception:
    from openai import OpenAIError

    class LoginRefused(AuthenticationFailed, OpenAIError):
        """The stored login is not usable."""

    return LoginRefused(words)
