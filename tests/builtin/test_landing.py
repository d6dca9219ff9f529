"""The workflow `land`: sessions in guarded copies are reviewed, written and brought up to the project."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.landing_child import RUN
from tests.harness.project import git
from tideate_core.app.commit import message_of
from tideate_core.engine import PolicyFrontEnd
from tideate_core.snapshots import GuardedCopy, GuardSession, GuardState, create_session
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, WorkflowResult

pytestmark = pytest.mark.slow

BASE = "one\ntwo\nthree\nfour\nfive\n"
PERSON = "-c user.name=a -c user.email=a@b.example"
AGENT = "sed -i 's/one/ONE/; s/five/FIVE/' a.txt"
LANDED = "ONE\ntwo\nthree\nfour\nFIVE\n"


class Session:
    """A program in a guarded copy, and landings of its changes."""

    def __init__(self, bench: Bench, copy: GuardedCopy) -> None:
        self.bench = bench
        self.copy = copy

    async def agent(self, script: str) -> str:
        """Run a script in the copy, and return its output."""
        environment = dict(self.copy.environment(dict(os.environ)))
        process = await asyncio.create_subprocess_exec(
            *self.copy.command(["sh", "-ec", script]),
            env=environment,
            cwd=self.copy.root if self.copy.kind == "copy" else None,
            stdout=asyncio.subprocess.PIPE,
        )
        told, _ = await process.communicate()
        assert process.returncode == 0
        return told.decode()

    async def land(
        self, answer: Callable[[ConfirmationRequest], Decision] = lambda _: Decision(True), **inputs: str
    ) -> WorkflowResult:
        self.bench.front.answer = answer
        return await self.bench.run("land", inputs=inputs)

    def text(self, name: str = "a.txt") -> str:
        return (self.bench.root / name).read_text()


async def prepared(root: Path) -> GuardedCopy:
    """Return a copy with the record of a session."""
    copy = await GuardedCopy.prepare(root)
    session = GuardSession(id=copy.id, argv=("sh",), created=1, state=GuardState.WAITING)
    create_session(copy.place, session)
    return copy


@pytest.fixture
async def session(bench: Bench) -> AsyncIterator[Session]:
    bench.write("a.txt", BASE)
    bench.write("b.txt", "b\n")
    git(bench.root, "init", "-q")
    git(bench.root, "add", "-A", "--", ".", ":!.tideate")
    git(bench.root, "commit", "-q", "-m", "first")
    copy = await prepared(bench.root)
    await copy.open()
    yield Session(bench, copy)
    await copy.discard()


def outcome(result: WorkflowResult, step: str = "land") -> dict[str, Any]:
    found: Any = result.results[step]
    return dict(found)


def deciding(**files: tuple[list[int], list[int]]) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer with accepted and rejected hunks by file; files without one stay open."""

    def answer(request: ConfirmationRequest) -> Decision:
        verdicts = []
        for file in request.payload["files"]:
            accepted, rejected = files.get(file["path"].partition(".")[0], ([], []))
            verdicts.append({"path": file["path"], "accepted": accepted, "rejected": rejected})
        return Decision(any(one["accepted"] for one in verdicts), {"files": verdicts})

    return answer


async def test_accepted_changes_land_and_the_copy_has_the_project(session: Session) -> None:
    await session.agent(f"{AGENT}; echo new > new.txt; rm b.txt")
    result = await session.land()
    assert (result.ok, sorted(result.files)) == (True, ["a.txt", "b.txt", "new.txt"])
    assert (session.text(), session.text("new.txt")) == (LANDED, "new\n")
    assert not (session.bench.root / "b.txt").exists()
    assert not await session.copy.difference()


async def test_the_program_gets_the_persons_files_and_its_rejected_hunks_are_gone(session: Session) -> None:
    await session.agent(AGENT)
    session.bench.write("b.txt", "mine\n")
    await session.land(deciding(a=([0], [1])))
    assert await session.agent("cat a.txt b.txt") == BASE.replace("one", "ONE") + "mine\n"
    assert not await session.copy.difference()


async def test_rejections_are_in_a_file_that_the_program_can_read(session: Session) -> None:
    await session.agent(AGENT)
    result = await session.land(deciding(a=([0], [1])))
    told = await session.agent("cat .tideate/feedback.md; echo .")
    assert "+FIVE" in told
    assert told.splitlines()[-1] == "."
    assert "+FIVE" in outcome(result, "update")["feedback"]
    assert ".tideate" not in await session.agent("git add -A && git status --short")
    assert not (session.bench.root / ".tideate/feedback.md").exists()


async def test_a_program_that_blocks_the_file_of_rejections_does_not_end_the_landing(
    session: Session,
) -> None:
    await session.agent(f"{AGENT}; mkdir -p .tideate/feedback.md")
    result = await session.land(deciding(a=([0], [1])))
    assert (result.ok, session.text()) == (True, BASE.replace("one", "ONE"))
    assert "feedback_file" not in outcome(result, "update")
    assert await session.agent("cat a.txt") == BASE.replace("one", "ONE")


async def test_a_name_that_is_no_text_is_left_and_all_else_lands(session: Session) -> None:
    await session.agent(f"{AGENT}; echo 1 > \"$(printf 'bad\\377')\"")
    result = await session.land()
    assert (result.ok, session.text()) == (True, LANDED)
    assert outcome(result)["left"] == {"bad\\xff": "its name is not UTF-8"}
    assert list((await session.copy.difference()).files) == ["bad\udcff"]


