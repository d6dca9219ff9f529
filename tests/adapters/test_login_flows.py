"""Logins against loopback servers: codes, browsers, keys, refusals and hostile answers."""

from __future__ import annotations

import asyncio
import json
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import anyio
import anyio.lowlevel
import pytest

from tests.harness.oauth_server import Answer, OAuthServer, Sent, jwt
from tideate_core.adapters import login_flows as module
from tideate_core.adapters.login_flows import keep_key, login_flow, login_kind, login_states
from tideate_core.adapters.login_store import LoginStore
from tideate_core.errors import AdapterError, AuthenticationFailed, ConfigError, UnknownAdapter

if TYPE_CHECKING:
    from tideate_core.adapters.login_flows import LoginFlow

pytestmark = pytest.mark.usefixtures("oauth")

CODE, TOKEN = "/login/device/code", "/login/oauth/access_token"
CHATGPT, CODEX = "/api/accounts/oauth/token", "/oauth/token"
DEVICE = {
    "device_code": "device-secret",
    "user_code": "ABCD-1234",
    "verification_uri": "https://github.com/login/device",
    "expires_in": 900,
    "interval": 5,
}
GRANTED = {"access_token": "gho_secret", "token_type": "bearer", "scope": ""}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Skip the waits between requests."""
    from pydantic_ai.providers import _github_copilot_oauth as library

    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(library, "anyio", SimpleNamespace(sleep=sleep, fail_after=anyio.fail_after))
    return waited


def failing(code: str) -> Answer:
    return Answer({"error": code})


async def log_in_by_code() -> None:
    flow = login_flow("github-copilot", client_id="own-app")
    challenge = await flow.start()
    assert (challenge.address, challenge.code) == ("https://github.com/login/device", "ABCD-1234")
    await flow.finish()


async def test_a_code_is_shown_and_the_token_is_kept_once_it_was_typed(
    oauth: OAuthServer, waits: list[float]
) -> None:
    oauth.answers(CODE, Answer(DEVICE))
    pending, slower = failing("authorization_pending"), failing("slow_down")
    oauth.answers(TOKEN, pending, slower, Answer({**GRANTED, "expires_in": 100, "refresh_token": "ghr"}))
    await log_in_by_code()
    assert waits == [5, 5, 10]
    assert {(one.host, one.form["client_id"]) for one in oauth.requests} == {("github.com", "own-app")}
    login = LoginStore().get("github-copilot") or {}
    assert (login["access_token"], login["refresh_token"], login["client_id"]) == (
        "gho_secret",
        "ghr",
        "own-app",
    )


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "incorrect_client_credentials"])
async def test_a_login_that_is_refused_says_so_and_keeps_nothing(oauth: OAuthServer, code: str) -> None:
    oauth.answers(CODE, Answer(DEVICE))
    oauth.answers(TOKEN, failing(code))
    with pytest.raises(AuthenticationFailed, match=code):
        await log_in_by_code()
    assert LoginStore().get("github-copilot") is None


HOSTILE = {
    "huge": Answer(b"[" * 2_000_000),
    "no JSON": Answer(b"<html>device-secret</html>"),
    "a list": Answer([]),
    "a page elsewhere": Answer({**DEVICE, "verification_uri": "https://evil.invalid/device"}),
    "a redirect": Answer({}, 302, {"Location": "https://evil.invalid/login/device/code"}),
    "an error with the secret": Answer({"error": "device-secret"}, 400),
    "no end": Answer({**DEVICE, "expires_in": -1}),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("path", [CODE, TOKEN])
async def test_hostile_answers_end_the_login_and_go_nowhere_else(
    oauth: OAuthServer, kind: str, path: str
) -> None:
    if path == TOKEN:
        oauth.answers(CODE, Answer(DEVICE))
    oauth.answers(path, HOSTILE[kind])
    with pytest.raises(AdapterError) as raised:
        await log_in_by_code()
    assert "device-secret" not in str(raised.value)
    assert {one.host for one in oauth.requests} == {"github.com"}
    assert LoginStore().all() == {}


async def test_a_login_can_be_cancelled(oauth: OAuthServer, monkeypatch: pytest.MonkeyPatch) -> None:
    oauth.answers(CODE, Answer(DEVICE))
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def pending(_sent: Sent) -> Answer:
        loop.call_soon_threadsafe(asked.set)
        return failing("authorization_pending")

    oauth.answers(TOKEN, pending)
    task = asyncio.create_task(log_in_by_code())
    async with asyncio.timeout(60):
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert LoginStore().all() == {}


def test_the_device_flow_wants_a_client_id(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="--client-id"):
        login_flow("github-copilot")
    monkeypatch.setenv(module.CLIENT_VARIABLE, "own-app")
    login_flow("github-copilot")


def chatgpt_tokens(address: str) -> dict[str, Any]:
    (nonce,) = parse_qs(urlsplit(address).query)["nonce"]
    claims = {"iss": "https://auth.openai.com", "aud": "issued", "sub": "me", "nonce": nonce}
    scope = "openid chatgpt.tokens.use.direct"
    tokens = {"access_token": jwt(sub="me"), "refresh_token": "rt-secret", "id_token": jwt(**claims)}
    return {**tokens, "scope": scope}


async def come_back(address: str, **answer: str) -> None:
    """Answer the redirect like a browser, once the port is served."""
    query = parse_qs(urlsplit(address).query)
    more = "&".join(f"{name}={value}" for name, value in answer.items())
    back = f"{query['redirect_uri'][0]}?state={query['state'][0]}&{more}".replace("localhost", "127.0.0.1")
    async with asyncio.timeout(60):
        while True:
            try:
                await asyncio.to_thread(lambda: urlopen(back, timeout=60).read())
            except ConnectionError:
                await asyncio.sleep(0.01)
            except OSError as error:
                if "refused" not in str(error):
                    raise
                await asyncio.sleep(0.01)
            else:
                return


async def finish(flow: LoginFlow, address: str, **answer: str) -> None:
    """Finish a login that the browser answers."""
    back = asyncio.create_task(come_back(address, **answer))
    try:
        await flow.finish()
    finally:
        await back


async def test_a_browser_comes_back_with_a_code_that_is_exchanged(oauth: OAuthServer) -> None:
    flow = login_flow("openai-chatgpt")
    challenge = await flow.start()
    assert challenge.address.startswith("https://auth.openai.com/api/accounts/authorize?")
    assert challenge.code == ""
    oauth.answers(CHATGPT, Answer(chatgpt_tokens(challenge.address)))
    await finish(flow, challenge.address, code="c", client_id="issued")
    login = LoginStore().get("openai-chatgpt") or {}
    assert (login["client_id"], login["refresh_token"]) == ("issued", "rt-secret")
    assert oauth.sent(CHATGPT)[0].form["code"] == "c"


async def test_codex_is_logged_in_to_in_the_same_way(
    oauth: OAuthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CODEX_ADDRESS", f"http://localhost:{module._free_port()}/auth/callback")
    flow = login_flow("openai-codex")
    challenge = await flow.start()
    tokens = {"access_token": jwt(), "refresh_token": "rt", "account_id": "acc"}
    oauth.answers(CODEX, Answer(tokens))
    await finish(flow, challenge.address, code="c")
    assert (LoginStore().get("openai-codex") or {})["account_id"] == "acc"


async def test_a_browser_that_says_no_ends_the_login() -> None:
    flow = login_flow("openai-chatgpt")
    challenge = await flow.start()
    with pytest.raises(AuthenticationFailed, match="access_denied"):
        await finish(flow, challenge.address, error="access_denied")
    assert LoginStore().all() == {}


async def test_a_token_server_that_quotes_what_it_was_sent_is_not_quoted(oauth: OAuthServer) -> None:
    flow = login_flow("openai-chatgpt")
    challenge = await flow.start()

    def echo(sent: Sent) -> Answer:
        return Answer({"error": "invalid_grant", "error_description": sent.form["code_verifier"]}, 400)

    oauth.answers(CHATGPT, echo)
    with pytest.raises(AuthenticationFailed, match=r"\[key\]") as raised:
        await finish(flow, challenge.address, code="c", client_id="issued")
    assert oauth.sent(CHATGPT)[0].form["code_verifier"] not in str(raised.value)


async def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/auth/callback"
        monkeypatch.setattr(module, "CODEX_ADDRESS", address)
        flow = login_flow("openai-codex")
        await flow.start()
        with pytest.raises(AuthenticationFailed, match="another login under way"):
            await flow.finish()


@pytest.mark.parametrize("name", ["claude", "claude-pro", "Claude-Max"])
def test_a_login_with_a_claude_subscription_is_not_offered(name: str) -> None:
    with pytest.raises(ConfigError, match="Anthropic's terms"):
        login_flow(name)
    with pytest.raises(ConfigError, match="Anthropic's terms"):
        keep_key(name, "k")


def test_a_provider_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UnknownAdapter, match="did you mean 'anthropic'"):
        login_kind("antropic")
    assert login_kind("anthropic") == "key"


@pytest.mark.parametrize("key", ["", " \n", "two\nlines", "schlüssel", "k" * 10_000])
def test_what_can_be_no_key_is_not_kept(key: str) -> None:
    with pytest.raises(AuthenticationFailed, match="nothing was stored") as raised:
        keep_key("anthropic", key)
    assert not key.strip() or key not in str(raised.value)
    assert LoginStore().all() == {}


def test_states_name_sources_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-variable")
    keep_key("anthropic", "sk-typed")
    keep_key("github-copilot", "gho_typed")
    states = {state.provider: state for state in login_states()}
    assert (states["anthropic"].kind, states["anthropic"].source) == ("key", "login")
    assert (states["github-copilot"].kind, states["github-copilot"].source) == ("account", "login")
    assert states["mistral"].source == "$MISTRAL_API_KEY"
    assert states["openai-codex"].kind == "none"
    shown = json.dumps([state.as_json() for state in states.values()])
    assert not [word for word in ("sk-variable", "sk-typed", "gho_typed") if word in shown]
