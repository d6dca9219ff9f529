"""The work loop: turns and calls until the model submits, limits, and no repetition after a crash."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from pydantic import BaseModel

from tests.agents.loop_step import Killed, LoopStep, Memory, said, tool, turn
from tideate_core.adapters import Conversation, ModelTurn, OfferedTool, Prompt, ToolResult, UserMessage
from tideate_core.agents.loop import WRITTEN as WRITTEN_AS_TEXT, LoopResult, Submission, WorkLoop
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.errors import BudgetReached, ContextTooLong, CostLimitReached, InvalidReply
from tideate_core.workspace import FileChange


class Answer(BaseModel):
    number: int


def accepting(*reasons: str) -> Submission[Answer]:
    left = list(reasons)

    async def accept(_value: Answer) -> str:
        return left.pop(0) if left else ""

    return Submission(Answer, "Hand in a number.", accept)


async def echo(arguments: dict[str, Any], _key: str) -> str:
    return str(arguments.get("text"))


async def work(step: LoopStep, **rest: Any) -> LoopResult[Any]:
    tools = rest.pop("tools", [tool("echo", echo)])
    loop: WorkLoop[Any] = WorkLoop(step, "one", tools, **rest)  # type: ignore[arg-type]
    return await loop.run(Prompt("do it", system="be good"))


def counting() -> tuple[list[str], OfferedTool]:
    """Return a tool `count`, and the keys of its calls."""
    made: list[str] = []

    async def count(_arguments: dict[str, Any], key: str) -> str:
        made.append(key)
        return "ok"

    return made, tool("count", count)


def echoes(count: int, more: str = "") -> list[ModelTurn]:
    return [turn(str(at), ("echo", {"text": f"{at}{more}"})) for at in range(count)]


async def test_a_model_calls_tools_until_it_answers() -> None:
    step = LoopStep([turn("look", ("echo", {"text": "a"}), ("echo", {"text": "b"})), turn("done")])
    done = await work(step)
    assert (done.text, done.turns, done.calls, done.exhausted) == ("done", 2, 2, "")
    assert (done.usage.input_tokens, done.usage.output_tokens) == (20, 2) if done.usage else False
    assert step.asked[-1].system == "be good"
    assert said(step.asked[-1]) == ["user: do it", "model: look['echo', 'echo']", "echo: a", "echo: b"]


async def test_a_submission_that_will_not_do_is_given_back() -> None:
    bad, small, good = ({"number": "x"}, {"number": 1}, {"number": 2})
    step = LoopStep([turn("a", ("submit", bad)), turn("b", ("submit", small)), turn("c", ("submit", good))])
    done = await work(step, submission=accepting("too small"))
    assert done.value == Answer(number=2)
    results = [line for line in said(step.asked[-1]) if line.startswith("submit")]
    assert "number: input should be a valid integer" in results[0]
    assert results[1] == "submit: error: not accepted: too small"


async def test_a_submission_is_taken_in_the_end_with_what_is_wrong() -> None:
    again = [turn(str(at), ("submit", {"number": at})) for at in range(10)]
    done = await work(LoopStep(again), submission=accepting(*["no"] * 9))
    assert (done.value, done.refused, done.turns) == (Answer(number=3), "no", 4)


async def test_a_model_that_only_talks_is_told_to_submit_and_ends_after_that() -> None:
    step = LoopStep([turn("well"), turn("so"), turn("hm"), turn("never asked")])
    done = await work(step, submission=accepting())
    assert (done.value, done.text, done.turns) == (None, "hm", 3)
    assert "call submit if the work is done" in said(step.asked[-1])[-1]


WRITTEN = [
    '<tool_call>\n{"name": "echo", "arguments": {"text": "a"}}\n</tool_call>',
    "I look.\n\n<function=echo>\n<parameter=text>\na\n</parameter>\n</function>",
    '<function_calls>\n<invoke name="echo">\n<parameter name="text">a</parameter>\n</invoke>',
    "<tool_call>echo\n<arg_key>text</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    '[TOOL_CALLS][{"name": "echo", "arguments": {"text": "a"}}]',
    '[TOOL_CALLS]echo{"text": "a"}',
    '<|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{"text": "a"}',
    '{"name": "echo", "arguments": {"text": "a"}}',
    '```json\n{\n  "name": "echo",\n  "arguments": {"text": "a"}\n}\n```',
]


@pytest.mark.parametrize("text", WRITTEN)
async def test_a_call_that_is_written_as_text_is_told_and_not_made(text: str) -> None:
    step = LoopStep([turn(text)])
    done = await work(step)
    assert (done.text, done.calls) == (text, 0)
    assert step.notices == ["the model wrote a call of the tool 'echo' as text, so it was not executed"]


async def test_a_model_that_writes_calls_as_text_is_told_so() -> None:
    step = LoopStep([turn(WRITTEN[0]), turn(WRITTEN[1]), turn("", ("submit", {"number": 1}))])
    done = await work(step, submission=accepting())
    assert done.value == Answer(number=1)
    assert said(step.asked[-1])[-1] == f"user: {WRITTEN_AS_TEXT.format(name='echo')}"
    assert len(step.notices) == 1


@pytest.mark.parametrize(
    "text", ["It calls <tool_call>.", '{"name": "echo", "age": 3}', "<function=other>", "echo(text)"]
)
async def test_a_text_without_a_call_of_a_tool_is_an_answer(text: str) -> None:
    step = LoopStep([turn(text)])
    assert (await work(step)).text == text
    assert step.notices == []


@pytest.mark.parametrize(
    ("first", "told"),
    [(turn("half a sent", truncated=True), "cut off"), (turn(reasoning="hm"), "thoughts only")],
)
async def test_a_turn_that_is_not_whole_is_no_answer(first: ModelTurn, told: str) -> None:
    step = LoopStep([first, turn("whole")])
    done = await work(step)
    assert (done.text, done.turns) == ("whole", 2)
    assert told in said(step.asked[-1])[-1]


async def test_a_model_that_goes_on_with_thoughts_only_ends_without_an_answer() -> None:
    done = await work(LoopStep([turn("", reasoning=str(at)) for at in range(9)]))
    assert (done.text, done.turns) == ("", 3)


async def test_a_model_that_makes_one_call_again_and_again_is_told_and_has_a_last_turn() -> None:
    step = LoopStep([turn("", ("echo", {"text": "a"})) for _ in range(60)])
    done = await work(step, submission=accepting())
    assert (done.value, done.turns) == (None, 11)
    assert done.exhausted == "equal calls in a row (10: echo)"
    told = [line for line in said(step.asked[-1]) if line.startswith("user: ")]
    assert "made the same call 5 times" in told[1]
    assert "call submit with what you have" in told[-1]


async def test_a_call_that_has_another_result_each_time_is_no_repetition() -> None:
    count = iter(range(100))

    async def poll(_arguments: dict[str, Any], _key: str) -> str:
        return str(next(count))

    step = LoopStep([*(turn("", ("poll", {})) for _ in range(20)), turn("done")])
    assert (await work(step, tools=[tool("poll", poll)])).turns == 21


async def test_an_answer_that_is_too_long_leaves_what_is_staged() -> None:
    too_long = InvalidReply("the model's answer has more than 9 characters", "characters of one answer (9)")
    staged = StagedFiles()
    staged.stage([FileChange("a.py", "create", None, "x = 1\n")])
    step = LoopStep([too_long])
    done = await work(step, submission=accepting(), staged=staged)
    assert (done.value, done.exhausted) == (None, "characters of one answer (9)")
    assert step.notices == ["the model's answer has more than 9 characters"]
    with pytest.raises(InvalidReply, match="more than 9 characters"):
        await work(LoopStep([too_long]), submission=accepting())
    with pytest.raises(InvalidReply, match="empty"):
        await work(LoopStep([InvalidReply("empty")]), submission=accepting(), staged=staged)


async def test_calls_that_cannot_be_made_are_told_to_the_model() -> None:
    step = LoopStep([turn("a", ("ehco", {}), ("echo", None)), turn("done")])
    await work(step)
    wrong, unreadable = said(step.asked[-1])[-2:]
    assert "there is no tool 'ehco'; did you mean echo?" in wrong
    assert "no JSON object" in unreadable


async def test_calls_that_only_read_run_side_by_side_and_others_in_their_order() -> None:
    order: list[str] = []
    both = asyncio.Barrier(2)

    async def read(arguments: dict[str, Any], _key: str) -> str:
        await asyncio.wait_for(both.wait(), 60)
        return str(arguments["text"])

    async def write(arguments: dict[str, Any], _key: str) -> str:
        order.append(arguments["text"])
        return "written"

    calls = [
        ("read", {"text": "1"}),
        ("read", {"text": "2"}),
        ("write", {"text": "3"}),
        ("write", {"text": "4"}),
    ]
    step = LoopStep([turn("a", *calls), turn("done")])
    await work(step, tools=[tool("read", read, parallel=True), tool("write", write)])
    assert said(step.asked[-1])[2:] == ["read: 1", "read: 2", "write: written", "write: written"]
    assert order == ["3", "4"]


async def test_what_goes_wrong_beside_others_is_raised_as_it_is() -> None:
    async def fail(_arguments: dict[str, Any], _key: str) -> str:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        await work(LoopStep([turn("a", ("read", {}))]), tools=[tool("read", fail, parallel=True)])


async def test_a_limit_of_turns_ends_with_what_there_is() -> None:
    step = LoopStep(echoes(9), turns=4)
    done = await work(step, submission=accepting())
    assert (done.exhausted, done.turns, done.value) == ("limits.turns (4)", 5, None)
    assert step.offered[-1] == ["submit"]
    assert "This is your last turn: call submit" in said(step.asked[-1])[-1]
    assert any("Left: 3 turns" in line for line in said(step.asked[-1]))


async def test_what_is_submitted_in_the_last_turn_counts() -> None:
    turns = echoes(4)
    step = LoopStep([*turns, turn("end", ("submit", {"number": 7}))], turns=4)
    done = await work(step, submission=accepting("not good"))
    assert (done.value, done.refused, done.exhausted) == (Answer(number=7), "not good", "")


async def test_all_loops_of_a_step_draw_on_one_budget_and_the_next_does_not_begin_without_one() -> None:
    step = LoopStep(echoes(9), turns=4)
    assert (await work(step, submission=accepting())).turns == 5
    with pytest.raises(BudgetReached, match=r"\(4\) is reached: the step 'work' has used it up"):
        await work(step)
    assert len(step.asked) == 5
    done = await work(step, submission=accepting(), corrects=True)
    assert (done.turns, step.offered[-1]) == (1, ["submit"]), "a correction has its last turn"


async def test_a_loop_killed_where_its_budget_ends_has_no_other_end_and_is_told_nothing_twice() -> None:
    def process(memory: Memory, dies_at: int) -> LoopStep:
        turns = echoes(7)
        return LoopStep([*turns, turn("end", ("submit", {"number": 7}))], memory, dies_at=dies_at, turns=7)

    whole: Memory = {}
    step = process(whole, 0)
    wanted = await work(step, submission=accepting())
    assert (wanted.value, wanted.turns) == (Answer(number=7), 8)
    for dies_at in range(1, len(whole) + 1):
        memory: Memory = {}
        with pytest.raises(Killed):
            await work(process(memory, dies_at), submission=accepting())
        again = process(memory, 0)
        done = await work(again, submission=accepting())
        assert (done.value, done.turns, memory) == (wanted.value, wanted.turns, whole)
        if again.asked:
            assert said(again.asked[-1]) == said(step.asked[-1])


async def test_what_the_run_has_left_is_told_as_the_runs() -> None:
    step = LoopStep(echoes(9), run_turns=4)
    done = await work(step)
    assert done.exhausted == "limits.run_turns (4)"
    assert any("Left: 3 turns of the whole run" in line for line in said(step.asked[-1]))


async def test_no_more_calls_are_made_than_are_allowed() -> None:
    made, count = counting()
    step = LoopStep(
        [turn("a", *[("count", {})] * 3), turn("b", *[("count", {})] * 3), turn("c")], tool_calls=4
    )
    done = await work(step, tools=[count])
    assert len(made) == 3
    assert done.exhausted == "limits.tool_calls (4)"


async def test_a_limit_of_tokens_is_one_of_what_was_read_and_written() -> None:
    step = LoopStep(echoes(400), tokens=1000, turns=1000)
    assert (await work(step)).exhausted == "limits.tokens (1000)"
    assert len(step.asked) == 92, "11 tokens each, and the last turn"


async def test_what_the_person_says_comes_before_the_next_turn() -> None:
    step = LoopStep([turn("a", ("say", {})), turn("b", ("say", {})), turn("c")])

    async def say(_arguments: dict[str, Any], _key: str) -> str:
        step.messages.append(f"word {len(step.asked)}")
        return "ok"

    await work(step, tools=[tool("say", say)])
    told = [line for line in said(step.asked[-1]) if line.startswith("user: word")]
    assert told == ["user: word 1", "user: word 2"]


async def test_a_full_window_leaves_old_results_out_and_shows_them_again() -> None:
    turns = echoes(5, " " + "x" * 2_000)
    again = turn("again", ("read_result", {"call": 1}), ("read_result", {"call": 99}))
    step = LoopStep([*turns, again, turn("done")], context_tokens=2_500)
    await work(step)
    before_again = said(step.asked[-2])
    assert any("the result of call 1, echo, was left out" in line for line in before_again)
    assert any(line.startswith("echo: 4 xxx") for line in before_again), "the last one is never left out"
    assert "read_result" not in step.offered[0]
    assert "read_result" in step.offered[-1]
    shown, unknown = said(step.asked[-1])[-2:]
    assert shown.startswith("read_result: 0 xxx")
    assert "there is no call 99" in unknown
    assert any("context is nearly full" in notice for notice in step.notices)


async def test_results_of_calls_with_one_id_are_told_apart_when_room_is_made() -> None:
    same = [turn("", ("echo", {"text": f"{at} " + "x" * 2_000})) for at in range(5)]
    step = LoopStep([*same, turn("done")], context_tokens=2_500)
    await work(step)
    seen = [conversation.messages[-1] for conversation in step.asked[1:]]
    assert [getattr(last, "text", "")[:5] for last in seen] == [f"{at} xxx" for at in range(5)]
    assert any("the result of call 1, echo, was left out" in line for line in said(step.asked[-1]))


async def test_nothing_is_left_out_where_nobody_knows_the_window_until_it_is_refused() -> None:
    turns = echoes(5, " " + "x" * 2_000)
    step = LoopStep([*turns, turn("done")])
    await work(step)
    assert "was left out" not in str(said(step.asked[-1]))
    assert step.notices == []
    step = LoopStep([*turns[:4], ContextTooLong("too long"), turns[4], turn("done")])
    await work(step)
    assert len(step.asked) == 7, "what it says then is known to be too much: no more is sent to be refused"
    assert "echo: 0 xxx" not in str(said(step.asked[-1]))


async def test_a_provider_that_refuses_the_length_is_asked_once_more_with_less() -> None:
    long = turn("a", ("echo", {"text": "x" * 5_000}), ("echo", {"text": "y" * 5_000}))
    step = LoopStep([long, ContextTooLong("too long"), turn("done")])
    assert (await work(step)).text == "done"
    assert any("was left out" in line for line in said(step.asked[-1]))
    with pytest.raises(ContextTooLong):
        await work(LoopStep([ContextTooLong("too long")]))


# -- over a crash ---------------------------------------------------------------------------------

EDITS = 20


def edits() -> list[ModelTurn]:
    """Return the turns of a long conversation that stages edits of several files."""
    turns = []
    for at in range(EDITS):
        turns.append(turn(f"look {at}", ("echo", {"text": f"{at}"})))
        turns.append(turn(f"edit {at}", ("write", {"path": f"{at % 3}.txt", "text": f"text {at}"})))
    return [*turns, turn("end", ("submit", {"number": EDITS}))]


async def edit_all(
    memory: Memory, dies_at: int
) -> tuple[LoopResult[Any] | None, list[FileChange], list[str]]:
    """Run the loop to its end or until the process is killed; return result, staged changes and calls."""
    staged, made = StagedFiles(), list[str]()

    async def write(arguments: dict[str, Any], key: str) -> str:
        made.append(key)
        path = arguments["path"]
        before = staged.text(path) if staged.knows(path) else None
        staged.stage([FileChange(path, "modify" if before else "create", before, arguments["text"])])
        return f"wrote {path}"

    async def look(arguments: dict[str, Any], key: str) -> str:
        made.append(key)
        return str(arguments["text"])

    step = LoopStep(edits(), memory, dies_at=dies_at)
    step.messages = [] if any(":said" in key for key in memory) else ["go on"]
    tools = [tool("echo", look, parallel=True), tool("write", write)]
    try:
        done = await work(step, tools=tools, staged=staged, submission=accepting())
    except Killed:
        return None, [], made
    return done, staged.changes(), made


async def test_a_loop_killed_at_every_write_ends_with_the_same_edits_and_no_call_twice() -> None:
    whole: Memory = {}
    done, wanted, _ = await edit_all(whole, 0)
    assert done is not None
    assert (done.turns, len(wanted)) == (2 * EDITS + 1, 3)
    memory: Memory = {}
    made: list[str] = []
    ends = 0
    while True:
        done, changes, calls = await edit_all(memory, 2)  # each process gets one write further
        made += calls
        ends += 1
        if done is not None:
            break
    assert ends > 2 * EDITS
    assert changes == wanted
    assert memory == whole
    recorded = {key for key in memory if ":call:" in key}
    assert {key for key in made if made.count(key) > 2} == set(), (
        "only the call that was cut off is made again"
    )
    assert recorded == {key for key in made if ":call:" in key}


async def test_calls_taken_up_from_another_step_are_made_once_even_if_killed_at_every_write() -> None:
    plan = turn("p", ("plan", {}), ("count", {}), ("count", {}), ("submit", {"number": 1}))
    earlier = Conversation("be good", (UserMessage("do it"), plan))
    memory: Memory = {}
    made, count = counting()
    done: LoopResult[Any] | None = None
    while done is None:
        step = LoopStep([turn("", ("submit", {"number": 2}))], memory, dies_at=2)
        loop: WorkLoop[Any] = WorkLoop(step, "one", [count], submission=accepting("no"))  # type: ignore[arg-type]
        with contextlib.suppress(Killed):
            done = await loop.run(Prompt("agreed"), earlier, plan.calls)
    assert (done.value, done.calls, done.turns) == (Answer(number=2), 4, 1)
    assert [key[-1] for key in made] == [*"1122"], "only a call that was killed is made again"
    assert said(loop.conversation)[2:] == [
        *("plan: agreed", "count: ok", "count: ok", "submit: error: not accepted: no"),
        *("model: ['submit']", "submit: accepted"),
    ]


@pytest.mark.parametrize("rested", [True, False])
async def test_superseded_results_are_left_out_only_if_the_cache_is_lost(rested: bool) -> None:
    long, messages = "line\n" * 400, list[Any]()
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("read_file", {"path": "a"}), ("run_check", {"check": "tests"}), ("read_file", {"path": "b"})),
        *(("run_check", {"check": "tests"}), ("read_file", {"path": "a"})),
        *(("run_check", {"check": "tests", "files": ["t"]}), ("read_file", {"path": "b", "gone": ""})),
    ]
    for at, (name, given) in enumerate(calls):
        made = turn(str(at), (name, given))
        messages += [made, ToolResult(made.calls[0], f"{'error:' if 'gone' in given else at} {long}")]
    loop: WorkLoop[Any] = WorkLoop(step := LoopStep([turn("done")]), "one", [])  # type: ignore[arg-type]
    await loop.run(Prompt("revise it"), Conversation("be good", messages), rested=rested)
    told = [line.partition(": ")[2] for line in said(step.asked[0]) if line.startswith(("read", "run"))]
    assert ["was left out" in one for one in told] == [rested, rested, *[False] * 5]
    assert said(loop.conversation)[1].startswith("read_file: 0 line"), "the conversation keeps all of it"


async def test_the_advice_of_a_refusal_is_for_the_model_only() -> None:
    async def accept(_value: Answer) -> str:
        return "too small"

    submission = Submission(Answer, "Hand in a number.", accept, advice="think again")
    step = LoopStep([turn(str(at), ("submit", {"number": at})) for at in range(9)])
    done = await work(step, submission=submission)
    assert done.refused == "too small"
    assert said(step.asked[1])[-1] == "submit: error: not accepted: too small; think again"


async def test_the_prompt_is_the_one_that_the_loop_began_with() -> None:
    memory: Memory = {}
    with pytest.raises(Killed):
        await work(LoopStep([turn("a", ("echo", {"text": "1"})), turn("done")], memory, dies_at=4))
    step = LoopStep([turn("a", ("echo", {"text": "1"})), turn("done")], memory)
    loop: WorkLoop[Any] = WorkLoop(step, "one", [tool("echo", echo)])  # type: ignore[arg-type]
    await loop.run(Prompt("another text", system="be bad"))
    assert step.asked[-1].system == "be good"
    assert step.asked[-1].messages[0] == UserMessage("do it")


async def test_a_text_in_place_of_a_submission_is_looked_at_as_one() -> None:
    step = LoopStep([turn('{"number": 1}'), turn(' {"number": 2}\n')])
    done = await work(step, submission=accepting("too small"))
    assert (done.value, done.refused) == (Answer(number=2), "")
    assert any("not accepted: too small" in line for line in said(step.asked[-1]))


async def test_nothing_is_called_once_the_work_is_handed_in() -> None:
    made, count = counting()
    step = LoopStep([turn("a", ("submit", {"number": 1}), ("count", {}))])
    done = await work(step, tools=[count], submission=accepting())
    assert (done.value, made) == (Answer(number=1), [])


async def test_a_result_that_was_left_out_can_be_read_again_after_a_crash() -> None:
    long = turn("a", ("echo", {"text": "x" * 5_000}))
    again = turn("b", ("read_result", {"call": 1}))
    memory: Memory = {}
    with pytest.raises(Killed):
        await work(LoopStep([long, ContextTooLong("too long"), again, turn("done")], memory, dies_at=6))
    step = LoopStep([long, again, turn("done")], memory)
    await work(step)
    assert said(step.asked[-1])[-1].startswith("read_result: xxx")


@pytest.mark.parametrize("dies_at", [6, 7, 8])
async def test_what_a_provider_refused_as_too_long_is_not_sent_again_after_a_crash(dies_at: int) -> None:
    long = turn("a", ("echo", {"text": "x" * 5_000}), ("echo", {"text": "y" * 5_000}))
    more = turn("b", ("echo", {"text": "z"}))
    whole: Memory = {}
    step = LoopStep([long, ContextTooLong("too long"), more, turn("done")], whole)
    await work(step)
    wanted = said(step.asked[-1])
    memory: Memory = {}
    with pytest.raises(Killed):
        await work(LoopStep([long, ContextTooLong("too long"), more, turn("done")], memory, dies_at=dies_at))
    step = LoopStep([long, more, turn("done")], memory)
    await work(step)
    sent = [line for conversation in step.asked for line in said(conversation)]
    assert any("was left out" in line for line in sent)
    assert "echo: " + "x" * 5_000 not in sent
    assert (said(step.asked[-1]), memory) == (wanted, whole)


async def test_a_limit_of_costs_ends_with_what_is_staged() -> None:
    staged = StagedFiles()

    async def write(_arguments: dict[str, Any], _key: str) -> str:
        staged.stage([FileChange("a.txt", "create", None, "a")])
        return "written"

    step = LoopStep([turn("a", ("write", {})), CostLimitReached("no more")])
    done = await work(step, tools=[tool("write", write)], staged=staged, submission=accepting())
    assert (done.exhausted, done.value) == ("limits.cost_usd", None)
    assert "no more" in step.notices
    with pytest.raises(CostLimitReached):
        await work(LoopStep([CostLimitReached("no more")]), staged=StagedFiles())
