"""Mentions in prompts: the material that they bring, once and remembered."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.bench import Bench, left_beside_the_conversation
from tests.harness.front import no
from tests.harness.model_rules import text_of
from tideate_core.config import Config
from tideate_core.engine import EventName
from tideate_core.workflows import BufferContext, Decision, RunContext
from tideate_core.workflows.parsing import WorkflowParser

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext

BETTER = "```python\nx = 2\n```"


def configure(bench: Bench, **mappings: Any) -> None:
    names = {f"@{name}": value for name, value in mappings.items()}
    bench.write(".tideate/context.json", json.dumps({"version": "1.0.0", "mappings": names}))


def notices(bench: Bench, level: str | None = None) -> list[str]:
    data = bench.front.data(EventName.NOTICE)
    return [one["message"] for one in data if level in (None, one["level"])]


def sent(bench: Bench) -> list[str]:
    return [text_of(body) for body in bench.server.requests]


def flow(bench: Bench, text: str, name: str = "flow", **handlers: Any) -> None:
    parsed = WorkflowParser().parse(text, format="yaml", name=name, path=None)
    bench.registry.register(parsed.require(), handlers)


async def test_what_a_prompt_mentions_stands_before_it_as_material(bench: Bench) -> None:
    bench.write("doc/guide.md", "Be brief.\n")
    configure(bench, Guide="doc/guide.md")
    bench.server.answers("", "fine")
    await bench.succeed("ask", "what does @Guide say?")
    user = bench.server.requests[0]["messages"][-1]["content"]
    assert "### @Guide (doc/guide.md)\n\n```markdown\nBe brief.\n```\n\n---\n\n" in user
    assert user.rstrip().endswith("what does @Guide say?")
    assert bench.front.notices() == ["given to the model: @Guide (doc/guide.md, ~3 tokens)"]


async def test_a_prompt_without_a_mention_is_sent_as_it_is_and_reads_nothing(bench: Bench) -> None:
    bench.write(".tideate/context.json", "{ broken")
    bench.server.answers("", "fine")
    await bench.succeed("ask", "what is it?")
    assert bench.server.requests[0]["messages"][-1]["content"].strip() == "what is it?"
    assert bench.front.notices() == []


async def test_an_unknown_word_stays_text_and_the_nearest_is_named(bench: Bench) -> None:
    bench.write("doc/guide.md", "Be brief.\n")
    configure(bench, Guide="doc/guide.md")
    bench.server.answers("", "fine")
    await bench.succeed("ask", "what does @Giude say, @Guide?")
    assert "no mention is called @Giude; did you mean '@Guide'?; it stays a word of the prompt" in notices(
        bench
    )
    assert "what does @Giude say" in sent(bench)[0]
    assert "Be brief." in sent(bench)[0]


async def test_a_malformed_file_is_told_and_the_rest_goes_on(bench: Bench) -> None:
    bench.write(".tideate/context.json", '{"mappings": 1}')
    bench.write("a.txt", "from a")
    bench.server.answers("", "fine")
    await bench.succeed("ask", "see @Guide, @Other and @file:a.txt")
    assert "from a" in sent(bench)[0]
    assert [one for one in notices(bench, "warn") if ".tideate/context.json:1:2" in one] == notices(
        bench, "warn"
    )
    assert len(notices(bench, "warn")) == 1


@pytest.mark.parametrize(
    ("mention", "words"),
    [
        ("@file:../x", "outside the project"),
        ("@file:bin", "is binary"),
        ("@file:gone.py", "does not exist"),
        ("@selection", "nothing is selected"),
        ("@diagnostics", "only an editor"),
    ],
)
async def test_what_cannot_be_resolved_fails_no_run(bench: Bench, mention: str, words: str) -> None:
    bench.write("bin", "\0")
    bench.write("a.py", "x = 1\n")
    bench.server.answers("", "fine")
    await bench.succeed("ask", f"see {mention}", context=bench.context("a.py"))
    assert words in "".join(bench.front.notices())
    assert "Material" not in sent(bench)[0]


async def test_buffer_selection_and_diagnostics_are_the_runs(bench: Bench) -> None:
    bench.write("a.py", "x = 1\ny = 2\n")
    context = bench.context("a.py", 2, 2).model_dump()
    found = [{"line": 2, "column": 1, "severity": "error", "message": "bad y", "source": "lint"}]
    bench.server.answers("", "fine")
    given = RunContext.model_validate({**context, "diagnostics": found})
    await bench.succeed("ask", "@buffer @selection @diagnostics", context=given)
    (text,) = sent(bench)
    assert "### @buffer (a.py)\n\n```python\nx = 1\ny = 2\n```" in text
    assert "### @selection (a.py, lines 2-2)\n\n```python\ny = 2\n```" in text
    assert "2:1: error: bad y [lint]" in text


# -- every workflow ---------------------------------------------------------------------------------


async def test_all_steps_of_a_run_have_the_same_material(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    rule = bench.write("rule.md", "old rule")
    bench.server.answers("what must not change", "analysis")
    bench.server.answers("in one fenced block", BETTER)

    def change(request: Any) -> Decision:
        rule.write_text("new rule")
        return Decision(True)

    bench.front.answer = change
    await bench.succeed("refactor", "follow @file:rule.md", context=bench.context("a.py", 1, 1))
    assert ["old rule" in text for text in sent(bench)] == [True, True]
    assert len(bench.front.notices()) == 1


async def test_generate_summarize_and_multi_file_have_it_too(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    bench.write("rule.md", "the rule")
    bench.server.answers("Write in python", BETTER)
    bench.server.answers("Which files have", {"files": [{"action": "modify", "path": "a.py", "why": "it"}]})
    bench.server.answers("Change a.py", BETTER)
    bench.server.answers("follow @file:rule.md closely", "short")
    for name in ("generate", "summarize", "multi_file"):
        prompt = "follow @file:rule.md" + (" closely" if name == "summarize" else "")
        context = bench.context("a.py").model_copy(
            update={"buffer": BufferContext(path=str(bench.root / "a.py"), text="x = 1", filetype="python")}
        )
        await bench.succeed(name, prompt, context=context, memory=False)
    assert len(sent(bench)) == 4
    assert all("### @file:rule.md (rule.md)\n\n```markdown\nthe rule\n```" in text for text in sent(bench))


async def test_a_machines_states_have_it_too(bench: Bench) -> None:
    bench.write("rule.md", "the rule")
    bench.machine("* to work:\n  Do it\n\nwork to *\n")
    bench.server.answers("", "done")
    await bench.succeed("walk", "follow @file:rule.md")
    assert "the rule" in sent(bench)[0]


async def test_a_task_is_resolved_when_its_step_begins(bench: Bench) -> None:
    path = bench.write("state.txt", "before")

    async def changes(_step: StepContext) -> None:
        path.write_text("after")

    flow(
        bench,
        "steps:\n"
        "  - {id: first, task: 'look at @file:state.txt first'}\n"
        "  - {id: change, dependencies: [first]}\n"
        "  - {id: second, task: 'look at @file:state.txt again', dependencies: [change]}\n",
        change=changes,
    )
    bench.server.answers("", "seen")
    await bench.succeed("flow")
    first, second = sent(bench)
    assert ("before" in first, "after" in second) == (True, True)


# -- who may mention --------------------------------------------------------------------------------


async def test_what_a_model_says_mentions_nothing(bench: Bench) -> None:
    bench.write("private.md", "not for you")
    flow(
        bench,
        "steps:\n"
        "  - {id: one, task: 'say something'}\n"
        "  - {id: two, task: 'go on: {{ steps.one.result }}', dependencies: [one]}\n"
        "  - id: three\n    dependencies: [two]\n"
        "    workflow:\n"
        "      {name: inner, prompt: '{{ steps.one.result }}', inputs: {q: '{{ steps.one.result }}'}}\n",
    )
    flow(
        bench,
        "inputs: {q: {type: string}}\nsteps:\n  - {id: in, task: 'inside {{ prompt }} {{ inputs.q }}'}\n",
        "inner",
    )
    bench.server.answers("say something", "look at @file:private.md")
    bench.server.answers("go on", "ok")
    bench.server.answers("inside", "ok")
    await bench.succeed("flow")
    assert len(sent(bench)) == 3
    assert not any("not for you" in text for text in sent(bench))


async def test_what_people_wrote_counts_in_runs_within_the_run(bench: Bench) -> None:
    bench.write("rule.md", "the rule")
    bench.write("other.md", "the other")
    flow(bench, "steps:\n  - {id: in, workflow: {name: inner, prompt: '{{ prompt }} and @file:other.md'}}\n")
    flow(bench, "steps:\n  - {id: look, task: '{{ prompt }}'}\n", "inner")
    bench.server.answers("", "ok")
    await bench.succeed("flow", "follow @file:rule.md")
    (text,) = sent(bench)
    assert ("the rule" in text, "the other" in text) == (True, True)


async def test_a_path_that_a_task_fills_in_is_read(bench: Bench) -> None:
    for name in "ab":
        bench.write(f"{name}.txt", f"content of {name}")
    flow(
        bench,
        "inputs: {names: {type: array}}\n"
        "steps:\n  - {id: look, for_each: inputs.names, task: 'look at @file:{{ item }}'}\n",
    )
    bench.server.answers("", "seen")
    await bench.succeed("flow", inputs={"names": ["a.txt", "b.txt"]})
    assert sorted("content of a" in text for text in sent(bench)) == [False, True]
    assert sorted("content of b" in text for text in sent(bench)) == [False, True]


# -- secrets ----------------------------------------------------------------------------------------


async def test_a_secret_is_given_after_a_persons_yes_and_kept_in_the_conversation_only(
    bench: Bench,
) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    bench.server.answers("", "fine")
    await bench.succeed("ask", "what is in @file:.env ?")
    (question,) = bench.front.requests
    assert question.message == "Give @file:.env to the model? .env is a file that usually holds secrets."
    assert "hunter2" not in question.details
    assert "hunter2" in sent(bench)[0]
    told = await left_beside_the_conversation(bench)
    assert "given to the model" in told
    assert "hunter2" not in told


async def test_after_a_no_the_run_goes_on_without_it(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    bench.write("a.txt", "from a")
    bench.server.answers("", "fine")
    bench.front.answer = no
    await bench.succeed("ask", "what is in @file:.env and @file:a.txt ?")
    assert ("hunter2" in sent(bench)[0], "from a" in sent(bench)[0]) == (False, True)
    assert "@file:.env was left out" in "".join(notices(bench, "warn"))


async def test_a_policys_yes_is_none(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    bench.server.answers("", "fine")
    bench.front.answer = lambda _request: Decision(True, by="policy")
    await bench.succeed("ask", "what is in @file:.env ?")
    assert "hunter2" not in sent(bench)[0]


# -- budget -----------------------------------------------------------------------------------------


async def test_material_is_cut_to_the_budget_and_that_is_said(bench: Bench) -> None:
    bench.write("long.txt", "a line of text\n" * 1000)
    bench.config = Config.model_validate({**bench.config.model_dump(), "limits": {"mention_tokens": 100}})
    bench.runner = bench.make_runner(bench.config)
    bench.server.answers("", "fine")
    await bench.succeed("ask", "sum up @file:long.txt")
    assert sent(bench)[0].count("a line of text") == 26
    assert "only the first 26 of 1000 lines fit the budget" in sent(bench)[0]
    assert "only the first 26 of 1000 lines fit the budget" in "".join(notices(bench, "warn"))


async def test_a_small_model_gets_a_quarter_of_what_it_reads(bench: Bench) -> None:
    bench.write("long.txt", "a line of text\n" * 1000)
    adapter = {**bench.config.adapters["fake"].model_dump(), "context_tokens": 1024}
    bench.config = Config.model_validate({"adapter": "fake", "adapters": {"fake": adapter}})
    bench.pool._config = bench.config
    bench.runner = bench.make_runner(bench.config)
    bench.server.answers("", "fine")
    await bench.succeed("ask", "sum up @file:long.txt")
    assert sent(bench)[0].count("a line of text") == 256 * 4 // 15


# -- after a crash ----------------------------------------------------------------------------------


async def test_a_resumed_run_has_the_material_that_it_began_with(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    rule = bench.write("rule.md", "old rule")
    secret = bench.write(".env", "PASSWORD=hunter2\n")
    bench.server.answers("what must not change", "analysis")
    bench.server.answers("in one fenced block", BETTER)
    bench.front.answer = lambda request: Decision(True)
    prompt = "follow @file:rule.md and @file:.env"
    task = bench.begin("refactor", prompt, context=bench.context("a.py", 1, 1))
    await bench.front.until(lambda: len(sent(bench)) == 1)
    bench.front.hold = True
    await bench.front.until_asked(2)
    assert bench.runner.leave()
    left = await task
    assert left.reason == "interrupted"
    rule.write_text("new rule")
    assert secret.exists()
    bench.front.hold = False
    bench.front.requests.clear()
    bench.front.events.clear()
    bench.runner = bench.make_runner(bench.config)
    result = await bench.resume(left.execution_id)
    assert result.ok, result.error
    # the analysis was not asked for again, so its prompt was the same to the letter
    assert len(sent(bench)) == 2
    assert ("old rule" in sent(bench)[1], "new rule" in sent(bench)[1], "hunter2" in sent(bench)[1]) == (
        True,
        False,
        True,
    )
    assert not any("to the model" in request.message for request in bench.front.requests)
    assert bench.front.notices() == []


async def test_a_secret_that_is_gone_after_a_crash_is_left_out(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    secret = bench.write(".env", "PASSWORD=hunter2\n")
    bench.server.answers("what must not change", "analysis")
    bench.server.answers("in one fenced block", BETTER)

    def remove(request: Any) -> Decision:
        if "Refactor" in request.message:
            secret.unlink()
        return Decision(True)

    bench.front.answer = remove
    await bench.succeed("refactor", "see @file:.env", context=bench.context("a.py", 1, 1))
    assert "cannot be read any more" in sent(bench)[1]


async def test_steps_side_by_side_ask_about_a_secret_once(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    flow(bench, "steps:\n  - {id: a, task: 'a {{ prompt }}'}\n  - {id: b, task: 'b {{ prompt }}'}\n")
    bench.server.answers("", "fine")
    await bench.succeed("flow", "see @file:.env")
    assert len(bench.front.requests) == 1
    assert all("hunter2" in text for text in sent(bench))
    assert len(sent(bench)) == 2


def test_a_program_that_resolves_no_mention_loads_none_of_it() -> None:
    program = "import sys, tideate_core.engine as e\nprint('tideate_core.mentions' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
