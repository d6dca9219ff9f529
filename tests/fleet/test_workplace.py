"""The steps of legs on several machines, in one process: work trees, landing, retries and ends."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fleet.test_authority import authority, now, stored
from tests.harness.model_rules import text_of
from tideate_core import config
from tideate_core.errors import RemoteFailed, SubmissionRefused
from tideate_core.fleet import SignedSubmission, State, Submission
from tideate_core.fleet.database import open_engine
from tideate_core.fleet.legs import Leg, LegResult
from tideate_core.fleet.objects import Kind, Objects
from tideate_core.fleet.workplace import Workplace
from tideate_core.portable import Answer, Question
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fleet.site import Database, Site
    from tests.harness.model_server import ModelServer
    from tideate_core.fleet.authority import VerifiedLeg

APPLY = {"path": "a.txt", "how": "replace", "text": "two"}


@dataclass
class Machines:
    """Workers of one fleet without DBOS."""

    site: Site
    objects: Objects

    def worker(self, name: str) -> Workplace:
        return Workplace(
            name,
            config.load_config(None).config,
            self.site.place / name,
            self.objects,
            self.objects.authority,
            2,
        )

    async def leg(self, address: str, **changes: Any) -> VerifiedLeg:
        given = {"workflow": "apply", "inputs": APPLY, "repo": address, "by": "Ana <ana@example.org>"}
        wanted = Submission.model_validate({**given, "at": now(), **changes})
        signed = SignedSubmission.make(wanted, self.site.key)
        return await self.verified(Leg(signed=signed, run=wanted.run))

    async def verified(self, leg: Leg) -> VerifiedLeg:
        return await self.objects.authority.verify(stored(leg))

    async def answered(self, leg: VerifiedLeg, result: LegResult, accepted: bool = True) -> VerifiedLeg:
        assert result.question is not None
        question = Question.read(self.objects.get(leg, result.question), leg.run)
        answer = Answer.of_decision(question, "1" * 40, Decision(accepted, by="user"), "Ana", now())
        following = self.objects.authority.following(leg, result, answer.model_dump(mode="json"))
        return await self.verified(following)


@pytest.fixture
def machines(site: Site, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    for name, value in site.env(site.home("machine")).items():
        monkeypatch.setenv(name, value)
    engine = open_engine(site.database)
    objects = Objects(engine, authority(site.key))
    objects.create()
    yield Machines(site, objects)
    engine.dispose()


async def to_question(worker: Workplace, leg: VerifiedLeg) -> LegResult:
    return await worker.advance(leg, await worker.prepare(leg))


def forbid_removals(address: str) -> None:
    """Let a repository keep all refs."""
    hook = Path(address.removeprefix("file://"), "hooks", "update")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n[ $3 != {'0' * 40} ]\n")
    hook.chmod(0o755)


async def no() -> bool:
    return False


async def yes() -> bool:
    return True


async def test_a_left_work_tree_is_used_only_if_it_is_of_the_newest_bundle(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    here, there = machines.worker("here"), machines.worker("there")
    first = await machines.leg(address)
    asked = await to_question(here, first)
    assert asked.state is State.WAITING
    tree = here.trees.place / first.leg.id
    (tree / "left").touch()
    assert (await to_question(here, first)).state is State.WAITING
    assert (tree / "left").exists()
    asked = await to_question(there, first)
    assert (await to_question(here, first)).state is State.WAITING
    assert not (tree / "left").exists()
    second = await machines.answered(first, asked)
    ended = await to_question(here, second)
    assert (ended.state, ended.files) == (State.COMPLETED, ("a.txt",))
    (here.trees.place / second.leg.id / "a.txt").write_text("stale\n")
    cancelled = await here.land(second, ended, yes)
    assert cancelled.branch is None
    landed = await here.land(second, ended, no)
    assert landed.branch is not None
    assert machines.site.file(address, landed.branch, "a.txt") == "two\n"
    again = await there.land(second, ended, no)
    assert again.landed == landed.landed
    bare = address.removeprefix("file://")
    when = machines.site.git("--git-dir", bare, "log", "-1", "--format=%ct", landed.branch)
    assert int(when) == ended.at // 1000
    await here.finish(second, landed)
    assert here.leftover_trees() == [first.leg.id]


async def test_the_time_limit_is_of_the_run_and_not_of_a_leg(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker = machines.worker("here")
    first = await machines.leg(address, timeout=600)
    asked = await to_question(worker, first)
    assert asked.state is State.WAITING
    second = await machines.answered(first, asked.model_copy(update={"worked": 600}))
    late = await to_question(worker, second)
    assert (late.state, late.message) == (State.FAILED, "the run worked longer than its limit of 600 s")


async def test_a_tree_in_use_is_not_swept(machines: Machines) -> None:
    worker = machines.worker("here")
    leg = await machines.leg("file:///nowhere")
    async with worker.trees.hold(leg.leg.id) as tree:
        tree.path.mkdir()
        worker.forget(leg.leg.id)
        assert worker.leftover_trees() == [leg.leg.id]
        assert tree.path.exists()
    worker.forget(leg.leg.id)
    assert worker.leftover_trees() == []
    async with worker.trees.hold(leg.leg.id):
        assert worker.leftover_trees() == [leg.leg.id]


async def test_a_retry_of_a_failed_landing_asks_nobody_again(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker, other = machines.worker("here"), machines.worker("there")
    first = await machines.leg(address)
    second = await machines.answered(first, await to_question(worker, first))
    ended = await to_question(worker, second)
    landed = await worker.land(second, ended, no)  # pushed, and the reply was lost
    await worker.finish(second, None)
    third = await machines.verified(second.leg.again(3, None))
    again = await to_question(other, third)
    assert (again.state, again.files) == (State.COMPLETED, ("a.txt",))
    assert (await other.land(third, again, no)).landed == landed.landed


async def test_a_declined_run_is_retried_from_its_question(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker = machines.worker("here")
    first = await machines.leg(address)
    second = await machines.answered(first, await to_question(worker, first), accepted=False)
    declined = await to_question(worker, second)
    assert declined.state is State.DECLINED
    third = await machines.verified(second.leg.again(3, declined))
    assert (await to_question(worker, third)).state is State.WAITING


async def test_a_retry_continues_a_failed_run(machines: Machines, server: ModelServer) -> None:
    site = machines.site
    site.use(server)
    site.more = "bundle_every = 1\n"
    folder = site.home("machine") / "config" / "tideate" / "workflows"
    folder.mkdir()
    steps = "steps:\n  - {id: a, task: First}\n  - {id: b, task: Second, dependencies: [a]}\n"
    (folder / "two.yaml").write_text(steps)
    server.answers("First", "one")
    address = site.remote("one")
    worker, other = machines.worker("here"), machines.worker("there")
    first = await machines.leg(address, workflow="two", inputs={})
    failed = await to_question(worker, first)
    assert failed.state is State.FAILED, failed
    server.answers("Second", "two")
    second = await machines.verified(first.leg.again(2, failed))
    ended = await to_question(other, second)
    asked = [text_of(body) for body in server.requests]
    assert (ended.state, sum("Second" not in text for text in asked)) == (State.COMPLETED, 1)


async def test_a_bundle_of_another_request_is_refused(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker = machines.worker("here")
    one = await machines.leg(address, inputs={**APPLY, "text": "evil"})
    asked = await to_question(worker, one)
    assert asked.bundle is not None
    content = machines.objects.get(one, asked.bundle)
    genuine = await machines.leg(address, run=one.run)
    machines.objects.put(genuine, Kind.OPEN, content)  # even with a seal
    with pytest.raises(SubmissionRefused, match="another request or commit"):
        await to_question(machines.worker("there"), genuine)


async def test_land_refuses_what_the_submission_does_not_say(machines: Machines) -> None:
    leg = await machines.leg("file:///nowhere", land=False)
    result = LegResult(state=State.COMPLETED, commit="1" * 40, bundle="b" * 64)
    with pytest.raises(SubmissionRefused, match="wants no branch"):
        await machines.worker("here").land(leg, result, no)


async def test_every_end_removes_the_question_from_the_inbox(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker = machines.worker("here")
    leg = await machines.leg(address)
    asked = await to_question(worker, leg)
    await worker.ask(leg, asked)
    assert any(leg.run in ref for ref in machines.site.refs(address))
    await worker.finish(leg, asked)
    assert any(leg.run in ref for ref in machines.site.refs(address))
    await machines.worker("there").finish(await machines.verified(leg.leg.cancelling(2)), None)
    assert not any(leg.run in ref for ref in machines.site.refs(address))


async def test_a_repository_that_keeps_the_refs_decides_no_end(machines: Machines) -> None:
    address = machines.site.remote("one", {"a.txt": "one\n"})
    worker = machines.worker("here")
    leg = await machines.leg(address)
    asked = await to_question(worker, leg)
    await worker.ask(leg, asked)
    forbid_removals(address)
    ending = await machines.verified(leg.leg.cancelling(2))
    await machines.worker("there").finish(ending, None)
    await machines.worker("there").finish(ending, None)  # as after a crash
    inbox = await worker.inbox(address)
    refs = await inbox.refs_of(address, leg.run)
    assert refs is not None
    mark = await inbox.mark(refs, 1)
    assert mark is not None and mark.ended
    shutil.rmtree(address.removeprefix("file://"))
    with pytest.raises(RemoteFailed):
        await machines.worker("there").finish(ending, None)


async def test_the_error_of_an_unknown_workflow_is_told(machines: Machines) -> None:
    address = machines.site.remote("one")
    result = await to_question(machines.worker("here"), await machines.leg(address, workflow="nosuch"))
    assert result.state is State.FAILED
    assert "nosuch" in result.message
    assert str(machines.site.place) not in result.message
