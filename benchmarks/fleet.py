"""A fleet on PostgreSQL beside the same steps on DBOS alone: runs a second, latency, rows, lists.

Each run clones a repository, changes a file with tideate's engine, commits and pushes a branch; no model is
asked. Both take their turns on the same server. ``--short``: fewer runs. The exit code is 1 only if something
could not be measured: figures of a busy machine are no verdict.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from benchmarks.figures import Figure, console, ratios, targets_table
from tests.fleet.site import PYTHON_PATH, Database, Site, eventually
from tests.harness.model_server import ModelServer
from tideate_core.fleet import Fleet, SignedSubmission, State, Submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORT: Final = "--short" in sys.argv
RUNS: Final = 24 if SHORT else 80
TURNS: Final = 2 if SHORT else 3
SINGLE: Final = 20 if SHORT else 100
"""Runs that are submitted one after the other."""
QUEUED: Final = 10_000
LISTS: Final = 20
IDLE: Final = 20.0
"""Seconds in which a worker without runs is watched."""
CONCURRENCY: Final = 2
ANA: Final = "Ana <ana@example.org>"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder, ModelServer() as server:
        place = Path(folder)
        place.chmod(0o711)
        (place / "site").mkdir()
        database = Database(place / "pg")
        try:
            figures = measure(place, database, server)
        finally:
            database.close()
    console().print(targets_table(figures, "fleet"))


def measure(place: Path, database: Database, server: ModelServer) -> list[Figure | None]:
    """Return all figures."""
    site = Site(place / "site", database.new())
    site.use(server)
    os.environ["HOME"] = str(site.home("bench"))
    try:
        parts = (throughput(site, database), single(site), storage(site), idle(site), lists(site, database))
        return [figure for part in parts for figure in (*part, None)][:-1]
    finally:
        site.close()


def submissions(site: Site, address: str, count: int) -> list[SignedSubmission]:
    """Return signed submissions of a change of a file."""
    commit = site.refs(address)["HEAD"]
    wanted = [
        Submission(
            workflow="apply",
            inputs={"path": "a.txt", "how": "replace", "text": str(number)},
            repo=address,
            commit=commit,
            accept=True,
            by=ANA,
            at=time.time_ns() // 1_000_000,
        )
        for number in range(count)
    ]
    return [SignedSubmission.make(one, site.key) for one in wanted]


def throughput(site: Site, database: Database) -> Iterator[Figure]:
    """Measure runs a second with one, two and four workers, and on DBOS alone."""
    address = site.remote("throughput", {"a.txt": "one\n"})
    ours: dict[int, list[float]] = {1: [], 2: [], 4: []}
    theirs: list[float] = []
    for turn in range(TURNS):
        for count, found in ours.items():
            found.append(fleet_speed(site, address, count))
            if count == 1:
                theirs.append(alone_speed(site, database, address, turn))
    yield Figure("DBOS alone, 1 worker", theirs, "runs/s")
    for count, found in ours.items():
        yield Figure(f"{count} worker{'s' if count > 1 else ''}", found, "runs/s")
    yield Figure("1 worker beside DBOS alone", ratios(ours[1], theirs), "", 0.8, at_least=True)


def fleet_speed(site: Site, address: str, workers: int) -> float:
    """Return completed runs a second."""
    started = [site.worker(f"w{number}", "--concurrency", str(CONCURRENCY)) for number in range(workers)]
    for worker in started:
        worker.wait_ready()
    fleet = Fleet(site.database)
    begin = time.monotonic()
    runs = set(fleet.submit(submissions(site, address, RUNS)).new)
    begin = time.monotonic()
    eventually(lambda: ended(fleet, runs), 600, site.logs)
    taken = time.monotonic() - begin
    fleet.close()
    for worker in started:
        worker.stop()
    return RUNS / taken


def ended(fleet: Fleet, runs: set[str]) -> bool:
    """Tell whether all runs are completed."""
    found = [run for run in fleet.page(limit=len(runs)) if run.run in runs]
    if wrong := [run for run in found if run.state in (State.FAILED, State.REFUSED, State.WAITING)]:
        raise RuntimeError(wrong[0].message)
    return all(run.state is State.COMPLETED for run in found)


def alone_speed(site: Site, database: Database, address: str, turn: int) -> float:
    """Return completed workflows of DBOS alone a second."""
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    url, home = database.new(), site.home(f"alone{turn}")
    environment = site.env(home) | {"PYTHONPATH": PYTHON_PATH}
    command = [sys.executable, "-m", "benchmarks.fleet_dbos", url, str(home / "fleet"), str(CONCURRENCY)]
    (home / "fleet").mkdir(mode=0o700)
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PYTHON_PATH
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    client = DBOSClient(
        system_database_url=url, serializer=DBOSPortableJSONSerializer(), application_name="alone"
    )
    shapes = [one.submission.model_dump(mode="json") for one in submissions(site, address, RUNS)]
    for shape in shapes:
        client.enqueue({"workflow_name": "alone", "queue_name": "alone", "workflow_id": shape["run"]}, shape)
    begin = time.monotonic()
    eventually(lambda: all_succeeded(client), 600)
    taken = time.monotonic() - begin
    client.destroy()
    process.stdin.close()
    process.wait()
    return RUNS / taken


def all_succeeded(client: Any) -> bool:
    """Tell whether all workflows of DBOS alone are done."""
    states = [one.status for one in client.list_workflows(name="alone", load_input=False, load_output=False)]
    if "ERROR" in states:
        raise RuntimeError("a workflow of DBOS alone failed")
    return states.count("SUCCESS") == RUNS


def idle(site: Site) -> Iterator[Figure]:
    """Measure the connections and the transactions a second of a worker without runs."""
    worker = site.worker("idle", "--queue", "idle").wait_ready()
    with psycopg.connect(site.database, autocommit=True) as connection:
        time.sleep(10)  # the library looks for schedules and queues more often at first
        before = transactions(connection)
        time.sleep(IDLE)
        rate = (transactions(connection) - before) / IDLE
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        found = connection.execute(f"{others} AND pid <> pg_backend_pid()").fetchone()
        assert found is not None
        connections = found[0]
    worker.stop()
    yield Figure("connections of an idle worker", [float(connections)], "")
    yield Figure("transactions of an idle worker", [rate], "/s")


def transactions_of(site: Site) -> int:
    """Return the transactions of a site's database so far."""
    with psycopg.connect(site.database, autocommit=True) as connection:
        return transactions(connection)


