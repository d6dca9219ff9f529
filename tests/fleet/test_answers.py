"""Looks for answers: no repository and no row of others stops them, and each reason is shown."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import OperationalError

from tests.fleet.reviewer import Reviewer
from tests.fleet.site import eventually
from tests.fleet.test_serializing import APPLY, add, connect, open_tables
from tests.fleet.test_submission import submission
from tideate_core.config import Config
from tideate_core.errors import FleetError
from tideate_core.fleet import Fleet, SignedSubmission
from tideate_core.fleet.answers import FAILURES, AnswerPoller
from tideate_core.fleet.authority import Authority, VerifiedLeg
from tideate_core.fleet.database import open_client, open_engine
from tideate_core.fleet.legs import Leg, LegResult, OpenQuestion, State
from tideate_core.fleet.objects import Objects
from tideate_core.fleet.seals import Seals
from tideate_core.fleet.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbos import DBOSClient, WorkflowStatus

    from tests.fleet.site import Site

DIGEST = "0" * 64


@pytest.fixture(autouse=True)
def own_home(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reviewer's git is not the tester's."""
    monkeypatch.setenv("HOME", str(site.home("reviewer")))


class SilentServer:
    """Accepts connections and says nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/x.git"
        self.open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self.open.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, *self.open):
            one.close()


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.close()


def authority(site: Site, queue: str = "tideate") -> Authority:
    return Authority([site.fingerprint], queue, Seals.of(site.secret.strip()))


def waiting(site: Site, address: str, *, signed: bool = True, queue: str = "tideate", **shape: Any) -> str:
    """Write the row of a run that waits for an answer; return its id."""
    wanted = submission(repo=address, queue=queue)
    one = (
        SignedSubmission.make(wanted, site.key)
        if signed
        else SignedSubmission(submission=wanted, signature="x")
    )
    question = OpenQuestion(n=1, kind="review", workflow="w", step="s", message="m", digest=DIGEST)
    result = LegResult(state=State.WAITING, asked=question, bundle=DIGEST)
    genuine = Leg(signed=one, run=wanted.run)
    leg = shape or genuine.model_dump(mode="json")
    sealed = authority(site, queue).seal_result(VerifiedLeg(genuine, wanted.digest()), result)
    add(
        site.database,
        run=wanted.run,
        serialization="portable_json",
        inputs=json.dumps({"positionalArgs": [leg], "namedArgs": {}}),
        output=json.dumps(sealed),
        attributes=json.dumps({"waiting": True, "repo": address}),
    )
    with connect(site.database) as connection:
        connection.execute(
            "UPDATE dbos.workflow_status SET queue_name = %s WHERE workflow_uuid = %s",
            (queue, f"{wanted.run}-1"),
        )
    return wanted.run


@contextmanager
def polling(site: Site, tmp_path: Path, queue: str = "tideate") -> Iterator[AnswerPoller]:
    """Return a poller of this process."""
    config = Config.model_validate({"fleet": {"allow": [site.fingerprint]}})
    engine, client = open_engine(site.database), open_client(site.database)
    workers = authority(site, queue)
    place = Workplace("w", config, tmp_path / "fleet", Objects(engine, workers), workers, 1)
    yield AnswerPoller(place, client, queue)
    client.destroy()
    engine.dispose()


def shown(site: Site, run: str) -> str:
    fleet = Fleet(site.database)
    try:
        return fleet.show(run).inbox
    finally:
        fleet.close()


def test_neither_silent_repositories_nor_hostile_rows_stop_a_worker(site: Site, silent: SilentServer) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    worker = site.worker("first").wait_ready()
    hanging = waiting(site, silent.address)
    bad = [waiting(site, address, nothing=1), waiting(site, address, signed=False)]
    run = site.submit(*APPLY, "--repo", address)
    site.wait_for(run, "waiting")
    eventually(lambda: silent.open)
    assert Reviewer(site.place / "reviewer").answer(address) == 1
    assert site.wait_for(run, "completed")
    assert [site.show(one)["inbox"] != "" for one in (*bad, hanging)] == [True, True, False]
    assert worker.stop() == 0


async def test_only_addresses_of_verified_submissions_are_contacted(
    site: Site, silent: SilentServer, tmp_path: Path
) -> None:
    open_tables(site.database)
    forged = waiting(site, silent.address, signed=False)
    with polling(site, tmp_path) as poller:
        await poller.poll()
        assert "signature does not match" in shown(site, forged)
        run = waiting(site, silent.address)
        await poller.poll()
        assert await asyncio.to_thread(eventually, lambda: silent.open)
        await poller.close()
    assert shown(site, run) == ""


async def test_a_poller_looks_only_after_its_own_queue(
    site: Site, silent: SilentServer, tmp_path: Path
) -> None:
    open_tables(site.database)
    waiting(site, silent.address, queue="other")
    with polling(site, tmp_path) as poller:
        await poller.poll()
        await poller.close()
    assert not silent.open


async def test_an_unreadable_inbox_is_shown_and_left_to_another_worker(site: Site, tmp_path: Path) -> None:
    open_tables(site.database)
    run = waiting(site, f"file://{tmp_path}/nosuch")
    with polling(site, tmp_path) as poller:
        for failures in range(1, FAILURES + 1):
            assert not poller.fails()
            for inbox in poller._inboxes.values():
                inbox.due = 0.0
            await poller.poll()
            (inbox,) = poller._inboxes.values()
            assert inbox.look is not None
            await inbox.look
            assert inbox.failures == failures
        assert poller.fails()
    assert "cannot be read" in shown(site, run)
    assert len(shown(site, run)) <= 300


def test_the_reason_why_an_answer_does_not_count_is_shown(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    site.worker("first").wait_ready()
    run = site.submit(*APPLY, "--repo", address)
    site.wait_for(run, "waiting")
    answer = f"refs/tideate/answers/{run}/1"
    work = site.place / "one.work"
    site.git("push", "-q", address, f"HEAD:{answer}", cwd=work)
    assert "the published commit" in eventually(lambda: site.show(run)["inbox"])
    assert "the published commit" in site.run("fleet", "show", run).stdout
    site.git("push", "-q", address, f":{answer}", cwd=work)
    assert Reviewer(site.place / "reviewer").answer(address) == 1
    assert site.wait_for(run, "completed")["inbox"] == ""


class Away:
    """A client whose database goes away."""

    def __init__(self, client: DBOSClient) -> None:
        self.client = client
        self.away = False

    def list_workflows(self, **options: Any) -> list[WorkflowStatus]:
        if self.away:
            raise OperationalError("SELECT", {}, Exception("the server closed the connection"))
        return self.client.list_workflows(**options)


async def test_a_lost_database_is_no_failure_of_a_repository(site: Site, tmp_path: Path) -> None:
    open_tables(site.database)
    address = site.remote("one")
    run = waiting(site, address)
    site.git("push", "-q", address, f"HEAD:refs/tideate/answers/{run}/1", cwd=site.place / "one.work")
    with polling(site, tmp_path) as poller:
        away = Away(poller.client)
        poller.client = away  # type: ignore[assignment]
        await poller.poll()
        away.away = True  # before the look has begun
        (inbox,) = poller._inboxes.values()
        assert inbox.look is not None
        await inbox.look
        assert (inbox.failures, inbox.look.exception()) == (0, None)
        with pytest.raises(FleetError, match="closed the connection"):
            await poller.poll()
