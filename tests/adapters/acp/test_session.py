from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.test_guard import runs
from tideate_core.adapters.acp import session as module
from tideate_core.adapters.acp.turn import TurnRecord
from tideate_core.adapters.acp.updates import (
    AgentUpdate,
    CallUpdate,
    CostUpdate,
    PlanEntry,
    PlanUpdate,
    SaidText,
)
from tideate_core.errors import (
    AdapterError,
    AdapterUnavailable,
    AuthenticationFailed,
    ConfigError,
    ContextTooLong,
    PersonNeeded,
    RateLimited,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.adapters.acp.conftest import Open
    from tideate_core.adapters.acp.session import AgentSession
    from tideate_core.adapters.acp.turn import TurnEnd

Requests = Callable[[], list[dict[str, Any]]]
MODELS = {
    "id": "m",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "small",
    "options": [{"value": "small", "name": "S"}, {"group": "g", "name": "G", "options": [{"value": "big"}]}],
}
CALL = {"toolCallId": "c1", "title": "Run make", "kind": "execute"}
ALL_KINDS = ["allow_always", "allow_once", "reject_once", "reject_always"]


async def turn(session: AgentSession, text: str = "do it") -> tuple[TurnEnd, list[AgentUpdate]]:
    updates: list[AgentUpdate] = []
    return await session.prompt(text, updates.append), updates


async def test_a_turn_returns_its_text_and_passes_its_updates_on_in_order(open_session: Open) -> None:
    call = {"kind": "tool_call", "toolCallId": "a", "title": "Read x", "status": "pending"}
    actions = [
        {"thought": "hm"},
        {"plan": [["first", "completed"], ["second", "pending"]]},
        {"text": "Hello"},
        {"update": call},
        {"update": {"kind": "tool_call_update", "toolCallId": "a", "status": "completed"}},
        {"text": "done"},
    ]
    async with open_session(actions) as session:
        end, updates = await turn(session)
    assert end.text == "Hello\n\ndone"
    assert end.stop_reason == "end_turn"
    assert updates == [
        SaidText("hm", is_thought=True),
        PlanUpdate((PlanEntry("first", "completed"), PlanEntry("second"))),
        SaidText("Hello"),
        CallUpdate("a", "Read x", state="pending"),
        CallUpdate("a", state="completed"),
        SaidText("\n\ndone"),
    ]


async def test_the_agent_is_offered_neither_files_nor_terminals(
    open_session: Open, requests: Requests
) -> None:
    async with open_session([{"request": "fs/read_text_file"}]) as session:
        end, _ = await turn(session)
    told = requests()[0]["params"]["clientCapabilities"]
    assert told == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert "-32601" in end.text


async def test_updates_after_the_answer_belong_to_the_turn(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.adapters.acp.session.QUIET", 1.0)
    async with open_session(
        [{"text": "now"}, {"late": {"hang": 0.05}}, {"late": {"text": " and then"}}]
    ) as session:
        end, _ = await turn(session)
    assert end.text == "now and then"


async def test_usage_and_cost_are_counted(open_session: Open) -> None:
    used = {"totalTokens": 60, "inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 30}
    cost = {"kind": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.25, "currency": "USD"}}
    async with open_session([{"update": cost}, {"stop": "end_turn", "usage": used}]) as session:
        end, updates = await turn(session)
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == (40, 20, 30)
    assert end.usage.cost == 0.25
    assert updates == [CostUpdate(0.25)]


async def test_the_cost_of_a_turn_is_without_that_of_the_turns_before(open_session: Open) -> None:
    def cost(amount: float) -> dict[str, Any]:
        told = {"amount": amount, "currency": "USD"}
        return {"update": {"kind": "usage_update", "used": 5, "size": 9, "cost": told}}

    async with open_session([cost(0.25)], [cost(0.5), cost(0.75)]) as session:
        first, _ = await turn(session)
        second, _ = await turn(session)
    assert (first.usage.cost, second.usage.cost) == (0.25, 0.5)


async def test_the_halves_of_a_character_in_two_updates_are_joined(open_session: Open) -> None:
    async with open_session([{"text": "a\ud83d"}, {"text": "\ude00b"}]) as session:
        end, _ = await turn(session)
    assert end.text == "a😀b"


async def test_escape_sequences_do_not_reach_the_screen(open_session: Open) -> None:
    call = {"kind": "tool_call", "toolCallId": "a", "title": "\x1b]0;owned\x07ls\n\x1b[2J-l"}
    async with open_session([{"text": "\x1b[31mred\x1b[0m"}, {"update": call}]) as session:
        end, updates = await turn(session)
    assert end.text == "red"
    assert updates[-1] == CallUpdate("a", "ls -l")


async def test_invalid_updates_are_ignored(open_session: Open) -> None:
    bad: list[dict[str, Any]] = [
        {"kind": "tool_call"},
        {"kind": "tool_call", "toolCallId": 7},
        {"kind": "agent_message_chunk", "content": "text"},
        {"kind": "plan", "entries": {"a": 1}},
        {"kind": "usage_update", "cost": {"amount": "much", "currency": "USD"}},
        {"kind": "a kind of the future", "x": [1]},
    ]
    async with open_session([*({"update": one} for one in bad), {"text": "fine"}]) as session:
        end, updates = await turn(session)
    assert end.text == "fine"
    assert updates == [PlanUpdate(()), SaidText("fine")]


async def test_lines_that_are_no_messages_are_ignored(open_session: Open) -> None:
    actions = [{"raw": "a banner\n[1, 2]\n7\n\n{broken\n"}, {"text": "fine"}]
    async with open_session(actions, more={"before": [{"raw": "Welcome!\n"}]}) as session:
        end, _ = await turn(session)
    assert end.text == "fine"


async def test_a_title_or_greeting_before_a_message_on_its_line_is_ignored(open_session: Open) -> None:
    before = [{"raw": "\x1b]0;opencode: ready\x07"}]
    actions = [{"raw": "\x1b[2K> "}, {"text": "fine"}, {"raw": "ready. "}]
    async with open_session(actions, more={"before": before}) as session:
        end, _ = await turn(session)
    assert end.text == "fine"


async def test_updates_before_the_session_is_known_do_no_harm(open_session: Open) -> None:
    early = {"sessionId": "session-1", "update": {"sessionUpdate": "available_commands_update"}}
    message = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": early})
    async with open_session([{"text": "fine"}], more={"before": [{"raw": f"{message}\n"}]}) as session:
        end, _ = await turn(session)
    assert end.text == "fine"


async def test_a_call_with_an_unknown_terminal_keeps_its_other_content(open_session: Open) -> None:
    content = [
        {"type": "terminal", "terminalId": "gone"},
        {"type": "content", "content": {"type": "text", "text": "3 passed"}},
        {"type": "diff", "path": "a.py", "oldText": None, "newText": "x"},
    ]
    call = {"kind": "tool_call_update", "toolCallId": "a", "status": "completed", "content": content}
    async with open_session([{"update": call}]) as session:
        _, updates = await turn(session)
    assert updates == [CallUpdate("a", state="completed", paths=("a.py",), output="3 passed")]


async def test_a_call_that_is_running_while_its_permission_is_asked_is_shown_and_answered(
    open_session: Open,
) -> None:
    running = {"kind": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}
    asked = {"toolCallId": "c1", "title": "Run make"}
    actions = [{"update": running}, {"permission": asked, "kinds": ALL_KINDS}, {"update": running}]
    async with open_session(actions) as session:
        end, updates = await turn(session)
    assert end.text == "[id-allow_once]"
    assert updates.count(CallUpdate("c1", state="in_progress")) == 2


async def test_an_agent_that_prints_only_other_texts_is_given_up(open_session: Open) -> None:
    with pytest.raises(AdapterError, match=r"prints texts that are not ACP.*\n.*xxx"):
        async with open_session([{"raw": "xxx\n" * 300_000}, {"receive": "nothing"}]) as session:
            await turn(session)


async def test_a_message_without_end_is_given_up(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tideate_core.adapters.acp.pipes.LONGEST_MESSAGE", 1 << 20)
    with pytest.raises(AdapterError, match="a message of more than 1 MiB"):
        async with open_session([{"raw": "x" * (2 << 20)}, {"receive": "nothing"}]) as session:
            await turn(session)


async def test_a_flood_on_standard_error_does_not_block_the_agent(open_session: Open) -> None:
    async with open_session([{"noise": 5_000_000}, {"text": "fine"}]) as session:
        end, _ = await turn(session)
    assert end.text == "fine"


async def test_an_agent_that_ends_in_its_turn_is_reported_with_its_last_words(open_session: Open) -> None:
    with pytest.raises(
        AdapterError, match=r"ended with status 3 before it could answer.*\n.*noise"
    ) as raised:
        async with open_session([{"text": "I beg"}, {"noise": 60}, {"exit": 3}]) as session:
            await turn(session)
    assert not isinstance(raised.value, AdapterUnavailable)


async def test_an_agent_that_ends_at_once_is_unavailable(open_session: Open) -> None:
    with pytest.raises(AdapterUnavailable, match="ended with status 9 before it could start"):
        async with open_session([], more={"before": [{"exit": 9}]}):
            pass


async def test_another_version_of_the_protocol_is_refused(open_session: Open) -> None:
    with pytest.raises(AdapterError, match="speaks version 2 of ACP"):
        async with open_session([], more={"initialize": {"protocolVersion": 2}}):
            pass


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"code": -32000, "message": "Authentication required"}, AuthenticationFailed, "Log in with .*web"),
        ({"code": -32603, "message": "Internal error", "data": {"details": "HTTP 429"}}, RateLimited, "429"),
        ({"code": -32603, "message": "prompt is too long"}, ContextTooLong, "too long"),
        ({"code": -32603, "message": "No \x1b[1mluck"}, AdapterError, "could not answer: No luck"),
        ({"code": -1, "message": ""}, AdapterError, "error -1"),
    ],
)
async def test_errors_of_the_protocol_become_ours_with_the_agents_words(
    open_session: Open, error: dict[str, Any], kind: type[AdapterError], words: str
) -> None:
    ways = {"authMethods": [{"id": "a", "name": "Log in on the web"}]}
    with pytest.raises(kind, match=words):
        async with open_session([{"error": error}], more={"initialize": ways}) as session:
            await turn(session)


