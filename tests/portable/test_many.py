"""Runs of all kinds that are cut off at any event and moved end as those that stayed.

`TIDEATE_MOVES=1000` moves as many, `TIDEATE_SEED` repeats a failure, and `TIDEATE_KIND` chooses a workflow.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.bench import Bench
from tests.portable.kinds import KINDS, arguments
from tests.portable.moving import bundle_of, copy_of, open_bundle, tree
from tideate_core.engine import Event, RunRollback

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.engine import WorkflowResult

MOVES = int(os.environ.get("TIDEATE_MOVES") or 14)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
LENGTHS = {
    "ask": 8,
    "summarize": 8,
    "refactor": 16,
    "generate": 10,
    "multi_file": 24,
    "walk": 16,
    "g": 50,
}
"""Events of a run, about."""


def cut_at(bench: Bench, number: int) -> None:
    """Let the run stop, as if its process ended, at an event of this number."""
    emit, left = bench.front.emit, list[Event]()

    def cut(event: Event) -> None:
        emit(event)
        if event.sequence is not None and len(bench.front.events) >= number and not left:
            left.append(event)
            bench.runner.leave()

    bench.front.emit = cut  # type: ignore[method-assign]


async def ended(bench: Bench, run: str, result: WorkflowResult) -> dict[str, Any]:
    """Return all that must not depend on the place of a run."""
    reader = await bench.reader()
    shape = result.as_json()
    shape.pop("duration_ms")
    runs = [run, *(one.id for one in reader.within(run))]
    events = [[(one.name, one.data.get("step")) for one in reader.events(each)] for each in runs]
    steps = [[(row.step, row.status, row.attempts, row.files) for row in reader.steps(each)] for each in runs]
    results = [reader.response(each) for each in runs]
    return {
        "result": shape,
        "files": tree(bench.root),
        "events": events,
        "steps": steps,
        "responses": results,
    }


def without_place(value: Any, root: Path) -> Any:
    """Return a value with a sign instead of a project's directory."""
    if isinstance(value, str):
        return value.replace(str(root), "ROOT")
    if isinstance(value, dict):
        return {key: without_place(one, root) for key, one in value.items()}
    return [without_place(one, root) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("number", range(MOVES))
async def test_a_moved_run_ends_like_a_run_that_was_not_moved(
    tmp_path: Path, server: ModelServer, number: int
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_MOVES=1")
    chance = random.Random(seed)
    kind = os.environ.get("TIDEATE_KIND") or [*KINDS][seed % len(KINDS)]
    (tmp_path / "here").mkdir()
    here = Bench(tmp_path / "here", server)
    KINDS[kind](here)
    there = copy_of(here, tmp_path / "there" / "deeper" / "clone")
    KINDS[kind](there)
    before = tree(there.root)
    cut_at(here, chance.randint(1, LENGTHS[kind]))
    left = await here.run(kind, **arguments(kind, here))
    run = left.execution_id
    here.runner = here.make_runner(here.config)  # as another process would
    if left.reason != "interrupted":
        await compare_ended(here, there, run)
        return
    data, facts = await bundle_of(here, run)
    await open_bundle(there, data)
    again, _ = await bundle_of(there, run)
    one = await ended(here, run, await here.resume(run))
    other = await ended(there, run, await there.resume(run))
    assert without_place(other, there.root) == without_place(one, here.root), facts
    assert again
    members = [run, *(child.id for child in (await there.reader()).within(run))]
    await RunRollback(there.root, there.private).restore_files(members)
    assert tree(there.root) == before
    await there.aclose()
    await here.aclose()


async def compare_ended(here: Bench, there: Bench, run: str) -> None:
    """Compare a run that ended before it was cut off, and that is only read elsewhere."""
    data, _ = await bundle_of(here, run)
    await open_bundle(there, data)
    reader, other = await here.reader(), await there.reader()
    assert tree(there.root) == tree(here.root)
    assert other.response(run) == reader.response(run)
    assert [one.name for one in other.events(run)] == [one.name for one in reader.events(run)]
    await there.aclose()
    await here.aclose()
    shutil.rmtree(there.root)