def transactions(connection: psycopg.Connection[Any]) -> int:
    """Return the transactions of a database so far."""
    question = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    connection.execute("SELECT pg_stat_clear_snapshot()")
    found = connection.execute(question).fetchone()
    assert found is not None
    return int(found[0])


def single(site: Site) -> Iterator[Figure]:
    """Measure the time from a submission to its first step, on a worker without other work."""
    address = site.remote("single", {"a.txt": "one\n"})
    worker = site.worker("single", "--queue", "single").wait_ready()
    fleet = Fleet(site.database)
    commit = site.refs(address)["HEAD"]
    waits = []
    for number in range(SINGLE):
        one = Submission(
            workflow="apply",
            inputs={"path": "a.txt", "how": "replace", "text": f"{number} single"},
            repo=address,
            commit=commit,
            accept=True,
            by=ANA,
            at=time.time_ns() // 1_000_000,
            queue="single",
        )
        (run,) = fleet.submit([SignedSubmission.make(one, site.key)]).new
        eventually(partial(is_completed, fleet, run), 60, site.logs)
        waits.append(first_step(site, run))
    fleet.close()
    worker.stop()
    cut = statistics.quantiles(waits, n=100)
    yield Figure("submit to first step, p50", [statistics.median(waits)], "ms")
    yield Figure("submit to first step, p99", [cut[98]], "ms")


def is_completed(fleet: Fleet, run: str) -> bool:
    """Tell whether a run is completed."""
    return fleet.show(run).state is State.COMPLETED


def first_step(site: Site, run: str) -> float:
    """Return the milliseconds from the row of a run to the start of its first step."""
    question = (
        "SELECT min(o.started_at_epoch_ms) - min(w.created_at) FROM dbos.operation_outputs o "
        "JOIN dbos.workflow_status w USING (workflow_uuid) WHERE workflow_uuid = %s"
    )
    with psycopg.connect(site.database) as connection:
        found = connection.execute(question, (f"{run}-1",)).fetchone()
    assert found is not None
    return float(found[0])


def storage(site: Site) -> Iterator[Figure]:
    """Measure rows and bytes that a completed run leaves in the database."""
    before, calls = size(site.database), transactions_of(site)
    address = site.remote("storage", {"a.txt": "one\n"})
    worker = site.worker("storage").wait_ready()
    fleet = Fleet(site.database)
    runs = set(fleet.submit(submissions(site, address, RUNS)).new)
    eventually(lambda: ended(fleet, runs), 600, site.logs)
    calls = transactions_of(site) - calls
    fleet.close()
    worker.stop()
    after = size(site.database)
    yield Figure("rows for a run", [(after[0] - before[0]) / RUNS], "")
    yield Figure("transactions for a run, with the polls meanwhile", [calls / RUNS], "")
    yield Figure("bytes for a run, with indexes", [(after[1] - before[1]) / RUNS], "bytes")


def size(url: str) -> tuple[int, int]:
    """Return the rows and the bytes of all tables."""
    rows = size = 0
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname IN ('dbos', 'tideate')"
        ).fetchall()
        for (name,) in found:
            connection.execute(f"VACUUM {name}")
            counted = connection.execute(
                f"SELECT count(*), pg_total_relation_size('{name}') FROM {name}"
            ).fetchone()
            assert counted is not None
            rows, size = rows + counted[0], size + counted[1]
    return rows, size


def lists(site: Site, database: Database) -> Iterator[Figure]:
    """Measure the submission and the lists of many queued runs; their signatures are not checked."""
    url = database.new()
    subprocess.run(
        [sys.executable, "-c", f"from dbos import run_dbos_database_migrations as go; go({url!r})"],
        check=True,
    )
    fleet = Fleet(url)
    (model,) = submissions(site, site.remote("lists"), 1)
    queued = [
        model.model_copy(update={"submission": model.submission.model_copy(update={"run": uuid.uuid4().hex})})
        for _ in range(QUEUED)
    ]
    begin = time.monotonic()
    fleet.submit(queued)
    yield Figure("submit, in batches", [QUEUED / (time.monotonic() - begin)], "runs/s")
    yield Figure(f"page of 50 of {QUEUED:,} queued", times(fleet, 0), "ms", 100)
    yield Figure("the last page", times(fleet, QUEUED - 50), "ms", 100)
    fleet.close()


def times(fleet: Fleet, offset: int) -> list[float]:
    """Return the milliseconds of several lists."""
    found = []
    for _ in range(LISTS):
        begin = time.monotonic()
        page: Sequence[object] = fleet.page(50, offset)
        found.append((time.monotonic() - begin) * 1000)
        assert len(page) == 50
    return found


if __name__ == "__main__":
    main()
