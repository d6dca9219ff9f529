"""Built-in workflows on files: questions, reviews and writes (REQ-WORK-003)."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import no
from tideate_core.adapters import AdapterPool, Prompt
from tideate_core.config import Config
from tideate_core.engine import ConfirmationRequest, EventName, RunEdits, RunRequest, RunRollback
from tideate_core.errors import StoreError
from tideate_core.store import Reader
from tideate_core.workflows import BufferContext, Cursor, Decision, RunContext, WorkflowDefinition

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult
    from tideate_core.workflows import StepContext

LOOP = "import math\n\n\ndef area(r):\n    x = math.pi * r\n    return x * r\n\n\nprint(area(2))\n"
BETTER = "```python\ndef area(r):\n    return math.pi * r**2\n```"


def analyzed(bench: Bench, answer: str = BETTER) -> None:
    bench.server.answers("what must not change", "It computes an area; keep the name.")
    bench.server.answers("in one fenced block", answer)


async def refactor(bench: Bench, answer: str = BETTER) -> WorkflowResult:
    """Rewrite the function in LOOP."""
    bench.write("a.py", LOOP)
    analyzed(bench, answer)
    return await bench.run("refactor", "simplify", context=bench.context("a.py", 4, 6))


async def test_summarize_shows_the_model_only_the_selection(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("Summarize this", "An area.")
    result = await bench.run("summarize", context=bench.context("a.py", 4, 6))
    assert result.response == "An area."
    sent = bench.server.requests[0]["messages"][-1]["content"]
    assert "def area(r):\n    x = math.pi * r\n    return x * r" in sent
    assert "print" not in sent
    assert "a.py, lines 4 to 6" in sent


async def test_refactor_replaces_exactly_the_selected_lines(bench: Bench) -> None:
    result = await refactor(bench)
    assert result.ok, (result.error, bench.server.unmatched)
    wanted = "import math\n\n\ndef area(r):\n    return math.pi * r**2\n\n\nprint(area(2))\n"
    assert bench.fingerprint() == {"a.py": wanted.encode()}
    assert result.files == ["a.py"]
    assert [request.kind for request in bench.front.requests] == ["gate", "review"]
    assert "keep the name" in bench.front.requests[0].details
    prompts = [request["messages"][-1]["content"] for request in bench.server.requests]
    assert "It computes an area; keep the name." in prompts[1]


EARLIER = "Why do circles flicker?"
NEAR = "do our circles flicker still?"


@pytest.mark.parametrize("workflow", ["ask", "refactor", "generate", "multi_file"])
async def test_the_projects_memory_is_shown_told_and_given_to_the_model(bench: Bench, workflow: str) -> None:
    """Document 4, "from Memory: cached solutions": `MEMORY.md` and the nearest earlier runs."""
    bench.write("a.py", LOOP)
    bench.write("MEMORY.md", "- Circles are rounded up.\n")
    bench.server.answers(EARLIER, "The radius is drawn twice.")
    earlier = await bench.run("ask", EARLIER)
    bench.front.answer = no
    context = bench.context("a.py", 4, 6)
    shown = await bench.runner.preview(RunRequest(name=workflow, prompt=NEAR, context=context))
    mention = f"@run:{earlier.execution_id[:8]}"
    given = ("Circles are rounded up.", f"### {mention} (ask, completed, ", "The radius is drawn twice.")
    assert all(words in shown.user for words in given)
    assert [words.partition(" (")[0] for words in shown.notices] == [
        "memory: MEMORY.md",
        f"memory: {mention}",
    ]
    await bench.run(workflow, NEAR, context=context)
    sent = bench.server.requests[1]["messages"][-1]["content"]
    assert all(words in sent for words in given)
    told = bench.front.notices()
    assert set(shown.notices) <= set(told)


@pytest.mark.parametrize("mention", ["@last", "@run:last"])
async def test_the_last_run_is_the_one_before_the_run_that_mentions_it(bench: Bench, mention: str) -> None:
    bench.server.answers(EARLIER, "The radius is drawn twice.")
    bench.server.answers("sure", "yes")
    await bench.run("ask", EARLIER)
    await bench.run("ask", f"Are you sure about {mention}?")
    assert any(
        words.startswith(f"given to the model: {mention} (ask, completed") for words in bench.front.notices()
    )
    assert "The radius is drawn twice." in bench.server.requests[1]["messages"][-1]["content"]


async def memory_of(bench: Bench, prompt: str = NEAR, **more: Any) -> list[str]:
    shown = await bench.runner.preview(RunRequest(name="ask", prompt=prompt, **more))
    assert all(run in shown.user for words in shown.notices for run in re.findall(r"@run:\w+", words))
    return shown.notices


async def test_a_person_drops_the_memory_and_no_run_far_away_is_offered(bench: Bench) -> None:
    bench.server.answers("", "Because.")
    bench.config.adapters["other"] = bench.config.adapters["fake"]
    await bench.run("ask", EARLIER)
    assert len(await memory_of(bench)) == 1
    assert await memory_of(bench, memory=False) == []
    assert await memory_of(bench, "why do squares flicker in Firefox?") == []
    assert await memory_of(bench, adapter="other") == [], "what one provider was sent is not for another"
    bench.runner = bench.make_runner(bench.config.model_copy(update={"memory": False}))
    assert await memory_of(bench) == []


async def test_an_earlier_run_is_for_the_server_that_answered_all_of_it(bench: Bench) -> None:
    async def both(step: StepContext) -> str:
        return "".join([(await step.ask(Prompt(step.prompt), adapter=one)).text for one in (None, "other")])

    bench.server.answers("", "Because.")
    bench.config.adapters["other"] = bench.config.adapters["fake"]
    bench.register("both", {"a": both})
    await bench.run("both", EARLIER)
    assert await memory_of(bench) == [], "a step asked another adapter"
    await bench.run("ask", EARLIER)
    assert len(await memory_of(bench)) == 1
    moved = bench.config.adapters["fake"].model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    bench.config.adapters["fake"] = moved
    assert await memory_of(bench) == [], "the adapter's address is another one"


async def test_a_nested_run_with_another_adapter_finds_its_own_earlier_runs(bench: Bench) -> None:
    bench.server.answers("", "Because.")
    changed = bench.config.model_dump() | {"workflows": {"summarize_all": {"adapter": "other"}}}
    changed["adapters"]["other"] = changed["adapters"]["fake"]
    bench.pool = AdapterPool(config := Config.model_validate(changed))
    bench.runner = bench.make_runner(config)
    asking = bench.registry.get("ask")
    assert isinstance(asking.definition, WorkflowDefinition)
    bench.registry.register(asking.definition.model_copy(update={"name": "summarize_all"}), asking.handlers)
    steps = ({"id": "a", "workflow": "ask"}, {"id": "b", "workflow": "summarize_all", "dependencies": ["a"]})
    outer = WorkflowDefinition.model_validate({"name": "outer", "steps": steps})
    bench.registry.register(outer, {})
    await bench.run("ask", EARLIER)
    await bench.succeed("outer", NEAR)
    sent = [str(request["messages"]) for request in bench.server.requests]
    assert [EARLIER in words for words in sent] == [True, True, False]


async def test_a_run_goes_on_without_earlier_runs_that_cannot_be_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(reader: Reader, prompt: str) -> list[str]:
        raise StoreError("the index is damaged")

    monkeypatch.setattr(Reader, "near", damaged)
    bench.server.answers("", "Because.")
    assert (await bench.run("ask", NEAR)).response == "Because."
    told = bench.front.notices()
    assert "earlier runs were left out: the index is damaged" in told


async def test_the_two_nearest_runs_are_offered_each_prompt_once(bench: Bench) -> None:
    bench.server.answers("", "Because.")
    for prompt in (EARLIER, "circles flicker", EARLIER, "circles flicker at night"):
        await bench.run("ask", prompt)
    (notice,) = await memory_of(bench)
    assert notice.count("@run:") == 2


async def test_a_run_that_was_rolled_back_or_holds_a_secret_is_not_offered(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("", "```python\ncircles = flicker\n```")
    done = await bench.run("generate", EARLIER, context=bench.context("a.py", 4, 6))
    assert done.files == ["a.py"]
    assert len(await memory_of(bench)) == 1
    await RunRollback(bench.root, bench.private).restore_files([done.execution_id])
    await bench.run("ask", f"{EARLIER} The token is ghp_{'a1B2' * 9}")
    assert await memory_of(bench) == []


async def test_a_fork_is_not_offered_the_run_that_it_came_from(bench: Bench) -> None:
    bench.server.answers("", "Because.")
    done = await bench.run("ask", EARLIER)
    await bench.runner.fork_run(done.execution_id, "query", RunEdits())
    assert len(bench.server.requests) == 2
    assert "Because." not in str(bench.server.requests[-1])


async def test_recorded_prompts_do_not_depend_on_earlier_runs(bench: Bench, tmp_path: Path) -> None:
    bench.server.answers("", "Because.")
    await bench.run("ask", EARLIER)
    assert len(await memory_of(bench)) == 1
    bench.pool = AdapterPool(bench.config, record=tmp_path / "recorded.jsonl")
    bench.runner = bench.make_runner(bench.config)
    assert await memory_of(bench) == []


async def test_a_memory_with_a_secret_that_nobody_agreed_to_show_is_left_out(bench: Bench) -> None:
    secret = "AKIA" + "Q3EGRZ7YVTNW5LKD"
    bench.write("MEMORY.md", f"- aws_access_key_id = {secret}\n")
    bench.front.answer = no
    await bench.run("ask", "why")
    assert bench.server.requests
    assert secret not in str(bench.server.requests)


@pytest.mark.parametrize(
    ("text", "lines", "words"),
    [
        (LOOP, (), "the whole buffer, 9 lines,"),
        ("x  = 1\n", (), "the whole buffer, 1 line,"),
        (LOOP, (5, 5), "line 5 of a.py"),
    ],
)
async def test_refactor_without_a_range_says_the_whole_buffer_and_asks(
    bench: Bench, text: str, lines: tuple[int, ...], words: str
) -> None:
    bench.write("a.py", text)
    analyzed(bench)
    bench.front.answer = no
    await bench.run("refactor", "simplify", context=bench.context("a.py", *lines))
    assert [request.message for request in bench.front.requests] == [f"Refactor {words} along this analysis?"]
    assert bench.fingerprint() == {"a.py": text.encode()}


async def test_refactor_keeps_crlf_and_a_missing_last_line_end(bench: Bench) -> None:
    bench.write("a.py", "def f():\r\n    return  1\r\nf()")
    analyzed(bench, "```python\ndef f():\n    return 1\n```")
    await bench.succeed("refactor", "tidy", context=bench.context("a.py", 1, 2))
    assert bench.fingerprint()["a.py"] == b"def f():\r\n    return 1\r\nf()"


def only(kind: str, decision: Decision) -> Any:
    return lambda request: decision if request.kind == kind else Decision(True)


@pytest.mark.parametrize(("kind", "asked"), [("gate", 1), ("review", 2)])
async def test_a_declined_analysis_asks_for_no_code_and_a_declined_review_changes_nothing(
    bench: Bench, kind: str, asked: int
) -> None:
    bench.front.answer = only(kind, Decision(False))
    result = await refactor(bench)
    assert (result.cancelled, result.reason, len(bench.server.requests)) == (True, "declined", asked)
    assert bench.fingerprint() == {"a.py": LOOP.encode()}


@pytest.mark.slow
async def test_new_syntax_errors_are_written_only_after_an_override(bench: Bench) -> None:
    broken = "```python\ndef area(r:\n    return 1\n```"
    bench.front.answer = only("override", Decision(False))
    assert (await refactor(bench, broken)).cancelled
    assert bench.fingerprint() == {"a.py": LOOP.encode()}
    failed = bench.front.data(EventName.GATE_FAILED)[0]
    assert failed["gate"] == "syntax"
    assert [(entry["filename"], entry["lnum"], entry["tool"]) for entry in failed["entries"]] == [
        ("a.py", 4, "syntax")
    ]
    bench.front.answer = lambda _request: Decision(True)
    assert (await refactor(bench, broken)).ok
    assert b"def area(r:" in bench.fingerprint()["a.py"]


async def test_a_useless_answer_is_asked_again_with_the_reason_and_then_refused(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("what must not change", "analysis")
    bench.server.answers("", "```python\ndef area(r):\n    # ... rest of the code ...\n```")
    before = bench.fingerprint()
    result = await bench.run("refactor", "simplify", context=bench.context("a.py", 4, 6))
    assert result.error_code == "UnusableAnswer"
    assert "it changed nothing" in str(result.error)
    assert bench.fingerprint() == before
    assert len(bench.server.requests) > 2
    assert len(bench.server.requests[2]["messages"]) > len(bench.server.requests[1]["messages"])


@pytest.mark.parametrize(
    ("name", "prompt", "context", "words"),
    [
        ("ask", "  ", RunContext(), "needs a prompt"),
        ("summarize", "", RunContext(), "needs a text"),
        ("summarize", "", RunContext(buffer=BufferContext(text="\n \n")), "is empty"),
        ("refactor", "x", RunContext(buffer=BufferContext(text="a", modifiable=False)), "is read-only"),
        ("summarize", "", RunContext(buffer=BufferContext(text="a", binary=True)), "binary"),
        ("summarize", "", RunContext(buffer=BufferContext(text="a\nb\udcff")), ":2: not valid UTF-8"),
        (
            "refactor",
            "x",
            RunContext.model_validate({"buffer": {"text": "a"}, "selection": {"start": 2, "end": 3}}),
            "do not exist",
        ),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_is_asked(
    bench: Bench, name: str, prompt: str, context: RunContext, words: str
) -> None:
    result = await bench.run(name, prompt, context=context)
    assert not result.ok
    assert words in str(result.error)
    assert bench.server.requests == []


@pytest.mark.parametrize(
    ("text", "line", "selected", "wanted"),
    [
        ("import os\n\n\nprint(os.name)\n", 1, (), "import os\nLIMIT = 3\n\n\nprint(os.name)\n"),
        ("import os\n\nprint(os.name)\n", 2, (), "import os\n\nLIMIT = 3\nprint(os.name)\n"),
        ("def f():\n    \n    return 1\n", 2, (), "def f():\n    LIMIT = 3\n    return 1\n"),
        ("\n", 1, (), "LIMIT = 3\n"),
        ("a\n\nb\nc\n", 1, (1, 3), "a\n\nb\nLIMIT = 3\nc\n"),
    ],
    ids=[
        "below the cursor",
        "an empty line stays",
        "an indented one is filled in",
        "an empty text is replaced",
        "below the selection",
    ],
)
async def test_generate_inserts_below_the_cursor_or_fills_a_blank_line(
    bench: Bench, text: str, line: int, selected: tuple[int, ...], wanted: str
) -> None:
    bench.write("a.py", text)
    bench.server.answers("a constant", "```python\nLIMIT = 3\n```")
    context = bench.context("a.py", *selected).model_copy(update={"cursor": Cursor(line=line)})
    result = await bench.succeed("generate", "a constant", context=context)
    assert (str(result.response).strip(), bench.fingerprint()["a.py"]) == ("LIMIT = 3", wanted.encode())


PLAN = {
    "files": [
        {"action": "modify", "path": "a.py", "why": "use the new name"},
        {"action": "create", "path": "lib/b.py", "why": "holds it"},
        {"action": "delete", "path": "old.py", "why": "dead"},
        {"action": "move", "path": "m.py", "move_to": "lib/m.py", "why": "belongs there"},
    ]
}


def planned(bench: Bench, plan: Any = None) -> None:
    bench.write("a.py", "from old import f\n\nf()\n")
    bench.write("old.py", "def f():\n    return 1\n")
    bench.write("m.py", "M = 1\n")
    bench.server.answers("Which files have to be", plan or PLAN)
    bench.server.answers("Change a.py", "```python\nfrom lib.b import f\n\nf()\n```")
    bench.server.answers("Write the new file lib/b.py", "```python\ndef f():\n    return 1\n```")


@pytest.mark.slow
async def test_multi_file_plans_confirms_and_writes_everything(bench: Bench) -> None:
    planned(bench)
    result = await bench.succeed("multi_file", "move f into a library")
    assert bench.fingerprint() == {
        "a.py": b"from lib.b import f\n\nf()\n",
        "lib/b.py": b"def f():\n    return 1\n",
        "lib/m.py": b"M = 1\n",
    }
    assert [request.kind for request in bench.front.requests] == ["plan", "review"]
    assert [file["path"] for file in bench.front.requests[0].payload["files"]] == [
        "a.py",
        "lib/b.py",
        "old.py",
        "m.py",
    ]
    assert sorted(result.files) == ["a.py", "lib/b.py", "lib/m.py", "old.py"]


async def test_a_declined_plan_asks_for_no_edit(bench: Bench) -> None:
    planned(bench)
    before = bench.fingerprint()
    bench.front.answer = no
    result = await bench.run("multi_file", "move f into a library")
    assert result.reason == "declined"
    assert len(bench.server.requests) == 1
    assert bench.fingerprint() == before


async def test_files_taken_out_of_the_plan_are_left_alone(bench: Bench) -> None:
    planned(bench)
    bench.front.answer = only("plan", Decision(True, {"files": PLAN["files"][:1]}))
    result = await bench.run("multi_file", "move f into a library")
    assert result.files == ["a.py"]
    assert "old.py" in bench.fingerprint()


async def test_an_edited_plan_that_cannot_be_carried_out_is_asked_about_again(bench: Bench) -> None:
    planned(bench)
    wrong = {"files": [*PLAN["files"], {"action": "modify", "path": "nowhere.py", "why": "x"}]}
    plans = iter([Decision(True, wrong), Decision(True, {"files": PLAN["files"][:1]})])
    bench.front.answer = lambda request: next(plans) if request.kind == "plan" else Decision(True)
    result = await bench.run("multi_file", "move f into a library")
    assert result.files == ["a.py"]
    first, again, _review = bench.front.requests
    assert first.payload["problems"] == []
    assert "nowhere.py does not exist" in again.message
    assert "nowhere.py does not exist" in again.payload["problems"][0]
    assert again.payload["files"] == wrong["files"]


async def test_a_plan_that_the_project_cannot_bear_is_sent_back(bench: Bench) -> None:
    wrong = {"files": [{"action": "modify", "path": "nowhere.py", "why": "x"}]}
    bench.write("a.py", "A = 1\n")
    bench.server.answers(
        "This plan cannot be carried out", {"files": [{"action": "delete", "path": "a.py", "why": "x"}]}
    )
    bench.server.answers("Which files have to be", wrong)
    await bench.succeed("multi_file", "clean up")
    assert bench.fingerprint() == {}
    assert "nowhere.py does not exist" in bench.server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", ".git/config", ".tideate/config.toml"])
async def test_a_plan_that_leaves_the_project_is_never_carried_out(bench: Bench, path: str) -> None:
    bench.server.answers("", {"files": [{"action": "create", "path": path, "why": "x"}]})
    result = await bench.run("multi_file", "do it")
    assert not result.ok
    assert "no usable plan" in str(result.error)
    assert bench.fingerprint() == {}


@pytest.mark.slow
def test_registering_the_built_in_workflows_loads_nothing_that_edits() -> None:
    program = (
        "import sys\n"
        "from tideate_core.builtin import register_builtin\n"
        "from tideate_core.workflows import WorkflowRegistry\n"
        "register_builtin(WorkflowRegistry())\n"
        "slow = {'tideate_core.agents', 'tideate_core.gates', 'jinja2', 'pydantic_ai'}\n"
        "print(sorted(slow & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


KEY = "AKIA" + "Q7ZP3KD9WM2XV5TB"
WITH_KEY = f"import os\n\nKEY = '{KEY}'\n\n\ndef area(r):\n    return os.x\n"
MARK = "[a value that seems to be a secret]"


def sent(bench: Bench) -> str:
    return "\n".join(str(one["content"]) for request in bench.server.requests for one in request["messages"])


def policy(request: ConfirmationRequest) -> Decision:
    return Decision(True, by="policy")


@pytest.mark.attack
async def test_secrets_around_what_is_worked_on_are_hidden_unasked(bench: Bench) -> None:
    bench.write("a.py", WITH_KEY)
    bench.server.answers("", "```python\nx = 1\n```")
    bench.front.answer = policy
    for workflow, context in (
        ("ask", bench.context("a.py")),
        ("generate", bench.context("a.py").model_copy(update={"cursor": Cursor(line=7)})),
        ("refactor", bench.context("a.py", 6, 7)),
        ("summarize", bench.context("a.py")),
    ):
        await bench.succeed(workflow, "what is it?", context=context)
        assert KEY not in sent(bench)
        assert all("Give" not in one.message for one in bench.front.requests)
    assert f"KEY = '{MARK}'" in sent(bench)
    hidden = [one for one in bench.front.data(EventName.NOTICE) if "not sent to the model" in one["message"]]
    assert len(hidden) == 4, "each run tells it once"


@pytest.mark.attack
async def test_secrets_in_selected_lines_are_sent_after_a_persons_yes_only(bench: Bench) -> None:
    bench.write("a.py", WITH_KEY)
    analyzed(bench)
    context = bench.context("a.py", 3, 7)
    bench.front.answer = policy
    result = await bench.run("refactor", "simplify", context=context)
    assert (result.ok, bench.server.requests) == (False, [])
    assert (
        bench.front.requests[-1].message == "Give a.py to the model? Line 3 seems to hold an AWS access key."
    )
    bench.front.answer = only("review", Decision(False))
    await bench.run("refactor", "simplify", context=context)
    assert KEY in sent(bench)


@pytest.mark.attack
async def test_a_file_that_usually_holds_secrets_is_asked_about_whatever_is_in_it(bench: Bench) -> None:
    bench.write(".env", "WORDS=plain\n")
    bench.server.answers("", "fine")
    bench.front.answer = policy
    result = await bench.run("ask", "what is it?", context=bench.context(".env"))
    assert (result.ok, bench.server.requests) == (False, [])
    bench.front.answer = only("review", Decision(False))
    await bench.succeed("ask", "what is it?", context=bench.context(".env"))
    assert "WORDS=plain" in sent(bench)


@pytest.mark.attack
async def test_the_mark_of_a_hidden_secret_is_not_written(bench: Bench) -> None:
    bench.write("a.py", WITH_KEY)
    analyzed(bench, f"```python\ndef area(r):\n    return '{MARK}'\n```")
    result = await bench.run("refactor", "simplify", context=bench.context("a.py", 6, 7))
    assert not result.ok
    assert bench.fingerprint() == {"a.py": WITH_KEY.encode()}


@pytest.mark.attack
async def test_what_a_person_types_and_what_a_model_said_is_not_hidden(bench: Bench) -> None:
    own = "AKIA" + "M" * 16
    bench.register(
        "two",
        {
            "one": lambda step: _asked(step, "first"),
            "other": lambda step: _asked(step, f"again {step.results['one']}"),
        },
    )
    bench.server.answers("first", f"use {own}")
    bench.server.answers("again", "fine")
    await bench.succeed("two", f"why not {KEY}?")
    assert f"again use {own}" in sent(bench)
    assert f"why not {KEY}?" in sent(bench)


async def _asked(step: Any, words: str) -> str:
    from tideate_core.adapters import Prompt

    return str((await step.ask(Prompt(f"{words} {step.prompt}"))).text)
