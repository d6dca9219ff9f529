"""Tests of `make coverage`: the counted branches."""

from __future__ import annotations

from scripts.branches import shares


def measured(taken: int, known: int) -> dict[str, dict[str, int]]:
    return {"summary": {"covered_branches": taken, "num_branches": known}}


def test_each_module_counts_for_its_package_however_deep_it_stands() -> None:
    files = {
        "tideate_core/engine/queue.py": measured(9, 10),
        "tideate_core/engine/steps/agent.py": measured(1, 2),
        "tideate_core/builtin/plan.py": measured(5, 8),
        "tideate_core/store/log.py": measured(4, 4),
        "tideate_core/cli/main.py": measured(0, 50),
        "elsewhere/engine/queue.py": measured(0, 50),
    }
    assert shares(files) == {"engine": 75, "workflows": 0, "store": 100}
