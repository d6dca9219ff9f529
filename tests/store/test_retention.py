from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from tests.harness.work import QueryWork, Work
from tests.store.making import query
from tests.store.past import DAY, NOON, Past, big, run_id
from tideate_core.errors import InvalidInput
from tideate_core.store.database import FILE
from tideate_core.store.retention import Retention, prune

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.transaction import Transaction

TABLES = ("executions", "steps", "checkpoints", "graphs", "events", "memos", "leases", "wishes", "objects")
NOTHING = Retention()


def listed(store: Store) -> list[int]:
    return sorted(int(row.id, 16) for row in store.reader().runs(limit=1000, parents_only=False))


def files(private: Path) -> list[Path]:
    return [path for path in (private / "objects").glob("*/*") if path.is_file()]


async def test_without_limits_nothing_goes(store: Store) -> None:
    await Past(store).whole(big("x"))
    pruned = await store.prune(NOTHING, at=NOON + 1000 * DAY)
    assert (pruned.runs, pruned.checkpoints, pruned.objects, pruned.bytes) == (0, 0, 0, 0)
    assert listed(store) == [1]


async def test_the_newest_of_each_workflow_are_kept(store: Store) -> None:
    for number in range(4):
        await Past(store, number, "w", NOON + number).whole()
        await Past(store, number + 10, "v", NOON - number).whole()
    pruned = await store.prune(Retention(keep_runs=2), at=NOON)
    assert listed(store) == [2, 3, 10, 11]
    assert sorted(pruned.ids) == [run_id(number) for number in (0, 1, 12, 13)]
    assert (pruned.runs, pruned.checkpoints) == (4, 12)


async def test_what_would_go_is_told_and_stays(store: Store) -> None:
    for number in range(3):
        await Past(store, number, at=NOON + number).whole(big("x"))
    told = await store.prune(Retention(keep_runs=1), at=NOON, dry_run=True)
    assert (told.runs, sorted(told.ids)) == (2, [run_id(0), run_id(1)])
    assert (told.checkpoints, told.objects, told.bytes) == (0, 0, 0)
    assert listed(store) == [0, 1, 2]
    assert (await store.prune(Retention(keep_runs=1), at=NOON)).ids == told.ids


async def test_runs_that_ended_too_long_ago_go(store: Store) -> None:
    for number in range(4):
        await Past(store, number, at=NOON - number * DAY).whole()  # ends 10 ms later
    await store.prune(Retention(max_age_days=2), at=NOON + 10)
    assert listed(store) == [0, 1, 2]
    await store.prune(Retention(max_age_days=0.5), at=NOON + 10)
    assert listed(store) == [0]


async def test_the_oldest_go_until_the_files_are_few_enough(store: Store, private: Path) -> None:
    for number in range(4):
        await Past(store, number, at=NOON + number, steps=("a",)).whole(big("abcd"[number]))
    size = len(big("x")) + 2
    assert sum(path.stat().st_size for path in files(private)) == 4 * size
    pruned = await store.prune(Retention(max_bytes=2 * size + 1), at=NOON)
    assert listed(store) == [2, 3]
    assert (pruned.objects, pruned.bytes) == (2, 2 * size)
    assert sum(path.stat().st_size for path in files(private)) == 2 * size


async def test_a_file_that_several_runs_share_stays_until_the_last_of_them_goes(
    store: Store, private: Path
) -> None:
    for number in range(3):
        await Past(store, number, at=NOON + number).whole(big("x"))
    [file] = files(private)
    pruned = await store.prune(Retention(keep_runs=1), at=NOON)
    assert (pruned.runs, pruned.objects) == (2, 0)
    assert store.reader().steps(run_id(2))[0].result == big("x")
    pruned = await store.prune(Retention(max_bytes=0), at=NOON)
    assert (pruned.runs, pruned.objects, pruned.bytes) == (1, 1, len(big("x")) + 2)
    assert not file.exists()