async def test_a_silent_agent_ends_its_turn(open_session: Open) -> None:
    with pytest.raises(AdapterError, match="gave no sign for 0 s"):
        async with open_session([{"text": "x"}, {"receive": "session/cancel"}], silence=0.2) as session:
            await turn(session)


# -- sessions --------------------------------------------------------------------------------------------


async def test_an_earlier_session_is_resumed_if_the_agent_can(open_session: Open, requests: Requests) -> None:
    can = {"agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}
    async with open_session([{"text": "on"}], earlier="session-1", more={"initialize": can}) as session:
        end, _ = await turn(session)
    assert session.continued
    assert end.text == "on"
    assert [one["method"] for one in requests()][:3] == ["initialize", "session/resume", "session/prompt"]


async def test_a_loaded_session_does_not_repeat_its_history(open_session: Open) -> None:
    can = {"agentCapabilities": {"loadSession": True}}
    async with open_session([{"text": "on"}], earlier="session-1", more={"initialize": can}) as session:
        end, updates = await turn(session)
    assert session.continued
    assert updates == [SaidText("on")]
    assert end.text == "on"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "initialize": {"agentCapabilities": {"loadSession": True}},
            "continue": {"error": {"code": -32002, "message": "no such session"}},
        },
    ],
)
async def test_a_session_that_cannot_be_continued_begins_anew(
    open_session: Open, more: dict[str, Any]
) -> None:
    async with open_session([{"text": "new"}], earlier="old", more=more) as session:
        end, _ = await turn(session)
    assert not session.continued
    assert session.id == "session-1"
    assert end.text == "new"


