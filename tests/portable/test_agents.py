"""The work of an agent that waits for its landing moves with the run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.builtin.test_agent import CAN_RESUME, Desk, desk
from tests.portable.moving import bundle_of, open_bundle
from tideate_core.errors import EditConflict

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["desk"]


async def left_at_review(desk: Desk) -> str:
    desk.plays(
        [
            {"text": "done"},
            {"write": ["a.txt", "ONE\ntwo\n"]},
            {"write": ["new/c.txt", "c\n"]},
            {"delete": "b.txt"},
        ],
        [{"text": "again"}, {"write": ["a.txt", "ONE\nTWO\n"]}],
    )
    desk.front.hold = True
    run = desk.begin("agent", "change it")
    await desk.front.until(lambda: bool(desk.front.requests))
    (left,) = desk.runner.leave()
    await run
    assert desk.text() == "one\ntwo\n"
    return left


def other_desk(desk: Desk, folder: Path) -> Desk:
    """Return a desk with the same files and agents."""
    folder.mkdir()
    other = Desk(folder, desk.server)
    shutil.copytree(desk.scripts, other.scripts, dirs_exist_ok=True)
    return other


async def test_a_landing_review_opens_elsewhere_and_lands(desk: Desk, tmp_path: Path) -> None:
    run = await left_at_review(desk)
    data, _ = await bundle_of(desk, run)
    there = other_desk(desk, tmp_path / "elsewhere")
    asked = len(there.prompts())
    await open_bundle(there, data)
    assert (there.text(), len(there.copies())) == ("one\ntwo\n", 1)
    result = await there.resume(run)
    assert (result.ok, result.response) == (True, "done")
    assert (there.text(), there.text("new/c.txt")) == ("ONE\ntwo\n", "c\n")
    assert not (there.root / "b.txt").exists()
    assert len(there.prompts()) == asked
    assert there.copies() == []
    reviewed = there.front.requests[0].payload["files"]
    assert sorted(one["path"] for one in reviewed) == ["a.txt", "b.txt", "new/c.txt"]
    await there.aclose()


async def test_a_local_change_is_kept_and_a_conflict_rejected(desk: Desk, tmp_path: Path) -> None:
    run = await left_at_review(desk)
    data, _ = await bundle_of(desk, run)
    there = other_desk(desk, tmp_path / "elsewhere")
    there.write("a.txt", "uno\ntwo\n")
    with pytest.raises(EditConflict, match=r"a\.txt was changed both here and in the agent's copy"):
        await open_bundle(there, data)
    assert there.copies() == []
    there.write("a.txt", "one\ntwo\n\nthree\nfour\n")
    await open_bundle(there, data)
    assert (await there.resume(run)).ok
    assert there.text() == "ONE\ntwo\n\nthree\nfour\n"
    await there.aclose()


async def test_an_interrupted_turn_continues_elsewhere(desk: Desk, tmp_path: Path) -> None:
    desk.plays(
        [{"write": ["a.txt", "half\n"]}, {"text": "x"}, {"receive": "session/cancel"}],
        [{"run": ["cat", "a.txt"]}, {"write": ["b.txt", "rest\n"]}],
        initialize=CAN_RESUME,
    )
    run = desk.begin("agent", "change it")
    await desk.front.until_told("TOKEN")
    (left,) = desk.runner.leave()
    await run
    data, _ = await bundle_of(desk, left)
    there = other_desk(desk, tmp_path / "elsewhere")
    await open_bundle(there, data)
    result = await there.resume(left)
    assert result.ok, result.error
    assert there.text() == "half\n"
    await there.aclose()
