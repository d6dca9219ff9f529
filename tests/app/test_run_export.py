"""Runs as Markdown and JSON: all that was said, nothing that is obeyed, no secrets."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from tests.engine.test_loop import graph, step
from tideate_core.app import export_runs
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

pytestmark = pytest.mark.concurrency

KEY = "sk-proj-" + "a1B2" * 12
HOSTILE = f"<img src=x>\n````\n# no heading\n\x1b[2J \u202e\nkey = {KEY}\nlast"


async def exported(bench: Bench, form: Any, *runs: str) -> str:
    reader = (await bench.runner.store()).reader()
    return await asyncio.to_thread(export_runs, reader, runs, form, bench.root)


async def hostile_run(bench: Bench) -> str:
    async def says(_step: StepContext) -> str:
        return HOSTILE

    graph(bench, {"a": says, "b": says}, step("a"), step("b", "a"))
    done = await bench.run("g", f"the prompt\n{HOSTILE}", inputs={"n": KEY})
    assert done.ok, done.error
    return done.execution_id


async def test_markdown_holds_every_text_in_a_block_that_the_text_does_not_end(bench: Bench) -> None:
    run = await hostile_run(bench)
    text = await exported(bench, "markdown", run[:8])
    tokens = MarkdownIt().parse(text)
    heads = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    named = [head.partition(": completed")[0] for head in heads]
    assert named == [
        f"`g` {run}",
        "Prompt",
        "Inputs",
        "Step `a`",
        "Result",
        "Step `b`",
        "Result",
        "Response",
    ]
    assert not [token for token in tokens if token.type == "html_block"]
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert sum("# no heading" in block and block.endswith("last\n") for block in blocks) == 4
    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_json_holds_the_steps_the_events_and_what_was_said(bench: Bench) -> None:
    run = await hostile_run(bench)
    text = await exported(bench, "json", run, run)
    first, second = json.loads(text)["runs"]
    assert first == second
    assert first["prompt"].startswith("the prompt\n<img src=x>")
    assert [one["result"].splitlines()[-1] for one in first["steps"]] == ["last", "last"]
    assert first["events"]
    assert "lease" not in first
    assert "\x1b" not in text


@pytest.mark.parametrize("form", ["markdown", "json"])
async def test_lines_with_secrets_are_left_out_and_the_others_stay(bench: Bench, form: str) -> None:
    text = await exported(bench, form, await hostile_run(bench))
    assert KEY not in text
    assert "seems to hold a secret is left out" in text
    with pytest.raises(RunNotFound):
        await exported(bench, form, "f" * 32)


PLAIN = "kd93hf72bq"
"""No shape tells it from a word: the name that it stands under does."""


@pytest.mark.parametrize("form", ["markdown", "json"])
@pytest.mark.parametrize(
    "value",
    [
        {"api_key": PLAIN, "path": "kept"},
        {"outer": [{"dbPassword": PLAIN, "path": "kept"}]},
        {"credentials": {"value": [PLAIN]}, "path": "kept"},
        json.dumps({"password": PLAIN, "path": "kept"}),
        json.dumps({"arguments": json.dumps({"password": PLAIN}), "path": "kept"}),
        f"kept\ntoken: {PLAIN}\nkept",
        f"kept\n  'client-secret' = '{PLAIN}', # it\nkept",
        f'kept {{\n"api_key": "{PLAIN}"\nkept',
        f'kept\n{{\\"api_key\\": \\"{PLAIN}\\"\nkept',
    ],
)
async def test_what_stands_under_the_name_of_a_secret_is_left_out(
    bench: Bench, form: str, value: Any
) -> None:
    async def says(_step: StepContext) -> Any:
        return value

    graph(bench, {"a": says}, step("a"))
    done = await bench.run("g", "the prompt", inputs={"n": value})
    assert done.ok, done.error
    text = await exported(bench, form, done.execution_id)
    assert PLAIN not in text
    assert text.count("kept") >= 2
    assert "seems to hold a secret is left out" in text


async def test_code_that_only_names_secrets_stays(bench: Bench) -> None:
    code = "\n".join(
        (
            "password: str",
            "token = read_token1()",
            "def of(api_key: bytes) -> None:",
            "token=$TOKEN1",
            "tokens: 123456",
        )
    )

    async def says(_step: StepContext) -> Any:
        return {"said": code, "tokens": 12, "token": ""}

    graph(bench, {"a": says}, step("a"))
    text = await exported(bench, "json", (await bench.run("g", code)).execution_id)
    assert json.loads(text)["runs"][0]["steps"][0]["result"] == {"said": code, "tokens": 12, "token": ""}
