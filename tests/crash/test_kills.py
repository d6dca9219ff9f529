"""A run killed at any moments has the same result as one without a kill.

A failure names its seed: `TIDEATE_SEED=… TIDEATE_KILLS=1 python -m pytest tests/crash/test_kills.py` repeats
the moments. `make crash` kills 200 times.
"""

from __future__ import annotations

import os
import random
import secrets
from typing import TYPE_CHECKING

import pytest

from tests.crash.graph import DEPENDENCIES, QUESTIONS, START
from tests.crash.kills import draw
from tests.crash.site import RUN, Site, told
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.child import Line
    from tests.crash.kills import Totals
    from tests.crash.site import Durable, Unkilled

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KILLS = int(os.environ.get("TIDEATE_KILLS") or 6)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
DRAWS = 6
"""Attempts to draw a moment before the end."""
MORE = 0.4
"""Probability that the resuming process is killed, too."""


def test_nothing_is_killed_in_what_the_others_are_compared_with(unkilled: Unkilled) -> None:
    statuses = {(run, step): status for run, step, _, _, status, *_ in unkilled.outcome["steps"]}
    mine = [status for (run, _), status in statuses.items() if run == RUN]
    assert sorted(set(mine)) == ["completed", "failed", "skipped"]
    assert (len(mine), mine.count("completed")) == (40, 37)
    assert len(unkilled.files) == len(START) - 2 + 2 * 15
    assert unkilled.totals.commit > 40


@pytest.mark.parametrize("number", range(KILLS))
async def test_a_run_that_is_killed_ends_as_if_it_had_not_been(
    unkilled: Unkilled, tmp_path: Path, number: int, state_home: Path
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    site, kills = killed(tmp_path, state_home, chance, unkilled.totals)
    seen = [check(site, [])]
    ended = None
    while ended is None:
        kill = draw(chance, unkilled.totals) if kills < 3 and chance.random() < MORE else None
        print(f"resumed, to be killed at {kill}" if kill else "resumed")
        ended = site.go(kill)
        kills += ended is None
        seen.append(check(site, seen))
    assert told(ended.result) == unkilled.result
    assert site.outcome() == unkilled.outcome
    assert site.fingerprint() == unkilled.files
    events_are_whole(site)
    nobody_has_it(site)
    await Workspace(site.root, private=site.private).rollback(RUN)
    left = {name: text.decode() for name, text in site.fingerprint().items() if not name.startswith("out/")}
    assert left == dict(START)


def killed(home: Path, state: Path, chance: random.Random, totals: Totals) -> tuple[Site, int]:
    """Return a site with a process killed before its end."""
    for attempt in range(DRAWS):
        site, kill = Site(home / f"site{attempt}", state), draw(chance, totals)
        print(f"to be killed at {kill}")
        if site.go(kill) is None:
            return site, 1
    raise AssertionError(f"none of {DRAWS} moments came before the end of the run")


# -- what has to be so after every kill ---------------------------------------------------------------


class Seen:
    """State after the end of a process: its effects, and the durable steps."""

    def __init__(self, lines: int, durable: Durable) -> None:
        self.lines = lines
        self.durable = durable


def check(site: Site, before: list[Seen]) -> Seen:
    effects, durable = site.effects(), site.durable()
    for earlier in before:
        nothing_is_done_twice(effects[earlier.lines :], earlier.durable)
    nothing_is_done_too_early(effects, durable)
    nothing_dangerous_is_done_unasked(effects, before)
    integrity, orphans = site.query("PRAGMA integrity_check", "PRAGMA foreign_key_check")
    assert (integrity, orphans) == ([("ok",)], [])
    return Seen(len(effects), durable)


def nothing_is_done_twice(later: list[Line], durable: Durable) -> None:
    """Durable work of a dead process is neither repeated nor asked again."""
    again = [line for line in later if line.what == "ran" and (line.run, line.step) in durable.ended]
    asked = [line for line in later if line.what == "asked" and (line.run, line.step) in durable.answered]
    assert again == [], "completed steps ran again"
    assert asked == [], "answered questions were asked again"


def nothing_is_done_too_early(effects: list[Line], durable: Durable) -> None:
    """The dependencies of a step and its permission are durable before it runs."""
    for line in effects:
        if line.what != "ran":
            continue
        step = line.step.partition("[")[0]
        for dependency in DEPENDENCIES[step]:
            assert (line.run, dependency) in durable.ended, f"{step} ran before {dependency} was durable"
        if step in QUESTIONS and step.startswith("leaf"):
            assert (line.run, step) in durable.answered, f"{step} ran before its answer was durable"


def nothing_dangerous_is_done_unasked(effects: list[Line], before: list[Seen]) -> None:
    """A step that must not start twice starts again only after a question in that process."""
    mine = [line for line in effects if line.step == "charge"]
    for index, line in enumerate(mine):
        asked = index > 0 and mine[index - 1].what == "asked" and mine[index - 1].pid == line.pid
        if line.what == "ran" and any(earlier.what == "ran" for earlier in mine[:index]):
            assert asked, "a step that is not idempotent ran again, and nobody was asked"
    assert sum(line.what == "asked" for line in mine) <= len(before)


# -- what has to be so in the end ---------------------------------------------------------------------


def events_are_whole(site: Site) -> None:
    """Events have no gap, the last one is the run's end, and every step's end is included."""
    counts, last, told = site.query(
        "SELECT execution_id, count(*), min(sequence), max(sequence) FROM workflow_events GROUP BY 1",
        "SELECT name FROM workflow_events ORDER BY execution_id = '" + RUN + "' DESC, sequence DESC LIMIT 1",
        "SELECT DISTINCT execution_id, json_extract(data, '$.step') FROM workflow_events"
        " WHERE name IN ('SD_EVENT_STEP_COMPLETED', 'SD_EVENT_STEP_FAILED', 'SD_EVENT_STEP_SKIPPED')",
    )
    assert [(first, most) for _, most, first, _ in counts] == [(1, highest) for _, _, _, highest in counts]
    assert last == [("SD_EVENT_WORKFLOW_COMPLETED",)]
    steps, twice = site.query(
        "SELECT execution_id, step_id FROM workflow_steps",
        "SELECT execution_id FROM workflow_events WHERE name = 'SD_EVENT_WORKFLOW_COMPLETED'"
        " GROUP BY execution_id HAVING count(*) > 1",
    )
    assert twice == []
    assert set(told) == set(steps)


def nobody_has_it(site: Site) -> None:
    leases, wishes = site.query("SELECT * FROM workflow_leases", "SELECT * FROM workflow_wishes")
    assert (leases, wishes) == ([], [])