async def test_options_are_set_by_id_or_category(open_session: Open, requests: Requests) -> None:
    async with open_session([], settings={"model": "big"}, more={"options": [MODELS]}) as session:
        assert session.options[0].current == "big"
    told = requests()[-1]["params"]
    assert told == {"sessionId": "session-1", "configId": "m", "value": "big"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "bigg"}, "no value 'bigg'; did you mean 'big'.*it has: small, big"),
        ({"mode": "x"}, r"no option 'mode' \(it has: model\)"),
    ],
)
async def test_an_option_that_the_agent_does_not_offer_is_refused(
    open_session: Open, settings: dict[str, str | bool], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        async with open_session([], settings=settings, more={"options": [MODELS]}):
            pass


@pytest.mark.parametrize(
    ("mode", "settings", "told"),
    [
        ("free", {}, ["free"]),
        ("free", {"mode": "plan"}, ["plan"]),
        ("free", {"m": "plan"}, ["plan"]),
        ("unknown", {}, []),
        ("", {}, []),
    ],
)
async def test_a_mode_is_set_if_the_agent_offers_it_and_the_settings_name_none(
    open_session: Open,
    requests: Requests,
    mode: str,
    settings: dict[str, str | bool],
    told: list[str],
) -> None:
    values = [{"value": "ask", "name": "A"}, {"value": "plan", "name": "P"}, {"value": "free", "name": "F"}]
    offered = {"id": "m", "name": "Mode", "category": "mode", "currentValue": "ask", "options": values}
    async with open_session([], settings=settings, mode=mode, more={"options": [offered]}):
        pass
    sent = [one["params"]["value"] for one in requests() if one["method"] == "session/set_config_option"]
    assert sent[-1:] == told


# -- permissions and cancellation ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "allowed", "chosen"),
    [
        (ALL_KINDS, True, "id-allow_once"),
        (["allow_always"], True, "id-allow_always"),
        (ALL_KINDS, False, "id-reject_once"),
        (["reject_always"], False, "id-reject_always"),
        (["reject_once"], True, "cancelled"),
        (["allow_once"], False, "cancelled"),
        (["reject_once:cancel", "reject_once:decline"], False, "id-reject_once:decline"),
        (["reject_once:abort"], False, "id-reject_once:abort"),
    ],
)
async def test_a_permission_is_answered_with_an_option_of_the_agent(
    open_session: Open, kinds: list[str], allowed: bool, chosen: str
) -> None:
    asked: list[CallUpdate] = []

    async def permit(call: CallUpdate) -> bool:
        asked.append(call)
        return allowed

    async with open_session([{"permission": CALL, "kinds": kinds}], permit=permit) as session:
        end, _ = await turn(session)
    assert end.text == f"[{chosen}]"
    assert asked == [CallUpdate("c1", "Run make", "execute")]


