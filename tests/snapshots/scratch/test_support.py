"""Detection of the available kind of scratch copy, with the reason; `auto` works with both."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import open_scratch, scratch_support

if TYPE_CHECKING:
    from pathlib import Path


async def changed_with(root: Path, private: Path, notices: list[str]) -> tuple[str, list[str]]:
    async with open_scratch(root, private, notice=notices.append) as scratch:
        done = await scratch.run(["sh", "-c", "echo 1 > made"])
        assert done.ok, done.printed
        return scratch.kind, list((await scratch.difference()).files)


def test_the_kind_of_this_machine_is_told_with_the_reason(root: Path) -> None:
    found = scratch_support(root)
    assert found.kind in ("overlay", "copy")
    assert bool(found.reason) is (found.kind == "copy")
    assert found.reason in found.words


async def test_auto_is_the_kind_that_was_told(root: Path, private: Path) -> None:
    notices: list[str] = []
    assert await changed_with(root, private, notices) == (scratch_support(root).kind, ["made"])


async def test_without_user_namespaces_auto_is_a_copy_and_says_why(
    root: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = tmp_path / "holder.py"
    holder.write_text("print('1 user namespaces are not available here')\n")
    monkeypatch.setattr("tideate_core.snapshots.scratch.overlay.HOLDER", str(holder))
    monkeypatch.setattr("tideate_core.snapshots.scratch.overlay.SETTINGS", tmp_path)
    notices: list[str] = []
    assert await changed_with(root, private, notices) == ("copy", ["made"])
    reason = "user namespaces are not available here (Operation not permitted)"
    assert notices == [f"a real copy is used: {reason}"]
    assert scratch_support(root).reason == reason
    with pytest.raises(ScratchUnavailable, match="user namespaces"):
        async with open_scratch(root, private, kind="overlay"):
            pass


async def test_a_holder_that_does_not_start_is_no_overlay(
    root: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.snapshots.scratch.overlay.HOLDER", str(tmp_path / "nothing"))
    with pytest.raises(ScratchUnavailable, match="does not start"):
        async with open_scratch(root, private, kind="overlay"):
            pass
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


async def test_on_another_system_auto_is_a_copy(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(
        "tideate_core.snapshots.scratch.cloning._clone_on_macos",
        lambda *_: (_ for _ in ()).throw(OSError(22, "")),
    )
    notices: list[str] = []
    assert await changed_with(root, private, notices) == ("copy", ["made"])
    assert notices == ["a real copy is used: an overlay needs Linux"]


async def test_changes_below_the_project_are_no_overlay(root: Path) -> None:
    with pytest.raises(ScratchUnavailable, match="is below"):
        async with open_scratch(root, root / "private", kind="overlay"):
            pass