async def test_a_shared_file_takes_up_room_until_the_last_of_its_runs_goes(store: Store) -> None:
    for number, sign in ((1, "x"), (2, "x"), (3, "y")):
        await Past(store, number, at=NOON + number).whole(big(sign))
    pruned = await store.prune(Retention(max_bytes=len(big("y")) + 2), at=NOON)
    assert (listed(store), pruned.objects) == ([3], 1)


async def test_runs_without_files_do_not_go_for_the_files_of_others(store: Store) -> None:
    await Past(store, 1, at=NOON).whole("small")
    await Past(store, 2, at=NOON + 1).whole(big("x"))
    await store.prune(Retention(max_bytes=100), at=NOON)
    assert listed(store) == [1]


async def test_unfinished_runs_never_go(store: Store) -> None:
    await Past(store, 1, at=NOON).begin()
    past = Past(store, 2, at=NOON + 1)
    log = await past.begin()
    await past.step("a", big("x"))
    await log.release()
    everything = Retention(keep_runs=0, max_age_days=0, max_bytes=0)
    pruned = await store.prune(everything, at=NOON + 1000 * DAY)
    assert (pruned.runs, pruned.objects) == (0, 0)
    assert listed(store) == [1, 2]
    assert store.reader().steps(run_id(2))[0].result == big("x")


async def test_a_run_with_an_unfinished_step_of_its_own_stays_with_it(store: Store) -> None:
    past = Past(store, 1)
    await past.begin()
    await Past(store, 2, parent=run_id(1)).whole()
    await Past(store, 3, parent=run_id(2)).begin()
    await Past(store, 4, parent=run_id(1)).whole()
    await past.end(status="cancelled")
    await store.prune(Retention(keep_runs=0), at=NOON)
    assert listed(store) == [1, 2, 3, 4]


async def test_the_runs_that_are_a_runs_steps_go_with_it(store: Store) -> None:
    past = Past(store, 1)
    await past.begin()
    await Past(store, 2, parent=run_id(1)).whole(big("x"))
    await Past(store, 3, parent=run_id(2)).whole(big("y"))
    await past.end()
    await Past(store, 4, at=NOON + 1).whole()
    pruned = await store.prune(Retention(keep_runs=1), at=NOON)
    assert listed(store) == [4]
    assert (sorted(pruned.ids), pruned.objects) == ([run_id(1), run_id(2), run_id(3)], 2)


async def test_a_run_with_a_checkpoint_of_a_person_is_spared(store: Store) -> None:
    for number in (1, 2):
        await Past(store, number, at=NOON + number).whole()
    await store.checkpoint(run_id(1), at=NOON)
    await store.prune(Retention(keep_runs=0), at=NOON)
    assert listed(store) == [1]


async def test_runs_that_are_still_needed_are_spared(store: Store) -> None:
    for number in (1, 2):
        await Past(store, number, at=NOON + number).whole()
    await store.prune(Retention(keep_runs=0, spare=frozenset({run_id(2)})), at=NOON)
    assert listed(store) == [2]


