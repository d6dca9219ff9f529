"""Hunks of an edit are shown in the buffer while the model writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.harness.buffers import Buffers
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    import pytest

    from tests.harness.bench import Bench

LINES = [f"one_{number} = {number}" for number in range(6)]
TEXT = "\n".join(LINES) + "\n"
BETTER = "```python\n" + "".join(f"two_{number} = {number}\n" for number in range(6)) + "```\n"


async def streamed(bench: Bench, *pieces: str, number: int | None = 1) -> list[dict[str, Any]]:
    """Edit all lines of a buffer with a streamed answer, decline, and return the data of the shown hunks."""
    bench.write("a.py", TEXT)
    bench.front.editor = Buffers()  # type: ignore[assignment]
    bench.front.answer = lambda _: Decision(False, reason="not now")
    bench.server.answers("rename", "".join(pieces), pieces=pieces)
    context = bench.context("a.py", 1, len(LINES))
    assert context.buffer is not None
    buffer = context.buffer.model_copy(update={"number": number})
    result = await bench.run("edit", "rename", context=context.model_copy(update={"buffer": buffer}))
    assert result.cancelled
    return bench.front.data(EventName.HUNKS_STREAMED)


def lines_of(data: dict[str, Any]) -> list[str]:
    return [line for hunk in data["hunks"] for line in hunk["new"]]


async def test_the_hunks_grow_with_the_answer_and_end_with_all_of_it(bench: Bench) -> None:
    shown = await streamed(bench, *BETTER.splitlines(keepends=True))
    counts = [len(lines_of(one)) for one in shown]
    assert counts == sorted(counts)
    assert lines_of(shown[-1]) == [f"two_{number} = {number}" for number in range(6)]
    assert [one.get("before") for one in shown] == [TEXT.removesuffix("\n"), *[None] * (len(shown) - 1)]
    assert {one["buffer"] for one in shown} == {1}


async def test_a_line_is_shown_only_when_it_is_complete(bench: Bench) -> None:
    shown = await streamed(bench, "```python\n", "two_0", " = ", "0", "\n", "two_1 = 1\n", "```")
    assert all(line in ("two_0 = 0", "two_1 = 1") for one in shown for line in lines_of(one))
    assert lines_of(shown[-1]) == ["two_0 = 0", "two_1 = 1"]


async def test_an_answer_without_code_and_a_context_without_a_buffer_show_nothing(bench: Bench) -> None:
    assert await streamed(bench, *BETTER.splitlines(keepends=True), number=None) == []


async def test_of_a_very_long_answer_only_the_beginning_is_compared(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.builtin.streaming.LARGEST", 30)
    shown = await streamed(bench, *BETTER.splitlines(keepends=True))
    assert max((len(lines_of(one)) for one in shown), default=0) < 6
