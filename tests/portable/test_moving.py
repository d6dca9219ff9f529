"""A run that is moved in a bundle ends as it would have without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.engine.test_loop import graph, step
from tests.engine.test_resumed_runs import Stop, events_of
from tests.engine.test_rollback import adds
from tests.portable.moving import bundle_of, copy_of, open_bundle, tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.bench import Bench


async def test_a_run_that_was_cut_off_continues_in_another_copy(bench: Bench, tmp_path: Path) -> None:
    bench.write("a.txt", "mine\n")
    there = copy_of(bench, tmp_path / "elsewhere" / "copy")
    for one in (bench, there):
        one.register("inner", {"whole": adds, "half": Stop(one) if one is bench else adds})
        graph(
            one, {"first": adds}, step("first"), {"id": "n", "workflow": "inner", "dependencies": ["first"]}
        )
    left = await bench.run("g")
    assert left.reason == "interrupted"
    before = tree(there.root)
    data, facts = await bundle_of(bench, left.execution_id)
    assert (facts.state, facts.written) == ("paused", ("a.txt",))
    taken = await open_bundle(there, data)
    assert taken.written == ("a.txt",)
    assert tree(there.root) == tree(bench.root)
    result = await there.resume(left.execution_id)
    assert result.ok, result.error
    assert tree(there.root)["a.txt"] == b"mine\nfirst\nwhole\nhalf\n"
    assert len(await events_of(there.runner, left.execution_id)) > 3
    again = await open_bundle_fails(there, data)
    assert "has continued" in again
    assert tree(there.root) != before
    await there.aclose()


async def open_bundle_fails(bench: Bench, data: bytes) -> str:
    from tideate_core.errors import TideateError

    try:
        await open_bundle(bench, data)
    except TideateError as error:
        return str(error)
    raise AssertionError("it was opened")
