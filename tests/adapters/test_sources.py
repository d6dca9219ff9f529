"""OpenAI-compatible server over the wire: requests, and every kind of failure."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from tests.adapters.conftest import LIMIT, MakeAdapter
from tests.harness.model_server import Gate, ModelServer
from tideate_core.adapters import Prompt, Turn
from tideate_core.adapters.sources import open_server
from tideate_core.adapters.translate import Origin
from tideate_core.errors import (
    AdapterError,
    AdapterUnavailable,
    AuthenticationFailed,
    ContextTooLong,
    InvalidReply,
    RateLimited,
)

if TYPE_CHECKING:
    from pathlib import Path

    from openai import AsyncOpenAI
    from pydantic_ai.providers import Provider

    from tideate_core.adapters.model import ModelAdapter


class Change(BaseModel):
    path: str = Field(max_length=80)
    action: Literal["create", "modify"]


class Plan(BaseModel):
    changes: list[Change] = Field(max_length=3)


GOOD_PLAN = {"changes": [{"path": "a.py", "action": "modify"}]}


def messages_of(server: ModelServer, number: int = -1) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in server.requests[number]["messages"]]


@pytest.mark.parametrize(
    ("pieces", "finish"),
    [(["one ", "two ", "three"], "stop"), (["\n    in", "dented\n", "\ttab\n\n"], "length")],
)
async def test_tokens_arrive_as_they_are_streamed(
    server: ModelServer, adapter: ModelAdapter, pieces: list[str], finish: str
) -> None:
    server.answers("greet", "".join(pieces), pieces=pieces, finish_reason=finish)
    tokens: list[str] = []
    reply = await adapter.ask(Prompt("greet"), on_token=tokens.append)
    assert (tokens, reply.text) == (pieces, "".join(pieces))
    assert (reply.model, reply.truncated) == ("scripted", finish == "length")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cost) == (1, 3, None)


async def test_instructions_and_earlier_turns_are_sent_in_order(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("and now", "fine")
    history = (Turn("first", "one"), Turn("second", "two"))
    await adapter.ask(Prompt("and now", system="be brief", max_tokens=77, history=history))
    assert messages_of(server) == [
        ("system", "be brief"),
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", "two"),
        ("user", "and now"),
    ]
    sent = server.requests[0]
    assert sent.get("max_completion_tokens", sent.get("max_tokens")) == 77
    assert sent["stream"] is True


async def test_prompts_are_answered_in_parallel(server: ModelServer, adapter: ModelAdapter) -> None:
    gate = server.holds("number", text=lambda body: body["messages"][-1]["content"] + " done")
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        tasks = [group.create_task(adapter.ask(Prompt(f"number {index}"))) for index in range(3)]
        await asyncio.to_thread(server.wait_for_requests, 3)
        assert server.in_flight == 3
        gate.release()
    assert [task.result().text for task in tasks] == [f"number {index} done" for index in range(3)]


async def test_an_adapter_can_be_used_again_after_it_was_closed(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("again", "yes")
    await adapter.ask(Prompt("again"))
    await adapter.aclose()
    assert (await adapter.ask(Prompt("again"))).text == "yes"


async def test_what_the_receiver_of_tokens_raises_is_not_taken_for_a_providers_error(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("greet", "one two")

    def broken(_: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await adapter.ask(Prompt("greet"), on_token=broken)
    assert len(server.requests) == 1


async def test_a_proxy_is_not_used_for_this_machine(
    server: ModelServer, adapter: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    server.answers("greet", "direct")
    assert (await adapter.ask(Prompt("greet"))).text == "direct"


# keys


async def test_a_server_of_this_machine_that_redirects_to_tls_is_trusted_by_no_authority() -> None:
    for base_url, trusts in (("http://127.0.0.1:1/v1", False), ("https://127.0.0.1:1/v1", True)):
        opened = open_server(
            Origin("scripted"), base_url=base_url, model="scripted", key=None, timeout=1.0, profile={}
        )
        provider = cast("Provider[AsyncOpenAI]", opened.model.provider)
        context = provider.client._client._transport._pool._ssl_context  # type: ignore[attr-defined]
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert bool(context.cert_store_stats()["x509_ca"]) is trusts
        await opened.close()


async def test_a_refused_key_names_its_variable_and_never_the_key(
    make_adapter: MakeAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-wrong-secret")
    with ModelServer() as locked:
        locked.fails("greet", 401, body={"error": {"message": "Incorrect API key provided: sk-wrong-secret"}})
        adapter = make_adapter(base_url=locked.base_url, api_key_env="FAKE_KEY")
        with pytest.raises(AuthenticationFailed, match=r"refused the key.*\$FAKE_KEY") as caught:
            await adapter.ask(Prompt("greet"))
        assert "sk-wrong-secret" not in str(caught.value)
        assert len(locked.requests) == 1


async def test_a_missing_key_is_noticed_before_any_request(
    server: ModelServer, make_adapter: MakeAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAKE_KEY", raising=False)
    with pytest.raises(AuthenticationFailed, match=r"\$FAKE_KEY is not set"):
        await make_adapter(api_key_env="FAKE_KEY").ask(Prompt("greet"))
    assert server.requests == []


async def test_another_services_key_in_the_environment_is_not_sent(
    server: ModelServer, adapter: ModelAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    server.answers("greet", "hello")
    await adapter.ask(Prompt("greet"))
    assert "sk-of-somebody-else" not in json.dumps(server.headers)


def printing(text: str, *, status: int = 0, to: str = "stdout") -> list[str]:
    return [sys.executable, "-c", f"import sys; sys.{to}.write({text!r}); sys.exit({status})"]


@pytest.mark.parametrize(
    "source", [{"api_key_env": "FAKE_KEY"}, {"api_key_command": printing("sk-right\nlogin: me\n")}]
)
async def test_a_key_comes_from_the_environment_or_a_commands_first_line(
    make_adapter: MakeAdapter, monkeypatch: pytest.MonkeyPatch, source: dict[str, Any]
) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-right")
    with ModelServer(api_key="sk-right") as locked:
        locked.answers("greet", "open")
        adapter = make_adapter(base_url=locked.base_url, **source)
        assert (await adapter.ask(Prompt("greet"))).text == "open"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (printing("vault is locked\n", status=3, to="stderr"), "status 3: vault is locked"),
        (printing(""), "printed nothing"),
        (["/no/such/program"], "cannot be run: No such file"),
    ],
)
async def test_a_failing_key_command_is_explained(
    server: ModelServer, make_adapter: MakeAdapter, command: list[str], said: str
) -> None:
    with pytest.raises(AuthenticationFailed, match=said):
        await make_adapter(api_key_command=command).ask(Prompt("greet"))
    assert server.requests == []


async def test_a_key_command_is_run_again_after_its_key_was_refused(
    make_adapter: MakeAdapter, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("sk-expired\n")
    with ModelServer(api_key="sk-right") as locked:
        locked.answers("greet", "open")
        adapter = make_adapter(base_url=locked.base_url, api_key_command=["cat", str(keys)])
        with pytest.raises(AuthenticationFailed):
            await adapter.ask(Prompt("greet"))
        keys.write_text("sk-right\n")
        assert (await adapter.ask(Prompt("greet"))).text == "open"


async def test_a_refused_key_does_not_cut_off_the_answers_beside_it(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    gate = server.holds("long")
    server.fails("greet", 401)
    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(adapter.ask(Prompt("long")))
        await asyncio.to_thread(gate.wait_started)
        with pytest.raises(AuthenticationFailed):
            await adapter.ask(Prompt("greet"))
        gate.release()
        assert (await task).text == "held answer"
    assert server.disconnects == 0


# failures


async def test_a_rate_limit_is_waited_for(server: ModelServer, adapter: ModelAdapter) -> None:
    server.fails("greet", 429, headers={"Retry-After": "0"}, times=2)
    server.answers("greet", "at last")
    assert (await adapter.ask(Prompt("greet"))).text == "at last"
    assert len(server.requests) == 3


FAILURES: dict[str, tuple[int, dict[str, Any], type[AdapterError], str, int]] = {
    "lasting limit": (429, {"headers": {"Retry-After": "3600"}}, RateLimited, "try again in 3600 s", 1),
    "limit without a time": (429, {}, RateLimited, "scripted failure 429", 3),
    "its own": (500, {}, AdapterUnavailable, r"'fake'.*failed on its side \(HTTP 500\): scripted", 3),
    "refusal": (
        400,
        {"body": {"detail": [{"loc": ["body", "tools"], "msg": "no tools here"}]}},
        AdapterError,
        r"refused the request \(HTTP 400\): body\.tools: no tools here$",
        1,
    ),
    "redirection": (
        308,
        {"headers": {"Location": "https://model.test/v2"}},
        AdapterError,
        r"redirects to https://model\.test/v2, use that address instead",
        1,
    ),
    "too long": (
        400,
        {"body": {"error": {"message": "limit is 4096 tokens", "code": "context_length_exceeded"}}},
        ContextTooLong,
        "4096 tokens",
        1,
    ),
    "unknown model": (
        404,
        {"body": {"error": {"message": "model 'scripted' not found"}}},
        AdapterError,
        r"does not know this model .*\(HTTP 404\): model 'scripted'",
        1,
    ),
    "no model server": (418, {"body": "<html>I am a teapot</html>"}, AdapterError, "teapot", 3),
}


@pytest.mark.parametrize(("status", "more", "kind", "words", "requests"), FAILURES.values(), ids=FAILURES)
async def test_a_failure_is_translated_with_the_providers_words(
    server: ModelServer,
    adapter: ModelAdapter,
    status: int,
    more: dict[str, Any],
    kind: type[AdapterError],
    words: str,
    requests: int,
) -> None:
    server.fails("greet", status, **more)
    with pytest.raises(kind, match=words) as caught:
        await adapter.ask(Prompt("greet"))
    assert len(server.requests) == requests
    assert not isinstance(caught.value, RateLimited) or caught.value.retry_after in (3600.0, None)


async def test_a_servers_own_failure_is_tried_again(server: ModelServer, adapter: ModelAdapter) -> None:
    server.fails("greet", 500, times=1)
    server.fails("greet", 503, body="<html>Service Unavailable</html>", times=1)
    server.answers("greet", "recovered")
    assert (await adapter.ask(Prompt("greet"))).text == "recovered"


async def test_an_address_without_a_version_gets_a_hint(
    server: ModelServer, make_adapter: MakeAdapter
) -> None:
    address = server.base_url.removesuffix("/v1")
    adapter = make_adapter(base_url=address)
    with pytest.raises(AdapterError, match=f"try {server.base_url}$"):
        await adapter.ask(Prompt("look"))
    assert (await adapter.check()).endswith(f"try {server.base_url}")


@pytest.mark.parametrize("clean", [False, True], ids=["dropped", "ended early"])
async def test_a_stream_that_is_cut_is_an_error_and_not_a_short_answer(
    server: ModelServer, adapter: ModelAdapter, clean: bool
) -> None:
    server.cuts("greet", 10, clean=clean)
    tokens: list[str] = []
    with pytest.raises(AdapterUnavailable, match="cut off after 10 characters"):
        await adapter.ask(Prompt("greet"), on_token=tokens.append)
    assert "".join(tokens) == "this answe"
    assert len(server.requests) == 1  # what was shown is not shown a second time


async def test_an_unreachable_server_is_named(make_adapter: MakeAdapter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    adapter = make_adapter(base_url=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(AdapterUnavailable, match=f":{port}/v1.*cannot be reached"):
        await adapter.ask(Prompt("greet"))


@pytest.mark.slow
async def test_a_silent_server_is_given_up(server: ModelServer, make_adapter: MakeAdapter) -> None:
    server.holds("greet", before_first=True)
    with pytest.raises(AdapterUnavailable, match="did not answer in time"):
        await make_adapter(timeout=0.2).ask(Prompt("greet"))
    await asyncio.to_thread(server.wait_idle)


@pytest.mark.parametrize("answer", ["", "  \n "])
async def test_an_empty_answer_is_an_error(server: ModelServer, adapter: ModelAdapter, answer: str) -> None:
    server.answers("greet", answer)
    with pytest.raises(InvalidReply, match="empty"):
        await adapter.ask(Prompt("greet"))


# typed answers


async def test_a_typed_answer_is_validated(server: ModelServer, adapter: ModelAdapter) -> None:
    server.answers("plan", GOOD_PLAN)
    reply = await adapter.ask(Prompt("plan"), schema=Plan)
    assert reply.parsed == Plan.model_validate(GOOD_PLAN)
    assert json.loads(reply.text) == GOOD_PLAN
    assert server.requests[0]["response_format"]["type"] == "json_schema"
    told = json.dumps(messages_of(server))
    assert "changes" in told  # for servers that ignore the schema they are sent


async def test_an_invalid_typed_answer_is_corrected_with_the_reason(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("plan", {"changes": [{"path": "a.py", "action": "explode"}]}, times=1)
    server.answers("plan", "Sure! Here is the plan you asked for.", times=1)
    server.answers("plan", GOOD_PLAN)
    reply = await adapter.ask(Prompt("plan"), schema=Plan)
    assert reply.parsed == Plan.model_validate(GOOD_PLAN)
    assert "'create' or 'modify'" in messages_of(server, 1)[-1][1]
    assert "Invalid JSON" in messages_of(server, 2)[-1][1]
    assert reply.usage.output_tokens > 3  # all three answers count


async def test_a_typed_answer_that_never_fits_is_an_error_after_the_attempts(
    server: ModelServer, make_adapter: MakeAdapter
) -> None:
    server.answers("plan", "I would rather talk.")
    with pytest.raises(InvalidReply, match="Invalid JSON"):
        await make_adapter(attempts=2).ask(Prompt("plan"), schema=Plan)
    assert len(server.requests) == 2


async def test_a_typed_answer_cut_by_its_length_limit_is_an_error(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("plan", '{"changes": [{"path"', finish_reason="length")
    with pytest.raises(InvalidReply, match="length limit"):
        await adapter.ask(Prompt("plan"), schema=Plan)
    assert len(server.requests) == 1


async def test_a_server_without_typed_answers_is_asked_in_words(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    refusal = {"error": {"message": "Unrecognized request argument supplied: response_format"}}
    server.fails("plan", 400, body=refusal, times=1)
    server.answers("plan", GOOD_PLAN)
    assert (await adapter.ask(Prompt("plan"), schema=Plan)).parsed == Plan.model_validate(GOOD_PLAN)
    assert server.requests[1].get("response_format", {"type": "text"})["type"] != "json_schema"
    assert "changes" in json.dumps(messages_of(server, 1))
    await adapter.ask(Prompt("plan"), schema=Plan)
    assert len(server.requests) == 3  # it is not tried a second time


# cancellation


async def cancelled_at(gate: Gate, adapter: ModelAdapter) -> None:
    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(adapter.ask(Prompt("greet")))
        await asyncio.to_thread(gate.wait_started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(gate.wait_disconnected)


@pytest.mark.parametrize("before_first", [True, False], ids=["before the first token", "while streaming"])
async def test_cancelling_closes_the_connection(
    server: ModelServer, adapter: ModelAdapter, before_first: bool
) -> None:
    gate = server.holds("greet", before_first=before_first)
    await cancelled_at(gate, adapter)
    await asyncio.to_thread(server.wait_idle)
    assert len(server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("between", [1, 2, 3])
async def test_a_second_cancellation_does_not_leave_the_connection_open(
    server: ModelServer, adapter: ModelAdapter, between: int
) -> None:
    for _ in range(30):
        gate = server.holds("greet", times=1)
        task = asyncio.create_task(adapter.ask(Prompt("greet")))
        await asyncio.to_thread(gate.wait_started)
        task.cancel()
        for _ in range(between):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(gate.wait_disconnected)


async def test_an_adapter_answers_after_a_cancelled_prompt(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    await cancelled_at(server.holds("greet"), adapter)
    server.answers("greet again", "still here")
    assert (await adapter.ask(Prompt("greet again"))).text == "still here"


async def test_cancelling_while_waiting_for_a_rate_limit_sends_nothing_more(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.fails("greet", 429, headers={"Retry-After": "30"})
    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(adapter.ask(Prompt("greet")))
        await asyncio.to_thread(server.wait_for_requests, 1)
        await asyncio.to_thread(server.wait_idle)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(server.requests) == 1


# check


async def test_a_check_names_the_model(adapter: ModelAdapter) -> None:
    assert "answers; model 'scripted'" in await adapter.check()


async def test_a_check_notices_a_model_the_server_does_not_have(make_adapter: MakeAdapter) -> None:
    with pytest.raises(AdapterError, match=r"does not list the model 'other' \(it lists: scripted\)"):
        await make_adapter(model="other").check()


async def test_a_check_notices_a_refused_key(
    make_adapter: MakeAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-wrong")
    with ModelServer(api_key="sk-right") as locked, pytest.raises(AuthenticationFailed, match=r"\$FAKE_KEY"):
        await make_adapter(base_url=locked.base_url, api_key_env="FAKE_KEY").check()


async def test_a_check_notices_that_nothing_listens(make_adapter: MakeAdapter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(AdapterUnavailable, match="cannot be reached"):
        await make_adapter(base_url=f"http://127.0.0.1:{port}/v1").check()