async def test_nothing_is_left_of_a_run_that_goes(store: Store, private: Path) -> None:
    past = Past(store, request={"prompt": big("p")}, text='{"steps": "other"}')
    log = await past.begin()
    log.event("E", NOON, {"text": big("e")})
    log.note("a", "k", big("m"))
    await past.step("a", big("x"), files=tuple(f"{number:0400}.py" for number in range(50)))
    await past.end(response=big("r"))
    await Past(store, 2, at=NOON + 1).whole()
    assert len(files(private)) == 6
    await store.prune(Retention(keep_runs=1), at=NOON)
    for table in TABLES:
        column = "id" if table == "executions" else "execution_id"
        found = query(private, f"SELECT COUNT(*) FROM workflow_{table} WHERE {column} = ?", (run_id(1),))
        assert found == [(0,)], table
    assert files(private) == []
    assert query(private, "SELECT text FROM workflow_definitions") == [('{"steps": []}',)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


async def test_files_that_a_crash_left_behind_go(store: Store, private: Path) -> None:
    await Past(store).whole(big("x"))
    folder = files(private)[0].parent
    (folder / ("f" * 64)).write_text("12345")
    (folder / ".new-abc").write_text("123")
    (folder.parent / "notes").write_text("not the store's")
    pruned = await store.prune(NOTHING, at=NOON)
    assert (pruned.runs, pruned.objects, pruned.bytes, pruned.left) == (0, 2, 8, None)
    assert len(files(private)) == 1


async def test_a_file_that_is_gone_already_takes_up_no_room(store: Store, private: Path) -> None:
    for number, sign in ((1, "x"), (2, "y")):
        await Past(store, number, at=NOON + number).whole(big(sign))
        if sign == "x":
            files(private)[0].unlink()
    pruned = await store.prune(Retention(max_bytes=len(big("y")) + 2), at=NOON)
    assert (pruned.runs, pruned.objects) == (0, 0)


async def test_files_that_cannot_be_deleted_are_told_of_and_go_the_next_time(
    store: Store, private: Path
) -> None:
    await Past(store).whole(big("x"))
    stubborn = files(private)[0].parent / "folder"
    stubborn.mkdir()
    pruned = await store.prune(NOTHING, at=NOON)
    assert pruned.left is not None
    assert "folder" in pruned.left
    stubborn.rmdir()
    await store.prune(Retention(keep_runs=0), at=NOON)
    assert files(private) == []
    assert await Past(store, 2).whole() == run_id(2), "the writer goes on"


async def test_no_file_is_deleted_before_the_rows_are_gone(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Past(store).whole(big("x"))
    seen: list[tuple[int, int]] = []
    unlink = type(private).unlink

    def noted(path: Path, missing_ok: bool = False) -> None:
        rows = query(private, "SELECT COUNT(*) FROM workflow_executions")[0][0]
        seen.append((rows, len(files(private))))
        unlink(path, missing_ok)

    monkeypatch.setattr(type(private), "unlink", noted)
    await store.prune(Retention(keep_runs=0), at=NOON)
    assert seen == [(0, 1)]


@pytest.mark.parametrize(
    "limits", [{"keep_runs": -1}, {"max_age_days": -0.1}, {"max_age_days": float("nan")}]
)
def test_an_impossible_limit_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="give 0 or more"):
        Retention(**limits)  # type: ignore[arg-type]


def rows_of_runs(private: Path, first: int, count: int, events: int) -> None:
    connection = sqlite3.connect(private / FILE)
    connection.executemany(
        "INSERT INTO workflow_executions (id, workflow_id, status, total_steps, started_at, definition_hash)"
        " SELECT ?, workflow_id, 'completed', 0, ?, definition_hash FROM workflow_executions LIMIT 1",
        [(run_id(number), NOON + number) for number in range(first, first + count)],
    )
    connection.executemany(
        "INSERT INTO workflow_events (execution_id, sequence, name, at, data) VALUES (?, ?, 'E', 0, '{}')",
        [(run_id(number), event) for number in range(first, first + count) for event in range(events)],
    )
    connection.commit()
    connection.close()


async def test_the_work_of_pruning_a_run_does_not_grow_with_their_number(store: Store, private: Path) -> None:
    await Past(store, 1).whole()

    async def spent(count: int) -> tuple[int, int]:
        rows_of_runs(private, 100, count, events=10)

        def forget(transaction: Transaction) -> tuple[int, int]:
            with Work() as ours, QueryWork(transaction.connection) as queries:
                assert prune(transaction, Retention(keep_runs=0), NOON).runs >= count
            return ours.count, queries.count

        done = await store._writer.do(forget)
        await Past(store, 1).whole()
        return done

    few, many = await spent(100), await spent(400)
    for less, more in zip(few, many, strict=True):
        assert more <= 5 * less
