"""A run that was recorded is replayed through its workflow, with the prompts it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.adapters import AdapterPool
from tideate_core.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.harness.bench import Bench


async def test_a_run_on_a_model_with_a_limit_is_replayed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "run.jsonl"
    monkeypatch.setenv("TIDEATE_RECORD", str(recording))
    small = {"base_url": bench.server.base_url, "model": "scripted", "tools": False, "context_tokens": 256}
    config = Config.model_validate({"adapter": "fake", "adapters": {"fake": small}})
    bench.pool = AdapterPool(config)
    bench.runner = bench.make_runner(config)
    bench.write("a.py", "# a line of a long file\n" * 100)
    bench.server.answers("a line", "It repeats itself.")
    recorded = await bench.run("summarize", context=bench.context("a.py"))
    replayed = await bench.run("summarize", context=bench.context("a.py"), adapter=f"replay:{recording}")
    assert recorded.ok, recorded.error
    assert replayed.ok, replayed.error
    assert replayed.response == recorded.response
    assert len(bench.server.requests) == 1