async def test_open_files_stay_in_the_session_for_the_next_landing(session: Session) -> None:
    await session.agent(f"{AGENT}; echo more >> b.txt; mkdir made; echo 1 > made/x; echo 1 > y")
    await session.land(deciding(a=([0, 1], []), y=([], [0])))
    assert await session.agent("cat b.txt made/x; ls") == "b\nmore\n1\na.txt\nb.txt\nmade\n"
    await session.land()
    assert (session.text("b.txt"), session.text("made/x")) == ("b\nmore\n", "1\n")
    shown = [file["path"] for file in session.bench.front.requests[-1].payload["files"]]
    assert shown == ["b.txt", "made/x"]


async def test_changes_that_the_program_makes_during_the_review_wait_for_the_next(session: Session) -> None:
    await session.agent(AGENT)
    later = asyncio.Event()

    async def program() -> None:
        await later.wait()
        await session.agent("sed -i 's/three/THREE/' a.txt; echo late > late.txt")

    task = asyncio.create_task(program())
    session.bench.front.hold = True
    landing = session.bench.begin("land")
    await session.bench.front.until_asked()
    later.set()
    await task
    session.bench.front.hold = False
    landing.cancel()
    await asyncio.gather(landing, return_exceptions=True)
    result = await session.land()
    assert result.ok
    assert session.text() == LANDED.replace("three", "THREE")


async def test_a_conflict_is_left_by_a_policy_and_named(session: Session) -> None:
    await session.agent(AGENT)
    session.bench.write("a.txt", BASE.replace("five", "mine"))
    session.bench.runner = session.bench.make_runner(session.bench.config, front=PolicyFrontEnd(accept=True))
    result = await session.bench.run("land")
    assert (result.ok, outcome(result)["undecided"]) == (True, ["a.txt"])
    assert session.text() == "ONE\ntwo\nthree\nfour\nmine\n"
    assert (await session.copy.difference()).files


async def test_a_declined_landing_leaves_project_and_session(session: Session) -> None:
    await session.agent(AGENT)
    result = await session.land(lambda _: Decision(False, reason="declined"))
    assert result.cancelled
    assert session.text() == BASE
    assert await session.agent("cat a.txt") == LANDED


async def test_a_rollback_of_a_landing_brings_the_project_back(session: Session) -> None:
    await session.agent(f"{AGENT}; rm b.txt; chmod 755 a.txt; ln -s a.txt link")
    result = await session.land()
    assert (session.bench.root / "link").is_symlink()
    await session.bench.workspace().rollback(result.execution_id)
    assert (session.text(), session.text("b.txt")) == (BASE, "b\n")
    assert not (session.bench.root / "link").is_symlink()


async def test_the_messages_of_the_programs_commits_are_kept(session: Session) -> None:
    await session.agent(f"{AGENT}; git {PERSON} commit -qam 'Shout the first and the last line'")
    result = await session.land()
    assert outcome(result)["commit_message"].strip() == "Shout the first and the last line"
    assert git(session.bench.root, "log", "--format=%s").strip() == "first"
    offered = message_of(await session.bench.reader(), result.execution_id)
    assert offered == "Shout the first and the last line\n"


async def test_two_landings_of_a_session_at_once_are_refused(session: Session) -> None:
    await session.agent(AGENT)
    with (session.copy.place / "landing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = await session.land()
    assert f"the session {session.copy.id[:8]} is being landed by another run" in str(result.error)
    assert session.text() == BASE


async def test_without_changes_there_is_nothing_to_land(session: Session) -> None:
    result = await session.land()
    assert "no session has changes to land" in str(result.error)
    result = await session.land(session=session.copy.id[:6])
    assert (result.ok, result.files) == (True, [])


@pytest.mark.parametrize("wanted", ["nosuch"])
async def test_an_unknown_session_is_named(session: Session, wanted: str) -> None:
    result = await session.land(session=wanted)
    assert "no guarded session has the id 'nosuch'" in str(result.error)


async def test_with_several_sessions_one_must_be_named(session: Session) -> None:
    await session.agent(AGENT)
    other = await prepared(session.bench.root)
    await other.open()
    second = Session(session.bench, other)
    try:
        await second.agent("echo other > b.txt")
        result = await session.land()
        assert "several sessions have changes; name one: " in str(result.error)
        result = await session.land(session=other.id)
        assert result.ok
        assert (session.text(), session.text("b.txt")) == (BASE, "other\n")
    finally:
        await other.discard()


def landed_in_another_process(session: Session, call: int) -> int:
    """Land the session in a process that is killed after a call; for 0, return the number of calls."""
    argv = [sys.executable, "-m", "tests.builtin.landing_child", str(session.bench.root), str(call)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return int(done.stdout) if done.stdout else 0


KILLS, CALLS = 24, 311


@pytest.mark.parametrize("part", range(KILLS))
async def test_a_killed_landing_is_resumed_and_ends_as_accepted(session: Session, part: int) -> None:
    """Kill at moments spread over all calls that change files."""
    await session.agent(f"{AGENT}; rm b.txt; mkdir d; echo 1 > d/x; chmod 755 a.txt")
    session.bench.write("c.txt", "mine\n")
    landed_in_another_process(session, 1 + part * CALLS // KILLS)
    assert session.text() in (BASE, LANDED)
    reader = await session.bench.reader()
    if not reader.runs():  # killed before the run was stored
        assert (await session.land()).ok
    elif not reader.runs()[0].ended:
        assert (await session.bench.resume(RUN)).ok
    assert (session.text(), session.text("d/x"), session.text("c.txt")) == (LANDED, "1\n", "mine\n")
    assert not (session.bench.root / "b.txt").exists()
    assert await session.agent("cat a.txt d/x c.txt") == f"{LANDED}1\nmine\n"
    assert not await session.copy.difference()
