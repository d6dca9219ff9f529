"""Runs as Markdown and JSON: all that was said, nothing that is obeyed, no secrets."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from tests.engine.conftest import Bench
from tests.engine.test_scheduler import graph, step
from tideate_core.app import export_runs
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.model_server import ModelServer
    from tideate_core.workflows import StepContext

pytestmark = pytest.mark.concurrency

KEY = "sk-proj-" + "a1B2" * 12
HOSTILE = f"<img src=x>\n````\n# no heading\n\x1b[2J \u202e\nkey = {KEY}\nlast"


@pytest.fixture
async def bench(root: Path, server: ModelServer) -> AsyncIterator[Bench]:
    bench = Bench(root, server)
    yield bench
    await bench.aclose()


async def exported(bench: Bench, form: Any, *runs: str) -> str:
    reader = (await bench.runner.store()).reader()
    return await asyncio.to_thread(export_runs, reader, runs, form)


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
