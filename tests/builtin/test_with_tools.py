"""Built-in workflows with a model that calls tools: reading, staging and submitting edits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import limit
from tideate_core.engine import EventName
from tideate_core.workflows import BufferContext, Cursor, Decision, DiagnosticContext, RunContext

if TYPE_CHECKING:
    from tests.harness.bench import Bench

AREA = "import math\n\n\ndef area(r):\n    x = math.pi * r\n    return x * r\n\n\nprint(area(2))\n"
SHOP = {
    "shop/price.py": "def price(item):\n    return item.net * 1.2\n",
    "shop/cart.py": (
        "from shop.price import price\n\n\ndef total(items):\n    return sum(price(i) for i in items)\n"
    ),
}


@pytest.fixture
def tools() -> bool:
    return True


def last(bench: Bench) -> str:
    """Return the last message of the last request."""
    return str(bench.server.requests[-1]["messages"][-1]["content"])


def offered(bench: Bench, request: int = -1) -> set[str]:
    return {tool["function"]["name"] for tool in bench.server.requests[request].get("tools", ())}


async def test_a_question_is_answered_after_a_look_at_another_file(bench: Bench) -> None:
    bench.write("a.py", AREA)
    bench.write("b.py", "SECRET_OF_B = 41\n")
    bench.server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    bench.server.answers("SECRET_OF_B", "It is 41, see b.py:1.")
    result = await bench.run("ask", "what is in b?", context=bench.context("a.py"))
    assert result.response == "It is 41, see b.py:1.", (result.error, bench.server.unmatched)
    assert "b.py, 1 line\nSECRET_OF_B = 41" in last(bench)
    assert {"read_file", "search", "find_symbol"} <= offered(bench)
    assert not {"edit_file", "submit_plan", "submit", "open_skill"} & offered(bench)
    (called,) = bench.front.data(EventName.TOOL_CALLED)
    assert (called["server"], called["tool"], called["arguments"]) == ("", "read_file", {"path": "b.py"})
    (done,) = bench.front.data(EventName.TOOL_COMPLETED)
    assert done["ok"]
    assert done["size"] > 0


async def test_a_question_without_a_selection_sends_what_is_around_the_cursor(bench: Bench) -> None:
    lines = [f"line {number}" for number in range(1, 1001)]
    buffer = BufferContext(path=str(bench.root / "a.txt"), text="\n".join(lines))
    said = DiagnosticContext(line=500, column=1, severity="warning", message="too long", source="lint")
    far = said.model_copy(update={"line": 5, "message": "far away"})
    context = RunContext(cwd=str(bench.root), buffer=buffer, cursor=Cursor(line=500), diagnostics=(said, far))
    bench.server.answers("why", "because")
    assert (await bench.run("ask", "why", context=context)).response == "because"
    sent = last(bench)
    assert "a.txt, lines 401 to 600" in sent
    assert "line 401\n" in sent
    assert "line 400\n" not in sent
    assert "The cursor is on line 500." in sent
    assert "line 500: warning: too long (lint)" in sent
    assert "far away" not in sent


async def test_a_refactoring_goes_on_with_the_conversation_of_its_analysis(bench: Bench) -> None:
    bench.write("a.py", AREA)
    bench.server.calls("what must not change", "search", {"pattern": "area"}, times=1)
    bench.server.answers("9:print(area(2))", "It is called in a.py:9.", times=1)
    bench.server.answers("in one fenced block", "```python\ndef area(r):\n    return math.pi * r**2\n```")
    await bench.succeed("refactor", "simplify", context=bench.context("a.py", 4, 6))
    assert "    return math.pi * r**2\n\n\nprint" in bench.fingerprint()["a.py"].decode()
    messages = bench.server.requests[-1]["messages"]
    assert [message["role"] for message in messages] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert "as a whole" in messages[1]["content"]
    assert "complete new text of the given lines" in messages[-1]["content"]
    assert "must stay the same" in messages[0]["content"], "the instructions stay those of the conversation"


def plan_of_shop(bench: Bench) -> None:
    for name, text in SHOP.items():
        bench.write(name, text)
    files = [
        {"action": "modify", "path": "shop/price.py", "why": "takes the rate"},
        {"action": "modify", "path": "shop/cart.py", "why": "passes it on"},
    ]
    bench.server.calls("Which files have to", "read_file", {"path": "shop/price.py"}, times=1)
    bench.server.calls("Which files have to", "submit_plan", {"files": files}, times=1)


EXECUTE = "Carry it out completely"


def edit(bench: Bench, path: str, search: str, replace: str, *, on: str = EXECUTE) -> None:
    edits = [{"search": search, "replace": replace}]
    bench.server.calls(on, "edit_file", {"path": path, "edits": edits}, times=1)


def hand_in(bench: Bench, summary: str = "Done as planned.", *, on: str = EXECUTE, **rest: Any) -> None:
    bench.server.calls(on, "submit_work", {"summary": summary, **rest}, times=1)


def raise_prices(bench: Bench) -> None:
    """Script a plan and its two edits."""
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "1.2", "1.3")
    edit(bench, "shop/cart.py", "items):", "items, rate=1):")


async def test_a_model_that_hands_in_no_plan_is_named_as_one_that_ended_without_an_answer(
    bench: Bench,
) -> None:
    bench.server.answers("", "I would change some files.")
    result = await bench.run("multi_file", "pass the rate")
    assert "the model 'scripted' ended without an answer; try again, " in str(result.error)


@pytest.mark.slow
async def test_one_writer_carries_out_a_plan_and_sees_what_it_read_and_edited(bench: Bench) -> None:
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "def price(item):", "def price(item, rate=1.2):")
    edit(bench, "shop/price.py", "item.net * 1.2", "item.net * rate")
    bench.server.calls(EXECUTE, "read_file", {"path": "shop/price.py"}, times=1)
    edit(bench, "shop/cart.py", "def total(items):", "def total(items, rate=1.2):")
    edit(bench, "shop/cart.py", "price(i) for", "price(i, rate) for")
    hand_in(bench)
    result = await bench.succeed("multi_file", "make the rate an argument")
    assert bench.fingerprint()["shop/price.py"] == b"def price(item, rate=1.2):\n    return item.net * rate\n"
    assert b"price(i, rate) for i" in bench.fingerprint()["shop/cart.py"]
    assert str(result.response).startswith("Done as planned.")
    assert [request.kind for request in bench.front.requests] == ["plan", "review"]
    conversation = json.dumps(bench.server.requests[-1]["messages"], ensure_ascii=False)
    assert r"2 lines\ndef price(item):" in conversation, "what it read to plan is still there"
    assert r"staged edits\ndef price(item, rate=1.2):\n    return item.net * rate" in conversation, (
        "it reads what it staged"
    )
    assert {"edit_file", "write_file", "submit_work", "submit_plan", "read_file"} <= offered(bench)


@pytest.mark.slow
async def test_the_writer_is_told_the_rules_of_the_folders_that_are_planned(bench: Bench) -> None:
    bench.write("AGENTS.md", "Money is never a float.\n")
    bench.write("shop/AGENTS.md", "Prices are named in full.\n")
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "1.2", "1.3")
    hand_in(bench)
    hand_in(bench)
    await bench.succeed("multi_file", "raise it")
    planning, working = [
        next(str(one["content"]) for one in bench.server.requests[-1]["messages"] if words in str(one))
        for words in ("Which files have to", EXECUTE)
    ]
    assert "Prices are named in full." not in planning
    assert "Money is never a float." in planning
    assert "Prices are named in full." in working


@pytest.mark.slow
@pytest.mark.parametrize("agrees", [True, False])
async def test_a_file_beside_the_plan_is_asked_about(bench: Bench, agrees: bool) -> None:
    bench.write("README.md", "the rate is 1.2\n")
    edit(bench, "README.md", "1.2", "1.3")
    raise_prices(bench)
    hand_in(bench)
    bench.front.answer = lambda request: Decision(agrees or request.kind != "gate")
    await bench.succeed("multi_file", "raise it")
    (question,) = [one for one in bench.front.requests if one.kind == "gate"]
    assert "also change README.md?" in question.message
    assert (b"1.3" in bench.fingerprint()["README.md"]) is agrees
    assert agrees or "the person does not want it changed" in json.dumps(bench.server.requests[-1])


@pytest.mark.slow
async def test_what_the_plan_wants_and_nobody_did_is_said_once(bench: Bench) -> None:
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "1.2", "1.3")
    hand_in(bench)
    hand_in(bench, open_points=["The cart needs no change."])
    result = await bench.succeed("multi_file", "raise it")
    assert "shop/cart.py: the plan wants to modify it" in last(bench)
    assert "= shop/cart.py: no change" in result.as_json()["response"]
    points = "Open points of the model:\n- The cart needs no change."
    assert points in str(result.response)
    (review,) = [request for request in bench.front.requests if request.kind == "review"]
    assert review.message.startswith(f"{points}\nApply the change")


async def test_a_new_syntax_error_is_given_back_before_the_work_is_taken(bench: Bench) -> None:
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "item.net * 1.2", "item.net * * 1.2")
    edit(bench, "shop/cart.py", "items):", "items, rate=1):")
    hand_in(bench)
    edit(bench, "shop/price.py", "item.net * * 1.2", "item.net * 1.3")
    hand_in(bench, "Mended.")
    await bench.succeed("multi_file", "raise it")
    told = json.dumps(bench.server.requests[-1]["messages"])
    assert "not accepted: shop/price.py:2: new syntax error" in told
    assert b"item.net * 1.3" in bench.fingerprint()["shop/price.py"]


def unfinished(bench: Bench) -> None:
    """Script a model that needs more turns than its limit."""
    limit(bench, turns=2)
    raise_prices(bench)
    bench.server.answers("This is your last turn", "I am not done.")


@pytest.mark.slow
async def test_a_person_may_take_work_that_a_limit_ended(bench: Bench) -> None:
    unfinished(bench)
    await bench.succeed("multi_file", "raise it")
    assert b"1.3" in bench.fingerprint()["shop/price.py"]
    assert [request.kind for request in bench.front.requests] == ["plan", "override", "review"]
    asked = bench.front.requests[1]
    assert asked.message.startswith("The edits are unfinished: limits.turns (2) was reached.")
    assert "~ shop/price.py" in asked.details


@pytest.mark.parametrize(
    ("by", "code", "words"),
    [
        ("policy:yes", "StepFailed", "limits.turns (2) was reached; nothing was written. Raise that limit"),
        ("user", None, "not like this"),
    ],
)
async def test_work_that_a_limit_ended_is_taken_by_no_policy(
    bench: Bench, by: str, code: str | None, words: str
) -> None:
    unfinished(bench)
    before = bench.fingerprint()
    bench.front.answer = lambda request: Decision(
        request.kind != "override", by=by if request.kind == "override" else "user", reason="not like this"
    )
    result = await bench.run("multi_file", "raise it")
    assert (result.ok, result.error_code, result.cancelled) == (False, code, code is None)
    assert bench.fingerprint() == before
    ended = bench.front.events[-1].data
    assert words in (ended.get("error") or ended["message"])


async def test_work_that_a_limit_ended_without_an_edit_fails_and_says_what_happened(bench: Bench) -> None:
    plan_of_shop(bench)
    bench.server.calls(EXECUTE, "read_file", {"path": "shop/price.py"})
    bench.server.answers("This is your last turn: call submit_work", "I am not done.")
    before = bench.fingerprint()
    result = await bench.run("multi_file", "raise it")
    assert (result.ok, result.error_code) == (False, "StepFailed"), result.response
    assert "nothing was edited: equal calls in a row (10: read_file) was reached" in str(result.error)
    assert bench.fingerprint() == before


async def test_a_skill_is_listed_and_opened(bench: Bench) -> None:
    skill = "---\nname: release\ndescription: How to cut a release.\n---\nTag it, then rest.\n"
    bench.write(".claude/skills/release/SKILL.md", skill)
    bench.write(".claude/skills/release/more.md", "Rest well.\n")
    bench.server.calls("how do we", "open_skill", {"name": "release"}, times=1)
    bench.server.calls("Tag it", "open_skill", {"name": "release", "file": "../../../x"}, times=1)
    bench.server.answers("is not a path below", "Tag it.")
    assert (await bench.run("ask", "how do we release?")).response == "Tag it.", bench.server.unmatched
    assert "- release: How to cut a release." in bench.server.requests[0]["messages"][0]["content"]
    assert "open_skill" in offered(bench)


async def test_a_file_that_is_moved_and_changed_is_shown_with_its_change(bench: Bench) -> None:
    bench.write("shop/old.py", "def price():\n    return 1\n")
    files = [{"action": "move", "path": "shop/old.py", "move_to": "shop/new.py", "why": "a better name"}]
    bench.server.calls("Which files have to", "submit_plan", {"files": files}, times=1)
    move = {"path": "shop/old.py", "to": "shop/new.py"}
    bench.server.calls(EXECUTE, "move_file", move, times=1)
    edit(bench, "shop/new.py", "return 1", "return evil(")
    hand_in(bench)
    edit(bench, "shop/new.py", "return evil(", "return 2")
    hand_in(bench)
    await bench.succeed("multi_file", "rename it")
    assert "not accepted: shop/new.py:" in json.dumps(bench.server.requests[-1]["messages"])
    (review,) = [request for request in bench.front.requests if request.kind == "review"]
    (shown,) = review.payload["files"]
    assert (shown["action"], shown["move_to"]) == ("move", "shop/new.py")
    assert [line for hunk in shown["hunks"] for line in hunk["new"]] == ["    return 2"]
    assert "and change it (+1 -1 lines)" in review.message
    assert bench.fingerprint() == {"shop/new.py": b"def price():\n    return 2\n"}
