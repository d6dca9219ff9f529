"""Plan, edits, check and submission in one turn: order, consent and earlier failures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_with_tools import EXECUTE, SHOP, edit, hand_in
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest

PLAN = "Which files have to"
FILES = [{"action": "modify", "path": "shop/price.py", "why": "takes the rate"}]


@pytest.fixture
def tools() -> bool:
    return True


def one_turn(bench: Bench, *calls: tuple[str, dict[str, Any]], on: str = PLAN) -> None:
    """Script one turn with several calls."""
    made = [
        {"index": at, "id": f"call{at}", "type": "function", "function": {"name": name, "arguments": given}}
        for at, (name, given) in enumerate((name, json.dumps(given)) for name, given in calls)
    ]
    bench.server.streams(on, {"role": "assistant", "tool_calls": made}, finish_reason="tool_calls", times=1)


def plan(*files: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "submit_plan", {"files": [*(files or FILES)]}


def change(search: str, replace: str, path: str = "shop/price.py") -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": path, "edits": [{"search": search, "replace": replace}]}


DONE = ("submit_work", {"summary": "Done at once."})


def lay(bench: Bench) -> None:
    for name, text in SHOP.items():
        bench.write(name, text)


def called(bench: Bench) -> list[str]:
    return [data["tool"] for data in bench.front.data(EventName.TOOL_CALLED)]


def results(bench: Bench) -> list[str]:
    """Return the results that the last request tells the model."""
    return [one["content"] for one in bench.server.requests[-1]["messages"] if one["role"] == "tool"]


async def test_a_plan_its_edits_and_the_submission_take_one_turn(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, ("read_file", {"path": "shop/price.py"}), plan(), change("1.2", "1.3"), DONE)
    edited_when_asked: list[bool] = []

    def answer(_request: ConfirmationRequest) -> Decision:
        edited_when_asked.append("edit_file" in called(bench))
        return Decision(True)

    bench.front.answer = answer
    result = await bench.succeed("multi_file", "raise it")
    assert len(bench.server.requests) == 1
    assert [request.kind for request in bench.front.requests] == ["plan", "review"]
    assert edited_when_asked == [False, True], "nothing runs before the person agrees"
    assert str(result.response).startswith("Done at once.")
    assert b"1.3" in bench.fingerprint()["shop/price.py"]


async def test_edits_after_a_plan_are_followed_by_the_next_turn_without_another_message(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, plan(), change("1.2", "1.3"))
    hand_in(bench)
    await bench.succeed("multi_file", "raise it")
    roles = [one["role"] for one in bench.server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    agreed, edited = results(bench)
    assert agreed == "The person agreed. Carry it out completely."
    assert "+    return item.net * 1.3" in edited


async def test_calls_after_a_declined_plan_are_not_made(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, plan(), change("1.2", "1.3"), DONE)
    bench.front.answer = lambda _request: Decision(False)
    before = bench.fingerprint()
    result = await bench.run("multi_file", "raise it")
    assert result.cancelled
    assert called(bench) == []
    assert bench.fingerprint() == before


async def test_calls_after_a_plan_that_the_person_changed_are_not_made(bench: Bench) -> None:
    lay(bench)
    other = {"action": "modify", "path": "shop/cart.py", "why": "passes it on"}
    one_turn(bench, plan(*FILES, other), change("1.2", "1.3"), DONE)
    edit(bench, "shop/cart.py", "items):", "items, rate=1):")
    hand_in(bench)
    bench.front.answer = lambda request: Decision(
        True, {"files": [other]} if request.kind == "plan" else None
    )
    await bench.succeed("multi_file", "raise it")
    assert results(bench)[:3] == ["accepted", *["not called: the person did not agree to the plan"] * 2]
    assert b"1.2" in bench.fingerprint()["shop/price.py"]
    assert b"rate=1" in bench.fingerprint()["shop/cart.py"]


async def test_calls_after_a_revised_plan_that_the_person_does_not_use_are_not_made(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, plan(), change("1.2", "1.3"), DONE)
    other = {"action": "modify", "path": "shop/cart.py", "why": "passes it on"}
    one_turn(
        bench, plan(other), change("items):", "items, rate=1):", "shop/cart.py"), DONE, on="the cart too"
    )
    edit(bench, "shop/price.py", "1.2", "1.4")
    hand_in(bench)
    said = {"comments": [{"text": "the cart too"}]}
    plans = [Decision(False, said), Decision(True, {"files": FILES})]
    bench.front.answer = lambda request: plans.pop(0) if request.kind == "plan" else Decision(True)
    await bench.succeed("multi_file", "raise it")
    assert b"rate=1" not in bench.fingerprint()["shop/cart.py"]
    assert b"1.4" in bench.fingerprint()["shop/price.py"]
    assert "The plan, as the person agreed to it" in str(bench.server.requests[-1])


async def test_a_submission_after_a_failed_edit_of_its_turn_is_refused(bench: Bench) -> None:
    lay(bench)
    one_turn(bench, plan(), change("1.2", "1.3"), change("not there", "x"), DONE)
    one_turn(bench, change("net", "gross"), DONE, on=EXECUTE)
    await bench.succeed("multi_file", "raise it")
    assert "not accepted: edit_file failed in this turn" in results(bench)[-1]
    assert b"item.gross * 1.3" in bench.fingerprint()["shop/price.py"]
    assert len(bench.server.requests) == 2


async def test_the_first_request_names_folders_rules_and_checks_and_offers_no_check_that_cannot_run(
    bench: Bench,
) -> None:
    lay(bench)
    bench.write("shop/AGENTS.md", "Prices are named in full.\n")
    bench.write("Makefile", "test:\n\ttrue\n")
    one_turn(bench, plan(), change("1.2", "1.3"), DONE)
    await bench.succeed("multi_file", "raise it")
    (request,) = bench.server.requests
    asked = request["messages"][1]["content"]
    assert "\nshop/: AGENTS.md 1, cart.py 5, price.py 2\n" in asked
    assert "Rules for work in their folders: shop/AGENTS.md\n" in asked
    assert "No check can run here." in asked, "nobody trusts it"
    assert not {"run_check", "run_snippet"} & {tool["function"]["name"] for tool in request["tools"]}
