"""Filters of a page of runs, its bounds, and the actions of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.stored import ALIVE, GONE, run_row
from tideate_core.app.history import RunFilter, actions, history_page, parse_filter
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Collection

    from tideate_core.store import RunRow


class Pages:
    """Gives runs, the newest first, as `Reader.runs` does."""

    def __init__(self, runs: list[RunRow]) -> None:
        self.runs_of = runs
        self.queries: list[dict[str, Any]] = []

    def runs(self, *, limit: int, before: int | None, before_id: str | None, **rest: Any) -> list[RunRow]:
        self.queries.append(rest)
        older = [
            run for run in self.runs_of if before is None or (run.started_at, run.id) < (before, before_id)
        ]
        return older[:limit]

    def runs_named(self, ids: Collection[str]) -> list[RunRow]:
        self.queries.append({"ids": set(ids)})
        return [run for run in self.runs_of if run.id in ids]


def page(pages: Pages, which: RunFilter, limit: int) -> tuple[list[RunRow], bool]:
    found, more = history_page(pages, which, limit, None)  # type: ignore[arg-type]
    assert not any(match for _, match in found)
    return [run for run, _ in found], more


@pytest.mark.parametrize(
    ("words", "filter_"),
    [
        ("", RunFilter()),
        ("failed", RunFilter(state="failed")),
        ("fact failed", RunFilter("fact", "failed")),
        ("paused fact", RunFilter("fact", "paused")),
        ("sum failed", RunFilter("", "failed", "sum")),
        ("fact sum", RunFilter("", "", "fact sum")),
        ("file:a.py fact failed", RunFilter("fact", "failed", file="a.py")),
        ("sum std::sum workflow:fix", RunFilter(words="sum std::sum", workflow="fix")),
        ("since:1970-01-01T00:00:01+00:00", RunFilter(since=1000)),
    ],
)
def test_a_filter_is_a_state_and_a_part_of_a_name_or_else_words(words: str, filter_: RunFilter) -> None:
    assert parse_filter(words, "refactor".__contains__) == filter_


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("failed paused", "state is given twice, failed and paused"),
        ("since:soon", "2026-11-30"),
        ("file:", "file: needs a value, for example file:a.py"),
        ("workflow:fix workflow:review", "workflow is given twice, fix and review; give one"),
    ],
)
def test_a_filter_that_means_nothing_says_what_would(words: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_filter(words, "refactor".__contains__)


def test_workflow_file_and_date_all_have_to_fit() -> None:
    runs = [run_row(id=f"{n}", started_at=n, name="fix", files=["src/a.py"]) for n in (5, 4, 3)]
    others = [run_row(id="7", started_at=7, name="fixed", files=["src/a.py"])]
    others.append(run_row(id="6", started_at=6, name="fix", files=["src/aa.py"]))
    which = RunFilter(workflow="fix", file="a.py", since=4)
    assert page(Pages([*others, *runs]), which, 9) == (runs[:2], False)


def test_a_declined_run_is_not_among_the_cancelled() -> None:
    declined = run_row(status="cancelled", reason="declined")
    assert RunFilter(state="declined").fits(declined)
    assert not RunFilter(state="cancelled").fits(declined)
    assert RunFilter("FACTOR", "cancelled").fits(run_row(status="cancelled", reason="cancelled"))


def test_a_page_is_found_behind_many_runs_that_do_not_fit() -> None:
    others = [run_row(id=f"{n:04}", started_at=n) for n in range(450, 2, -1)]
    rare = [run_row(id=f"{n:04}", started_at=n, name="rare") for n in (2, 1, 0)]
    pages = Pages([*others, *rare])
    assert page(pages, RunFilter("rare"), 2) == (rare[:2], True)
    assert page(pages, RunFilter("rare"), 3) == (rare, False)


def test_runs_that_were_rolled_back_are_read_at_once_and_turned_page_by_page() -> None:
    runs = [run_row(id=f"{n}", started_at=n // 2, status="completed") for n in range(9, 0, -1)]
    runs.append(run_row(id="0", status="completed", parent="9"))
    back = {"0", "2", "4", "5", "7", "gone"}
    pages, which = Pages(runs), RunFilter(state="rolled-back")
    found: list[str] = []
    behind, more = None, True
    while more:
        one, more = history_page(pages, which, 2, behind, back)  # type: ignore[arg-type]
        found += [run.id for run, _ in one]
        behind = (one[-1][0].started_at, found[-1])
    assert found == ["7", "5", "4", "2"]
    assert pages.queries == [{"ids": back}] * 2
    after_gone, _ = history_page(pages, which, 9, (3, "other"), back)  # type: ignore[arg-type]
    assert [run.id for run, _ in after_gone] == ["5", "4", "2"]


def test_a_run_that_goes_on_after_a_rollback_is_none_that_was_rolled_back() -> None:
    assert parse_filter("rolled-back fact", "refactor".__contains__) == RunFilter("fact", "rolled-back")
    assert not RunFilter(state="rolled-back").fits(run_row(status="executing_steps"))
    assert RunFilter(state="rolled-back").fits(run_row(status="failed"))


def test_the_store_selects_by_status_where_it_can() -> None:
    pages = Pages([])
    for state in ("failed", "declined", "paused"):
        page(pages, RunFilter(state=state), 1)
    assert pages.queries == [
        {"name": None, "status": "failed", "unfinished": False},
        {"name": None, "status": "cancelled", "unfinished": False},
        {"name": None, "status": None, "unfinished": True},
    ]


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"lease": ALIVE}, ["pause", "cancel"]),
        ({"lease": ALIVE, "status": "paused"}, ["resume", "cancel"]),
        ({"lease": GONE}, ["resume", "cancel", "rollback"]),
        ({"lease": None, "status": "completed"}, ["rollback"]),
        ({"lease": ALIVE, "parent": "b"}, []),
        ({"lease": GONE, "parent": "b"}, ["rollback"]),
    ],
)
def test_actions_are_those_that_are_not_refused(changes: dict[str, Any], allowed: list[str]) -> None:
    run = run_row(**changes)
    assert actions(run, {run.id}) == [*allowed, "checkpoint"]
