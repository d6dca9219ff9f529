"""Requests with a stored login: token refresh in time, after a refusal, and across processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.oauth_server import Answer, OAuthServer, Sent, jwt
from tideate_core.adapters import AdapterPool, Prompt
from tideate_core.adapters.login_flows import keep_key
from tideate_core.adapters.login_store import LoginStore
from tideate_core.adapters.stored_logins import login_provider
from tideate_core.config import Config
from tideate_core.errors import AuthenticationFailed

if TYPE_CHECKING:
    import httpx2

pytestmark = pytest.mark.usefixtures("oauth")

TOKENS = {"openai-codex": "/oauth/token", "openai-chatgpt": "/api/accounts/oauth/token"}
GITHUB = "/login/oauth/access_token"
ASKED = {"openai-codex": "/backend-api/codex/responses", "openai-chatgpt": "/v1/responses"}
CHAT = "/chat/completions"
REQUEST_IN_PROCESS = """
import asyncio, sys
from tests.harness.oauth_server import route_to
route_to(sys.argv[1])
from tests.adapters.test_stored_logins import post
print(asyncio.run(post("openai-codex")).status_code)
"""


def openai_login(*, ends_in: int = 3600, refresh: str = "rt-1") -> dict[str, Any]:
    return {
        "kind": "oauth",
        "access_token": jwt(ends_in=ends_in, sub=refresh),
        "refresh_token": refresh,
        "account_id": "acc",
        "client_id": "issued",
        "scope": "chatgpt.tokens.use.direct",
    }


class RotatingTokens:
    """Token server that accepts each refresh token once, as OpenAI does."""

    def __init__(self) -> None:
        self.current = 1

    def __call__(self, sent: Sent) -> Answer:
        if sent.form["refresh_token"] != f"rt-{self.current}":
            return Answer({"error": "invalid_grant", "error_description": sent.form["refresh_token"]}, 400)
        self.current += 1
        fresh = openai_login(refresh=f"rt-{self.current}")
        return Answer({key: fresh[key] for key in ("access_token", "refresh_token", "account_id")})


async def post(name: str, address: str = "") -> httpx2.Response:
    """Send a request like the model library."""
    login = LoginStore().get(name)
    assert login is not None
    provider, _ = login_provider(name, login)
    client: httpx2.AsyncClient = provider.client._client
    async with client:
        return await client.post(address or f"{provider.base_url.rstrip('/')}/responses", json={})


async def refused(model: str, match: str | None = None) -> str:
    """Ask a model that refuses the login, and return the message."""
    pool = AdapterPool(Config())
    with pytest.raises(AuthenticationFailed, match=match) as raised:
        await pool.get(model).ask(Prompt("greet"))
    await pool.aclose()
    return str(raised.value)


def bearer(sent: Sent) -> str:
    return sent.headers.get("authorization", "")


@pytest.mark.parametrize(
    ("ends_in", "answers"), [(10, [Answer()]), (3600, [Answer({}, 401), Answer()])], ids=["ends", "refused"]
)
@pytest.mark.parametrize("name", TOKENS)
async def test_a_token_is_refreshed_before_it_ends_and_after_it_was_refused(
    oauth: OAuthServer, name: str, ends_in: int, answers: list[Answer]
) -> None:
    LoginStore().put(name, openai_login(ends_in=ends_in))
    oauth.answers(TOKENS[name], RotatingTokens())
    oauth.answers(ASKED[name], *answers)
    assert (await post(name)).status_code == 200
    stored = LoginStore().get(name) or {}
    assert (stored["refresh_token"], len(oauth.sent(TOKENS[name]))) == ("rt-2", 1)
    asked = oauth.sent(ASKED[name])
    assert (len(asked), bearer(asked[-1])) == (len(answers), f"Bearer {stored['access_token']}")


@pytest.mark.parametrize("name", TOKENS)
async def test_a_login_that_was_revoked_says_so_without_its_token(oauth: OAuthServer, name: str) -> None:
    LoginStore().put(name, openai_login(refresh="rt-revoked"))
    oauth.answers(TOKENS[name], RotatingTokens())
    oauth.answers(ASKED[name], Answer({}, 401))
    assert "rt-revoked" not in await refused(f"{name}:gpt-5", f"tideate login {name}")
    assert len(oauth.sent(TOKENS[name])) == 1  # and is not tried again and again


async def test_a_login_that_was_removed_meanwhile_is_not_brought_back(oauth: OAuthServer) -> None:
    LoginStore().put("openai-codex", openai_login(ends_in=10))
    login = LoginStore().get("openai-codex") or {}
    provider, _ = login_provider("openai-codex", login)
    LoginStore().remove("openai-codex")
    async with provider.client._client as client:
        with pytest.raises(AuthenticationFailed, match="was removed"):
            await client.post("https://chatgpt.com/backend-api/codex/responses", json={})
    assert LoginStore().all() == {}
    assert oauth.requests == []


async def test_tokens_go_to_their_own_host_only(oauth: OAuthServer) -> None:
    LoginStore().put("openai-codex", openai_login())
    LoginStore().put("github-copilot", {"kind": "oauth", "access_token": "gho_mine"})
    await post("openai-codex", "https://evil.invalid/responses")
    await post("github-copilot", "https://evil.invalid/chat")
    for one in oauth.requests:
        assert one.host == "evil.invalid"
        assert bearer(one) == ""


@pytest.mark.concurrency
@pytest.mark.slow
def test_processes_that_refresh_at_once_do_not_lose_the_token(oauth: OAuthServer) -> None:
    LoginStore().put("openai-codex", openai_login(ends_in=5))
    oauth.answers(TOKENS["openai-codex"], RotatingTokens())
    oauth.answers(ASKED["openai-codex"], Answer())
    command = [sys.executable, "-c", REQUEST_IN_PROCESS, oauth.address]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) for _ in range(2)
    ]
    assert [one.communicate(timeout=60)[0].strip() for one in both] == ["200", "200"]
    assert (LoginStore().get("openai-codex") or {})["refresh_token"] == "rt-2"
    assert len(oauth.sent(TOKENS["openai-codex"])) == 1


def github_login(**more: Any) -> dict[str, Any]:
    return {"kind": "oauth", "access_token": "ghu_old", "client_id": "own-app", **more}


FRESH = {"access_token": "ghu_new", "token_type": "bearer", "scope": "", "refresh_token": "ghr_2"}


async def test_githubs_token_is_refreshed_before_it_ends(oauth: OAuthServer) -> None:
    LoginStore().put("github-copilot", github_login(refresh_token="ghr_1", expires_at=time.time() + 60))
    oauth.answers(GITHUB, Answer({**FRESH, "expires_in": 28800}))
    oauth.answers(CHAT, Answer())
    await post("github-copilot", f"https://api.githubcopilot.com{CHAT}")
    assert oauth.sent(GITHUB)[0].form == {
        "client_id": "own-app",
        "grant_type": "refresh_token",
        "refresh_token": "ghr_1",
    }
    assert bearer(oauth.sent(CHAT)[0]) == "Bearer ghu_new"
    stored = LoginStore().get("github-copilot") or {}
    assert stored["refresh_token"] == "ghr_2"
    assert stored["expires_at"] > time.time() + 28000


async def test_githubs_token_is_refreshed_once_after_it_was_refused(oauth: OAuthServer) -> None:
    LoginStore().put("github-copilot", github_login(refresh_token="ghr_1"))
    oauth.answers(GITHUB, Answer(FRESH))
    oauth.answers(CHAT, Answer({}, 401))
    answer = await post("github-copilot", f"https://api.githubcopilot.com{CHAT}")
    assert answer.status_code == 401
    assert [bearer(one) for one in oauth.sent(CHAT)] == ["Bearer ghu_old", "Bearer ghu_new"]


HOSTILE = [Answer(b"[" * 2_000_000), Answer(b"<html>"), Answer({"error": "bad_refresh_token"})]


@pytest.mark.parametrize("answer", [*HOSTILE, Answer({}, 302, {"Location": "https://evil.invalid/t"})])
async def test_a_refresh_that_fails_keeps_the_login_as_it_was(oauth: OAuthServer, answer: Answer) -> None:
    LoginStore().put("github-copilot", github_login(refresh_token="ghr_1", expires_at=1))
    before = LoginStore().get("github-copilot")
    oauth.answers(GITHUB, answer)
    with pytest.raises(Exception, match="github-copilot") as raised:
        await post("github-copilot", f"https://api.githubcopilot.com{CHAT}")
    assert "ghr_1" not in str(raised.value)
    assert LoginStore().get("github-copilot") == before
    assert {one.host for one in oauth.requests} == {"github.com"}


async def test_a_model_of_copilot_answers_with_the_stored_token(oauth: OAuthServer) -> None:
    keep_key("github-copilot", "gho_mine")
    oauth.answers(CHAT, Answer({"error": {"message": "no: gho_mine"}}, 403))
    assert "gho_mine" not in await refused("github-copilot:gpt-5", "tideate login github-copilot")
    assert bearer(oauth.sent(CHAT)[0]) == "Bearer gho_mine"


async def test_a_typed_key_is_used_where_no_variable_has_one(
    oauth: OAuthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keep_key("openai-chat", "sk-typed")
    oauth.answers("/v1/chat/completions", Answer({"error": {"message": "no: sk-typed"}}, 401))
    assert "sk-typed" not in await refused("openai-chat:gpt-5")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-variable")
    await refused("openai-chat:gpt-5")
    sent = oauth.sent("/v1/chat/completions")
    assert [bearer(sent[0]), bearer(sent[-1])] == ["Bearer sk-typed", "Bearer sk-variable"]


@pytest.mark.parametrize("name", ["github-copilot", "openai-chatgpt"])
async def test_without_a_login_the_message_says_how_to_get_one(name: str) -> None:
    await refused(f"{name}:gpt-5", f"tideate login {name}")


async def test_a_login_that_is_incomplete_is_not_used() -> None:
    LoginStore().put("openai-codex", {"kind": "oauth", "access_token": "at"})
    assert "at" not in (await refused("openai-codex:gpt-5", "incomplete")).split()
