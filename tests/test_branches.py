"""Tests of `make coverage`: the counted branches, and its failures."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.branches import LEAST, ROOMS, Branches, Module, of_modules, of_rooms, short_of


def measured(taken: int, of: int, *missing: list[int]) -> dict[str, Any]:
    return {"summary": {"covered_branches": taken, "num_branches": of}, "missing_branches": list(missing)}


def test_each_module_counts_for_its_room_however_deep_it_stands() -> None:
    files = {
        "tideate_core/engine/queue.py": measured(9, 10, [4, 6]),
        "tideate_core/engine/steps/agent.py": measured(1, 2, [7, -1]),
        "tideate_core/cli/main.py": measured(0, 50),
        "elsewhere/engine/queue.py": measured(0, 50),
    }
    modules = of_modules({"files": files})
    assert modules == [
        Module("engine", "queue.py", Branches(9, 10), ("4→6",)),
        Module("engine", "steps/agent.py", Branches(1, 2), ("7→",)),
    ]
    assert of_rooms(modules)["engine"] == Branches(10, 12)


@pytest.mark.parametrize(("taken", "short"), [(94, True), (95, False), (100, False)])
def test_each_room_needs_its_share_by_itself(taken: int, short: bool) -> None:
    rooms = dict.fromkeys(ROOMS, Branches(100, 100)) | {"store": Branches(taken, 100)}
    assert LEAST == 95
    assert short_of(rooms) == (["store"] if short else [])


def test_a_room_of_which_nothing_was_measured_has_no_share() -> None:
    assert short_of(of_rooms([])) == list(ROOMS)
