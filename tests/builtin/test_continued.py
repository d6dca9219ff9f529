"""Continued runs: conversation, lines and staged edits of an earlier run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_with_tools import AREA, EXECUTE, SHOP, edit, hand_in, last, plan_of_shop
from tideate_core.workflows import BufferContext, Decision, RunContext, Selection

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, WorkflowResult

WITH_TOOLS = pytest.mark.parametrize("tools", [True])
EITHER = pytest.mark.parametrize("tools", [True, False])


def roles(bench: Bench) -> list[str]:
    return [message["role"] for message in bench.server.requests[-1]["messages"]]


def told(bench: Bench) -> str:
    """Return all messages of the last request."""
    return json.dumps(bench.server.requests[-1]["messages"], ensure_ascii=False)


def only_review_declined(request: ConfirmationRequest) -> Decision:
    return Decision(request.kind != "review")


@EITHER
async def test_a_third_question_has_the_two_before(bench: Bench) -> None:
    for word in ("one", "two", "three"):
        bench.server.answers(f"say {word}", word.upper(), times=1)
    run = await bench.run("ask", "say one")
    run = await bench.run("ask", "say two", continues=run.execution_id)
    await bench.run("ask", "say three", continues=run.execution_id[:8])
    assert roles(bench) == ["system", *["user", "assistant"] * 2, "user"]
    assert "ONE" in told(bench)
    assert "TWO" in told(bench)
    assert last(bench).endswith("say three")


async def test_last_is_the_newest_run_with_a_conversation(bench: Bench) -> None:
    bench.server.answers("first", "1", times=1)
    bench.server.answers("again", "2")
    first = await bench.run("ask", "first")
    bench.server.fails("broken", 400)
    assert not (await bench.run("ask", "broken")).ok
    second = await bench.succeed("ask", "again", continues="last")
    reader = await bench.reader()
    assert reader.run(second.execution_id).continues == first.execution_id


@WITH_TOOLS
async def test_a_run_that_failed_in_the_middle_is_gone_on_with(bench: Bench) -> None:
    bench.write("b.py", "X = 41\n")
    bench.server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    bench.server.fails("X = 41", 400, times=1)
    first = await bench.run("ask", "what is in b?")
    assert not first.ok
    bench.server.answers("go on", "It is 41.")
    second = await bench.run("ask", "go on", continues=first.execution_id)
    assert second.response == "It is 41.", (second.error, bench.server.unmatched)
    assert roles(bench) == ["system", "user", "assistant", "tool", "user"]


@WITH_TOOLS
async def test_a_fork_leaves_out_what_came_after_the_turn(bench: Bench) -> None:
    bench.write("b.py", "X = 41\n")
    bench.server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    bench.server.answers("X = 41", "It is 41.", times=1)
    bench.server.answers("look elsewhere", "Nowhere.")
    first = await bench.succeed("ask", "what is in b?")
    await bench.succeed("ask", "look elsewhere", continues=first.execution_id, turn=1)
    assert roles(bench) == ["system", "user", "user"], "the call has no result any more and went, too"
    assert "41" not in told(bench)


@pytest.mark.parametrize("turn", [0, 3])
async def test_a_turn_that_is_not_there_is_refused(bench: Bench, turn: int) -> None:
    bench.server.answers("hello", "hi")
    first = await bench.run("ask", "hello")
    second = await bench.run("ask", "more", continues=first.execution_id, turn=turn)
    assert (second.ok, second.error_code) == (False, "InvalidInput")
    assert second.error == f"there is no turn {turn}: the conversation has 1 turn"


async def test_a_run_without_a_conversation_is_refused(bench: Bench) -> None:
    bench.server.fails("broken", 400)
    first = await bench.run("ask", "broken")
    second = await bench.run("ask", "more", continues=first.execution_id)
    assert "has no conversation" in str(second.error)
    assert "no run has a conversation" in str((await bench.run("ask", "more", continues="last")).error)
    assert (await bench.run("ask", "more", continues="ffff")).error_code == "RunNotFound"


@pytest.mark.parametrize("name", ["task", "summarize", "mine"])
async def test_a_workflow_that_goes_on_with_nothing_says_so(bench: Bench, name: str) -> None:
    async def works(_step: Any) -> str:
        return "never"

    bench.register("mine", {"one": works})
    bench.server.answers("hello", "hi")
    first = await bench.run("ask", "hello")
    second = await bench.run(name, "more", continues=first.execution_id)
    assert second.error == (f"{name} cannot continue other runs; `ask` can continue any run's conversation")


async def test_a_refactoring_goes_on_with_a_refactoring_only(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    first = await bench.run("ask", "hello")
    second = await bench.run("refactor", "more", continues=first.execution_id)
    assert "refactor continues only runs of refactor" in str(second.error)


async def test_a_run_that_is_still_running_is_not_gone_on_with(bench: Bench) -> None:
    gate = bench.server.holds("slowly")
    task = bench.begin("ask", "slowly")
    await bench.front.until_told("TOKEN")
    (run,) = bench.runner.running
    second = await bench.run("ask", "more", continues=run.id)
    assert (second.ok, second.error_code) == (False, "InvalidInput")
    short = run.id[:8]
    assert second.error == f"run {short} has not ended; `tideate resume {short}` resumes it if it stopped"
    gate.release()
    assert (await task).ok


async def test_a_text_that_has_no_name_is_to_be_selected_anew(bench: Bench) -> None:
    buffer = BufferContext(text=AREA.rstrip("\n"))
    context = RunContext(cwd=str(bench.root), buffer=buffer, selection=Selection(start=4, end=6))
    bench.server.answers("how will you change it", "It squares.", times=1)
    bench.front.answer = lambda _request: Decision(False)
    first = await bench.run("refactor", "simplify", context=context)
    assert first.cancelled, first.error
    second = await bench.run("refactor", "keep the name", continues=first.execution_id)
    assert (second.ok, second.error_code) == (False, "InvalidInput")
    assert "has no name and cannot be found; select it again" in str(second.error)


async def refactored(bench: Bench) -> WorkflowResult:
    bench.write("a.py", AREA)
    bench.server.answers("how will you change it", "It squares.", times=1)
    answer = "```python\ndef size(r):\n    return math.pi * r**2\n```"
    bench.server.answers("Rewrite these lines of", answer, times=1)
    return await bench.run("refactor", "simplify", context=bench.context("a.py", 4, 6))


@pytest.mark.slow
@EITHER
async def test_a_follow_up_rewrites_the_lines_that_were_just_written(bench: Bench) -> None:
    first = await refactored(bench)
    assert first.ok, (first.error, bench.server.unmatched)
    bench.write("a.py", "# new head\n" + bench.fingerprint()["a.py"].decode())
    bench.server.answers("keep the name", "```python\ndef area(r):\n    return math.pi * r**2\n```")
    await bench.succeed("refactor", "not like this, keep the name", continues=first.execution_id)
    text = bench.fingerprint()["a.py"].decode()
    assert (
        text == "# new head\nimport math\n\n\ndef area(r):\n    return math.pi * r**2\n\n\nprint(area(2))\n"
    )
    assert "Lines 5 to 6 of a.py are now:" in last(bench)
    assert "It squares." in told(bench), "the conversation of the analysis is there"
    assert [request.kind for request in bench.front.requests] == ["gate", "review", "review"]


@pytest.mark.slow
@EITHER
async def test_a_follow_up_of_a_declined_change_rewrites_the_old_lines(bench: Bench) -> None:
    bench.front.answer = only_review_declined
    first = await refactored(bench)
    assert first.cancelled
    bench.front.answer = lambda _request: Decision(True)
    bench.server.answers("keep the name", "```python\ndef area(r):\n    return math.pi * r**2\n```")
    await bench.succeed("refactor", "keep the name", continues=first.execution_id)
    assert b"def area(r):\n    return math.pi * r**2\n\n\nprint" in bench.fingerprint()["a.py"]
    assert "as nothing of your last answer was written" in last(bench)
    assert "def size(r)" in told(bench), "the declined answer is in the conversation"


@pytest.mark.slow
@WITH_TOOLS
async def test_a_follow_up_edits_the_file_where_its_lines_are_lost(bench: Bench) -> None:
    first = await refactored(bench)
    text = (
        bench.fingerprint()["a.py"].decode().replace("size(r)", "size(radius)").replace("import", "\nimport")
    )
    bench.write("a.py", text + "# end\n")
    bench.server.calls("keep the name", "read_file", {"path": "a.py"}, times=1)
    edit(bench, "a.py", "def size(radius)", "def area(r)", on="keep the name")
    hand_in(bench, on="keep the name")
    await bench.succeed("refactor", "keep the name", continues=first.execution_id)
    assert b"def area(r):" in bench.fingerprint()["a.py"]
    assert bench.front.requests[-1].kind == "review"
    assert "the lines cannot be found in a.py any more: the model edits the file" in bench.front.notices()


async def test_lost_lines_are_said_where_the_model_has_no_tools(bench: Bench) -> None:
    first = await refactored(bench)
    bench.write("a.py", "nothing = 1\n")
    second = await bench.run("refactor", "keep the name", continues=first.execution_id)
    assert "cannot be found in a.py any more; select them" in str(second.error)


async def test_selected_lines_are_taken_as_they_are(bench: Bench) -> None:
    first = await refactored(bench)
    bench.write("b.py", "def other():\n    pass\n")
    bench.server.answers("the same here", "```python\ndef same():\n    pass\n```")
    context = bench.context("b.py", 1, 2)
    await bench.succeed("refactor", "the same here", continues=first.execution_id, context=context)
    assert bench.fingerprint()["b.py"] == b"def same():\n    pass\n"


@pytest.mark.parametrize("written", [True, False])
async def test_a_follow_up_of_generated_lines_replaces_them_or_inserts_them(
    bench: Bench, written: bool
) -> None:
    bench.write("a.py", "x = 1\n")
    bench.server.answers("Write in python", "```python\ny = 2\n```", times=1)
    bench.front.answer = (lambda _request: Decision(True)) if written else only_review_declined
    first = await bench.run("generate", "y", context=bench.context("a.py"))
    assert first.ok is written
    bench.front.answer = lambda _request: Decision(True)
    bench.server.answers("call it z", "```python\nz = 2\n```")
    await bench.succeed("generate", "call it z", continues=first.execution_id)
    assert bench.fingerprint()["a.py"] == b"x = 1\nz = 2\n"


async def test_a_follow_up_of_a_text_that_belongs_to_no_file_presents_it_anew(bench: Bench) -> None:
    bench.server.answers("a constant", "```\nLIMIT = 3\n```", times=1)
    first = await bench.run("generate", "a constant")
    bench.server.answers("rather four", "```\nLIMIT = 4\n```")
    second = await bench.succeed("generate", "rather four", continues=first.execution_id)
    assert (second.response, second.files) == ("LIMIT = 4", [])
    assert bench.front.presented == ["LIMIT = 3", "LIMIT = 4"]
    assert "LIMIT = 3" in told(bench), "the conversation goes on"


async def worked(bench: Bench) -> WorkflowResult:
    plan_of_shop(bench)
    edit(bench, "shop/price.py", "def price(item):", "def cost(item):")
    edit(bench, "shop/cart.py", "price(i) for", "cost(i) for")
    edit(bench, "shop/cart.py", "import price", "import cost")
    hand_in(bench)
    return await bench.run("multi_file", "rename it")


@pytest.mark.slow
@WITH_TOOLS
async def test_a_follow_up_of_several_files_goes_on_with_what_was_written(bench: Bench) -> None:
    first = await worked(bench)
    assert first.ok, (first.error, bench.server.unmatched)
    asked = len(bench.front.requests)
    edit(bench, "shop/price.py", "def cost(item):", "def cost(item, rate):", on="take the rate")
    hand_in(bench, on="take the rate")
    await bench.succeed("multi_file", "take the rate, too", continues=first.execution_id)
    assert bench.fingerprint()["shop/price.py"] == b"def cost(item, rate):\n    return item.net * 1.2\n"
    assert "these files were written: shop/price.py, shop/cart.py" in told(bench)
    assert [request.kind for request in bench.front.requests[asked:]] == ["review"], "no second plan"


@pytest.mark.slow
@WITH_TOOLS
async def test_declined_edits_are_staged_again_for_the_follow_up(bench: Bench) -> None:
    bench.front.answer = only_review_declined
    first = await worked(bench)
    assert first.cancelled
    assert bench.fingerprint() == {name: text.encode() for name, text in SHOP.items()}
    bench.front.answer = lambda _request: Decision(True)
    edit(bench, "shop/price.py", "def cost(item):", "def price_of(item):", on="other name")
    hand_in(bench, on="other name")
    await bench.succeed("multi_file", "another, other name", continues=first.execution_id)
    assert bench.fingerprint()["shop/price.py"].startswith(b"def price_of(item):")
    assert b"cost(i) for" in bench.fingerprint()["shop/cart.py"], "what was staged then is written now"


@pytest.mark.slow
@WITH_TOOLS
async def test_declined_edits_of_a_file_that_changed_since_are_not_staged_again(bench: Bench) -> None:
    bench.front.answer = only_review_declined
    first = await worked(bench)
    bench.front.answer = lambda _request: Decision(True)
    mine = "from shop.price import price  # mine\n"
    bench.write("shop/cart.py", mine)
    hand_in(bench, on="only the price")
    await bench.succeed("multi_file", "only the price", continues=first.execution_id)
    assert bench.fingerprint()["shop/price.py"].startswith(b"def cost(item):")
    assert bench.fingerprint()["shop/cart.py"].decode() == mine


@pytest.mark.slow
@WITH_TOOLS
@pytest.mark.parametrize("taken", [True, False])
async def test_a_declined_move_is_staged_again_where_its_new_name_is_free(bench: Bench, taken: bool) -> None:
    bench.write("old.py", "X = 1\n")
    files = [{"action": "move", "path": "old.py", "move_to": "new.py", "why": "a better name"}]
    bench.server.calls("Which files have to", "submit_plan", {"files": files}, times=1)
    move = {"path": "old.py", "to": "new.py"}
    bench.server.calls(EXECUTE, "move_file", move, times=1)
    hand_in(bench)
    bench.front.answer = only_review_declined
    first = await bench.run("multi_file", "rename it")
    assert first.cancelled, (first.error, bench.server.unmatched)
    bench.front.answer = lambda _request: Decision(True)
    if taken:
        bench.write("new.py", "MINE = 1\n")
    hand_in(bench, on="as before")
    await bench.succeed("multi_file", "as before", continues=first.execution_id)
    expected = {"new.py": b"MINE = 1\n", "old.py": b"X = 1\n"} if taken else {"new.py": b"X = 1\n"}
    assert bench.fingerprint() == expected


@pytest.mark.slow
async def test_a_model_without_tools_plans_again_with_what_was_asked_for_before(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    plan = {"files": [{"action": "modify", "path": "a.py", "why": "the name"}]}
    bench.server.answers("Which files", json.dumps(plan), times=1)
    bench.server.answers("in one fenced", "```python\ny = 1\n```", times=1)
    bench.server.answers("complete new text of the file", "```python\ny = 1\n```", times=1)
    first = await bench.succeed("multi_file", "rename x to y")
    bench.server.answers("rather z", "```python\nz = 1\n```")
    bench.server.answers("rather z\n\nWhich files", json.dumps(plan))
    await bench.succeed("multi_file", "rather z", continues=first.execution_id)
    assert bench.fingerprint()["a.py"] == b"z = 1\n"
    assert "rename x to y" in last(bench)
    sent = [one["messages"] for one in bench.server.requests]
    planning = [messages for messages in sent if "rather z\n\nWhich" in messages[-1]["content"]]
    (before,) = [one["content"] for one in planning[0] if one["role"] == "assistant"]
    assert json.loads(before) == plan, "it was told the plan that it made before"


@pytest.mark.slow
@WITH_TOOLS
async def test_a_question_about_a_refactoring_becomes_several_files(bench: Bench) -> None:
    first = await refactored(bench)
    bench.server.answers("who calls it", "a.py:8 does.", times=1)
    question = await bench.run("ask", "who calls it?", continues=first.execution_id)
    assert question.response == "a.py:8 does.", question.error
    files = [{"action": "modify", "path": "a.py", "why": "the caller"}]
    bench.server.calls("Which files have to", "submit_plan", {"files": files}, times=1)
    edit(bench, "a.py", "print(area(2))", "print(size(2))")
    hand_in(bench)
    await bench.succeed("multi_file", "change them", continues=question.execution_id)
    assert b"print(size(2))" in bench.fingerprint()["a.py"]
    assert "It squares." in told(bench)


@WITH_TOOLS
async def test_another_model_is_given_texts_of_the_conversation(bench: Bench) -> None:
    from tideate_core.adapters import AdapterPool
    from tideate_core.engine.context.memory import CONVERSATION, RUN

    bench.server.answers("hello", "hi")
    first = await bench.run("ask", "hello")
    reader = await bench.reader()
    (kept,) = reader.memos_of(first.execution_id, RUN, CONVERSATION).values()
    made_by = kept["messages"][-1]["turn"]["made_by"]
    assert made_by == f"fake:scripted {bench.server.base_url}"

    other = bench.config.adapters["fake"].model_copy(update={"model": "another"})
    adapters = {**bench.config.adapters, "other": other}
    bench.config = bench.config.model_copy(update={"adapters": adapters})
    await bench.pool.aclose()
    bench.pool = AdapterPool(bench.config)
    bench.runner = bench.make_runner(bench.config)
    bench.server.answers("more", "yes")
    await bench.succeed("ask", "more", continues=first.execution_id, adapter="other")
    assert [one["content"] for one in bench.server.requests[-1]["messages"]][2] == "hi"


@pytest.mark.slow
@WITH_TOOLS
async def test_a_follow_up_that_was_left_goes_on_with_the_same_edits(bench: Bench) -> None:
    bench.front.answer = only_review_declined
    first = await worked(bench)
    bench.front.answer = lambda _request: Decision(True)
    edit(bench, "shop/price.py", "def cost(item):", "def price_of(item):", on="other name")
    hand_in(bench, on="other name")
    reviews = len(bench.front.requests)
    bench.front.hold = True
    task = bench.begin("multi_file", "another, other name", continues=first.execution_id)
    await bench.front.until(lambda: len(bench.front.requests) > reviews)
    (run,) = bench.runner.leave()
    assert (await task).reason == "interrupted"
    asked = len(bench.server.requests)
    bench.front.hold = False
    done = await bench.resume(run)
    assert done.ok, (done.error, bench.server.unmatched)
    assert len(bench.server.requests) == asked, "no turn was asked for again"
    assert bench.fingerprint()["shop/price.py"].startswith(b"def price_of(item):")
    assert b"cost(i) for" in bench.fingerprint()["shop/cart.py"]