async def test_a_question_takes_no_time_of_the_agent(open_session: Open) -> None:
    asked = asyncio.Event()
    answer = asyncio.Event()

    async def permit(_call: CallUpdate) -> bool:
        asked.set()
        await answer.wait()
        return True

    actions = [{"permission": CALL, "kinds": ALL_KINDS}]
    async with open_session(actions, permit=permit, silence=0.05) as session:
        running = asyncio.create_task(turn(session))
        await asked.wait()
        done, _ = await asyncio.wait({running}, timeout=0.2)
        assert not done
        answer.set()
        assert (await running)[0].text == "[id-allow_once]"


async def test_a_permission_that_comes_with_a_cancellation_is_not_given(open_session: Open) -> None:
    async def permit(_call: CallUpdate) -> bool:
        session._cancelled.set()  # in the same moment as the answer
        return True

    actions = [{"permission": CALL, "kinds": ALL_KINDS}]
    async with open_session(actions, permit=permit) as session:
        end = await session.prompt("go", lambda _: None)
    assert end.text == "[cancelled]"


def test_the_cost_that_is_passed_on_is_that_of_the_turn() -> None:
    shown: list[object] = []
    record = TurnRecord(shown.append, 0.25)
    record.take([CostUpdate(0.75)])
    assert shown == [CostUpdate(0.5)]
    record.take([CostUpdate(0.1)])  # a continued session that counts from 0
    assert shown[1:] == [CostUpdate(0.1)]


async def test_an_error_of_a_question_ends_the_turn(open_session: Open) -> None:
    async def permit(_call: CallUpdate) -> bool:
        raise PersonNeeded("ask somebody")

    actions = [{"permission": CALL, "kinds": ALL_KINDS}, {"receive": "session/cancel"}]
    with pytest.raises(PersonNeeded):
        async with open_session(actions, permit=permit) as session:
            await turn(session)


async def test_cancelling_answers_the_question_under_way_and_the_turn_ends(
    open_session: Open, requests: Requests
) -> None:
    asked = asyncio.Event()

    async def permit(_call: CallUpdate) -> bool:
        asked.set()
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    actions = [{"permission": CALL, "kinds": ALL_KINDS}, {"stop": "cancelled"}]
    async with open_session(actions, permit=permit) as session:
        running = asyncio.create_task(turn(session))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert "session/cancel" in [one.get("method") for one in requests()]
    assert {"outcome": {"outcome": "cancelled"}} in [one.get("result") for one in requests()]


async def test_an_agent_that_ignores_a_cancellation_is_killed_with_its_children(
    open_session: Open, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE", 0.1)
    monkeypatch.setattr("tideate_core.adapters.acp.pipes.GRACE", 0.1)
    child = ["sh", "-c", "trap '' TERM; setsid sleep 300 & echo $! > pid; wait"]
    started = asyncio.Event()
    async with open_session([{"text": "hello"}, {"run": child}]) as session:
        running = asyncio.create_task(session.prompt("x", lambda _: started.set()))
        await started.wait()
        while not runs(place):  # noqa: ASYNC110 the file of another process
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not runs(place)


@pytest.mark.parametrize(
    ("reason", "truncated"), [("max_tokens", True), ("max_turn_requests", True), ("refusal", False)]
)
async def test_the_reason_of_the_end_is_kept(open_session: Open, reason: str, truncated: bool) -> None:
    async with open_session([{"text": "so"}, {"stop": reason}]) as session:
        end, _ = await turn(session)
    assert (end.stop_reason, end.truncated) == (reason, truncated)


async def test_an_endless_answer_is_cut(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tideate_core.adapters.acp.turn.MOST_TEXT", 100)
    async with open_session([{"text": "x" * 60}, {"text": "y" * 60}]) as session:
        end, updates = await turn(session)
    assert (len(end.text), end.truncated) == (100, True)
    assert sum(len(one.text) for one in updates if isinstance(one, SaidText)) == 100
