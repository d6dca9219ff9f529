"""Faults that other reviews of agents' changes were reported with, tried on landings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builtin.test_landing import Session, deciding, prepared, session
from tests.harness.project import git
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["session"]

pytestmark = pytest.mark.slow


@pytest.fixture
async def second(session: Session) -> AsyncIterator[Session]:
    """Another session of the same project, begun at the same time."""
    copy = await prepared(session.bench.root)
    await copy.open()
    yield Session(session.bench, copy)
    await copy.discard()


async def test_an_older_session_does_not_bring_back_what_a_later_one_replaced(
    session: Session, second: Session
) -> None:
    await session.agent("echo 'Hello World' > hello.md; sed -i 's/two/TWO/' a.txt")
    await second.agent("echo 'Hello Harald' > hello.md; sed -i 's/four/FOUR/' a.txt")
    await second.land(session=second.copy.id)
    await session.land(session=session.copy.id)
    assert session.text("hello.md") == "Hello Harald\n"
    assert session.text() == "one\nTWO\nthree\nFOUR\nfive\n"


async def test_a_line_that_the_person_restored_by_hand_stays_restored(session: Session) -> None:
    await session.agent("sed -i 's/two/2/' a.txt")
    await session.land()
    session.bench.write("a.txt", session.text().replace("2", "two"))
    await session.agent("sed -i 's/three/3/' a.txt")
    await session.land()
    assert session.text() == "one\ntwo\n3\nfour\nfive\n"


async def test_a_rejected_new_file_leaves_no_empty_one_and_a_rejected_deletion_the_file(
    session: Session,
) -> None:
    await session.agent("echo 1 > new; rm b.txt")
    await session.land(deciding(new=([], [0]), b=([], [0])))
    assert not (session.bench.root / "new").exists()
    assert session.text("b.txt") == "b\n"


async def test_a_file_that_the_person_creates_meanwhile_survives_a_rejection(session: Session) -> None:
    await session.agent("echo theirs > new")
    session.bench.write("new", "mine\n")
    await session.land(deciding(new=([], [0])))
    assert session.text("new") == "mine\n"


async def test_a_hunk_lands_at_its_place_after_another_one_made_the_file_longer(session: Session) -> None:
    await session.agent("sed -i 's/one/one\\nmore\\nlines/; s/five/FIVE/' a.txt")
    await session.land(deciding(a=([0], [])))
    assert session.text() == "one\nmore\nlines\ntwo\nthree\nfour\nfive\n"
    await session.land()
    assert session.text() == "one\nmore\nlines\ntwo\nthree\nfour\nFIVE\n"


async def test_a_rollback_keeps_what_was_not_committed_before_and_what_was_typed_after(
    session: Session,
) -> None:
    session.bench.write("a.txt", "uncommitted\n" + session.text())
    git(session.bench.root, "rm", "-q", "b.txt")
    await session.agent("sed -i 's/five/FIVE/' a.txt; git checkout -q b.txt || true")
    result = await session.land()
    session.bench.write("a.txt", session.text().replace("two", "later"))
    await session.bench.workspace().rollback(result.execution_id)
    assert session.text() == "uncommitted\none\nlater\nthree\nfour\nfive\n"
    assert not (session.bench.root / "b.txt").exists()


async def test_a_deleted_script_is_executable_again_after_a_rollback(session: Session) -> None:
    script = session.bench.root / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    copy = await prepared(session.bench.root)
    await copy.open()
    try:
        later = Session(session.bench, copy)
        await later.agent("rm run.sh")
        result = await later.land(session=copy.id)
        assert not script.exists()
        await session.bench.workspace().rollback(result.execution_id)
        assert script.stat().st_mode & 0o777 == 0o755
    finally:
        await copy.discard()


async def test_landing_twice_or_after_a_decline_deletes_nothing(session: Session) -> None:
    await session.agent("echo 1 > new; echo more >> b.txt")
    await session.land(lambda _: Decision(False))
    await session.land()
    result = await session.land(session=session.copy.id)
    assert (result.ok, result.files) == (True, [])
    assert (session.text("new"), session.text("b.txt")) == ("1\n", "b\nmore\n")


async def test_a_last_line_end_lands_exactly(session: Session) -> None:
    await session.agent("printf 'no end' > b.txt; printf '%s' \"$(cat a.txt)\" > a.txt")
    await session.land()
    assert (session.text("b.txt"), session.text()[-4:]) == ("no end", "five")


async def test_shell_effects_of_every_kind_land_and_are_rolled_back(session: Session) -> None:
    (session.bench.root / "a.txt").chmod(0o644)
    await session.copy.update()
    await session.agent("mkdir -p d/e; mv b.txt d/e/moved.txt; printf '\\0\\1' > bin")
    await session.agent("ln -s a.txt link; chmod 600 a.txt; rm -rf .git 2> /dev/null || true")
    result = await session.land()
    root = session.bench.root
    assert ((root / "d/e/moved.txt").read_text(), (root / "bin").read_bytes()) == ("b\n", b"\0\1")
    assert ((root / "link").is_symlink(), (root / "a.txt").stat().st_mode & 0o777) == (True, 0o600)
    assert git(root, "log", "--format=%s").strip() == "first"
    await session.bench.workspace().rollback(result.execution_id)
    assert sorted(path.name for path in root.iterdir() if path.name[0] != ".") == ["a.txt", "b.txt"]
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o644
