"""Published questions and answers on remotes of all kinds: who is first, who is told, what stays."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.portable.inbox_bench import RUN, asking, git, office
from tideate_core.errors import RefusedRef, RemoteFailed, RunTaken, WorkspaceError
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tests.portable.inbox_bench import Desk, Office

__all__ = ["office"]

YES = Decision(True, {"files": [{"path": "a.py", "accepted": [0], "rejected": []}]})
RUN_REF = f"refs/tideate/runs/{RUN}"
ANSWER_REF = f"refs/tideate/answers/{RUN}/1"
TAKEN_REF = f"refs/tideate/taken/{RUN}/1"


async def answered(desk: Desk, decision: Decision = YES) -> str | None:
    """Answer the question; return who was first if it was not this person."""
    inbox, _, asked = await desk.see()
    first = await inbox.send("origin", asked, decision)
    return None if first is None else first.answer.by


async def test_a_question_is_published_complete_and_readable(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    made = await ci.publish(asking(details="```\nrm -rf / # <b>"))
    assert office.refs()[RUN_REF] == made.commit
    files = git(office.remote, "ls-tree", "--name-only", made.commit).split()
    assert files == ["QUESTION.md", "bundle", "changes.diff", "question.json"]
    text = git(office.remote, "show", f"{made.commit}:QUESTION.md")
    assert "````text\n```\nrm -rf / # <b>\n````" in text
    assert "-two\n+TWO\n" in git(office.remote, "show", f"{made.commit}:changes.diff")
    inbox, refs, asked = await ana.see()
    assert (asked.question.n, asked.question.digest, asked.by) == (
        1,
        made.question.digest,
        "Ci <ci@example.org>",
    )
    assert (await inbox.bundle(refs)).read() == b"bundle"
    # nothing of it is in the person's own repository
    assert "tideate" not in ana.git("for-each-ref")


async def test_publishing_again_changes_nothing_and_the_next_question_has_the_next_number(
    office: Office,
) -> None:
    ci = office.desk("Ci")
    made = await ci.publish()
    same = await ci.publish()
    assert (same.commit, same.new, same.question.n) == (made.commit, False, 1)
    await answered(office.desk())
    following = await ci.publish(asking("Write it anyway?"))
    assert (following.question.n, office.refs()[RUN_REF]) == (2, following.commit)
    # the same words may be asked again after an answer
    assert (await ci.publish(asking("Write it anyway?"))).question.n == 2
    await answered(office.desk())
    assert (await ci.publish(asking("Write it anyway?"))).question.n == 3


async def test_the_first_answer_counts_and_the_second_person_is_told(office: Office) -> None:
    ci, ana, bob = office.desk("Ci"), office.desk("Ana"), office.desk("Bob")
    await ci.publish()
    both = [await one.see() for one in (ana, bob)]
    no = Decision(False, reason="declined")
    outcomes = await asyncio.gather(
        both[0][0].send("origin", both[0][2], YES), both[1][0].send("origin", both[1][2], no)
    )
    assert sum(one is None for one in outcomes) == 1
    winner, loser = ("Ana", 1) if outcomes[0] is None else ("Bob", 0)
    told = outcomes[loser]
    assert told is not None
    assert told.answer.by.startswith(winner)
    inbox, refs, asked = await ci.see()
    counted = await inbox.answer(refs, asked)
    assert counted is not None
    assert counted.answer.by == told.answer.by
    # an answer that was sent is sent again after a crash, and is the same
    first = both[0] if winner == "Ana" else both[1]
    assert await first[0].send("origin", first[2], YES if winner == "Ana" else no) is None


async def test_an_answer_to_another_question_does_not_count(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    await answered(ana)
    shape = json.loads(git(office.remote, "show", f"{ANSWER_REF}:answer.json"))
    inbox, refs, asked = await ci.see()
    for key, value in (("n", 2), ("digest", "0" * 32), ("commit", "0" * 40), ("run", "f" * 32)):
        office.forge(ANSWER_REF, {"answer.json": json.dumps({**shape, key: value}).encode()})
        inbox, refs, asked = await ci.see()
        with pytest.raises(RefusedRef, match="another question"):
            await inbox.answer(refs, asked)


async def test_an_answer_to_a_replaced_question_is_not_sent(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    inbox, _, asked = await ana.see()
    office.forge(RUN_REF, {"question.json": b"{}"})
    with pytest.raises(RefusedRef, match="no longer open"):
        await inbox.send("origin", asked, YES)
    git(office.remote, "update-ref", "-d", RUN_REF)
    with pytest.raises(RefusedRef, match="no longer open"):
        await inbox.send("origin", asked, YES)
    assert ANSWER_REF not in office.refs()


async def test_a_sent_answer_is_not_sent_again_after_the_end_of_its_run(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    inbox, _, asked = await ana.see()
    assert await inbox.send("origin", asked, YES) is None
    git(office.remote, "update-ref", "-d", ANSWER_REF)  # as whoever removes the refs does first
    git(office.remote, "update-ref", "-d", RUN_REF)
    with pytest.raises(RefusedRef, match="no longer open"):
        await inbox.send("origin", asked, YES)
    assert ANSWER_REF not in office.refs()


async def test_a_rewritten_run_is_refused_where_it_was_published(office: Office) -> None:
    ci, eve = office.desk("Ci"), office.desk("Eve")
    made = await ci.publish()
    data = git(office.remote, "show", f"{made.commit}:question.json").encode()
    office.forge(RUN_REF, {"bundle": b"evil", "question.json": data})
    inbox, refs, asked = await ci.see()
    with pytest.raises(RefusedRef, match="rewritten"):
        await inbox.check_run(refs, asked)
    await inbox.check_run(refs, asked, again=True)
    with pytest.raises(RefusedRef, match="rewritten"):
        await ci.publish(asking("the next"))
    # a machine that knows nothing of it cannot tell; only signatures help there
    inbox, refs, asked = await eve.see()
    await inbox.check_run(refs, asked)


async def test_of_two_jobs_that_continue_a_run_only_the_first_continues(office: Office) -> None:
    ci, one, two = office.desk("Ci"), office.desk("One"), office.desk("Two")
    await ci.publish()
    seen = [await desk.see() for desk in (one, two)]
    outcomes = await asyncio.gather(
        *(inbox.take("origin", refs, asked, again=False) for inbox, refs, asked in seen),
        return_exceptions=True,
    )
    failed = [one for one in outcomes if one is not None]
    assert len(failed) == 1
    assert isinstance(failed[0], RunTaken)
    assert "continued run 01234567 at 20" in str(failed[0])
    loser = seen[outcomes.index(failed[0])]
    inbox, refs, asked = loser[0], await loser[0].find("origin", RUN), loser[2]
    await inbox.take("origin", refs, asked, again=True)
    # the job that lost it does not get it back, except by --again
    winner = seen[1 - outcomes.index(failed[0])]
    with pytest.raises(RunTaken):
        await winner[0].take("origin", winner[1], winner[2], again=False)


async def test_of_two_parallel_jobs_with_one_name_only_the_first_continues(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers that a timer starts have one name, and commits of equal content have one id."""
    await office.desk("Ci").publish()
    monkeypatch.setattr("tideate_core.portable.inbox.now_ms", lambda: 1_700_000_000_000)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_DATE", "1700000000 +0000")
    seen = [await office.desk("Job").see() for _ in range(2)]
    await seen[0][0].take("origin", *seen[0][1:], again=False)
    with pytest.raises(RunTaken):
        await seen[1][0].take("origin", *seen[1][1:], again=False)


async def test_only_the_version_that_this_machine_published_is_its_own(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    inbox, refs, _ = await ci.see()
    assert inbox.is_own(refs)
    assert not (await office.desk().inbox()).is_own(refs)
    office.forge(RUN_REF, dict.fromkeys(("bundle", "question.json"), b""))
    assert not inbox.is_own(await inbox.find("origin", RUN))


async def test_a_run_that_another_machine_continued_may_have_another_question(office: Office) -> None:
    ci, bob = office.desk("Ci"), office.desk("Bob")
    await ci.publish()
    await answered(office.desk())
    inbox, refs, asked = await bob.see()
    await inbox.check_run(refs, asked)
    await inbox.take("origin", refs, asked, again=False)
    await bob.publish(asking("the next"))
    inbox, refs, asked = await ci.see()
    await inbox.check_run(refs, asked)
    assert asked.question.n == 2


async def test_the_refs_of_an_ended_run_are_removed(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    await answered(office.desk())
    inbox, refs, asked = await ci.see()
    await inbox.take("origin", refs, asked, again=False)
    assert sorted(office.refs()) == ["refs/heads/main", ANSWER_REF, RUN_REF, TAKEN_REF]
    await inbox.remove("origin", await inbox.find("origin", RUN))
    assert sorted(office.refs()) == ["refs/heads/main"]
    # an answer that came too late is removed by prune, which keeps the refs of others
    office.forge(ANSWER_REF, {"answer.json": b"{}"})
    office.forge("refs/tideate/other", {"x": b""})
    assert await inbox.prune("origin", []) == [ANSWER_REF]
    assert sorted(office.refs()) == ["refs/heads/main", "refs/tideate/other"]


REFUSALS = {
    "pre-receive": "while read old new ref; do case $ref in refs/tideate/*) "
    "echo no custom refs >&2; exit 1;; esac; done",
    "update": "case $1 in refs/tideate/*) echo no custom refs >&2; exit 1;; esac",
}


@pytest.mark.parametrize("hook", REFUSALS)
async def test_a_remote_that_refuses_custom_refs_gets_branches(office: Office, hook: str) -> None:
    office.hook(hook, REFUSALS[hook])
    ci, ana = office.desk("Ci"), office.desk()
    made = await ci.publish()
    assert made.ref == f"refs/heads/tideate/runs/{RUN}"
    await answered(ana)
    inbox, refs, asked = await ci.see()
    await inbox.take("origin", refs, asked, again=False)
    names = {f"refs/heads/tideate/{kind}" for kind in (f"runs/{RUN}", f"answers/{RUN}/1", f"taken/{RUN}/1")}
    assert names < office.refs().keys()
    assert await inbox.answer(refs, asked) is not None
    await inbox.remove("origin", await inbox.find("origin", RUN))
    assert [*office.refs()] == ["refs/heads/main"]


async def test_a_remote_that_refuses_everything_is_reported_with_its_message(office: Office) -> None:
    office.hook("pre-receive", "echo 'this is a mirror' >&2; exit 1")
    with pytest.raises(RemoteFailed, match="this is a mirror"):
        await office.desk("Ci").publish()
    assert [*office.refs()] == ["refs/heads/main"]


async def test_a_branch_in_the_way_of_the_namespace_is_named(office: Office) -> None:
    office.hook("update", REFUSALS["update"])
    git(office.remote, "branch", "tideate", "main")
    with pytest.raises(RemoteFailed, match="refs/heads/tideate"):
        await office.desk("Ci").publish()


async def test_hidden_refs_are_like_refused_ones(office: Office) -> None:
    git(office.remote, "config", "transfer.hideRefs", "refs/tideate")
    made = await office.desk("Ci").publish()
    assert made.ref == f"refs/heads/tideate/runs/{RUN}"


@pytest.mark.slow
async def test_the_namespace_can_be_chosen(office: Office) -> None:
    ci = office.desk("Ci")
    inbox = await ci.inbox(refs="branches")
    question, refs = await inbox.next_question("origin", RUN, asking(), "project")
    made = await inbox.publish("origin", question, b"", refs)
    assert made.ref == f"refs/heads/tideate/runs/{RUN}"
    _, refs, _ = await ci.see()
    assert refs.names() == {made.ref: made.commit}


async def test_a_run_of_an_actions_checkout_is_published(office: Office) -> None:
    """Depth 1, a detached HEAD, no identity, and the token in a header of the repository's own settings."""
    ci = office.desk("Ci", "--depth=1")
    ci.git("checkout", "-q", "--detach")
    for key in ("user.name", "user.email"):
        ci.git("config", "--unset", key)
    ci.git("config", "http.https://git.example/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    made = await ci.publish()
    log = git(office.remote, "log", "-1", "--format=%an <%ae> %P", made.commit)
    assert log == "tideate <tideate@localhost>"
    assert (await office.desk().see())[2].question.n == 1


@pytest.mark.slow
async def test_a_worktree_has_the_inbox_of_its_repository(office: Office) -> None:
    await office.desk("Ci").publish()
    ana = office.desk()
    ana.git("worktree", "add", "-q", str(office.place / "tree"))
    ana.root = office.place / "tree"
    assert await answered(ana) is None
    assert ANSWER_REF in office.refs()


@pytest.mark.slow
async def test_packed_refs_and_a_repository_with_many_refs(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    lines = "".join(f"create refs/heads/many/{at} HEAD\n" for at in range(2_000))
    git(office.remote, "update-ref", "--stdin", given=lines.encode())
    git(office.remote, "pack-refs", "--all")
    assert await answered(office.desk()) is None
    assert (await ci.publish(asking("next"))).question.n == 2


@pytest.mark.slow
async def test_a_repository_with_sha256(office: Office, tmp_path: Path) -> None:
    remote = tmp_path / "sha256.git"
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", "-b", "main", str(remote))
    office.remote = remote
    office.forge("refs/heads/main", {"a.py": b"one\n"})  # an empty repository is cloned as SHA-1
    ci = office.desk("Ci")
    made = await ci.publish()
    assert len(made.commit) == 64
    assert await answered(office.desk()) is None


@pytest.mark.slow
async def test_a_clock_that_is_wrong_changes_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@4000000000 +0000")
    ci = office.desk("Ci")
    await ci.publish()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@100000000 +0000")
    assert await answered(office.desk()) is None
    inbox, refs, asked = await ci.see()
    assert await inbox.answer(refs, asked) is not None


async def test_a_missing_remote_is_reported_with_the_message_of_git(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    office.remote.rename(office.place / "away.git")
    for action in (ci.see, ci.publish):
        with pytest.raises(RemoteFailed, match=r"the remote origin cannot be read: .*remote\.git"):
            await action()
    (office.place / "away.git").rename(office.remote)
    assert not (await ci.publish()).new


async def test_an_unknown_remote_and_a_run_that_is_not_there(office: Office) -> None:
    ci = office.desk("Ci")
    inbox = await ci.inbox()
    with pytest.raises(RemoteFailed, match="no such run"):
        await inbox.find("origin", "deadbeef")
    assert (await inbox.fetch(str(office.remote))).runs == {}
    with pytest.raises(WorkspaceError, match="there is no remote nosuch; there is origin"):
        await inbox.fetch("nosuch")


async def test_a_run_is_read_where_it_was_pushed(office: Office, tmp_path: Path) -> None:
    """The address to fetch from is a mirror that lags behind."""
    mirror = tmp_path / "mirror.git"
    git(tmp_path, "clone", "-q", "--mirror", f"file://{office.remote}", str(mirror))
    given, rewriting = (office.desk("Ci", url=f"file://{mirror}") for _ in range(2))
    given.git("config", "remote.origin.pushurl", f"file://{office.remote}")
    given.git("config", "--add", "remote.origin.pushurl", "file:///nowhere")
    rewriting.git("config", f"url.file://{office.remote}.pushInsteadOf", f"file://{mirror}")
    for desk in (given, rewriting):
        made = await desk.publish()
        again = await desk.publish()
        assert (again.commit, again.new, again.question.n) == (made.commit, False, 1)
        assert [ref for ref in office.refs() if "tideate" in ref] == [RUN_REF]
        assert await answered(office.desk()) is None
        inbox, refs, asked = await desk.see()
        assert await inbox.answer(refs, asked) is not None
        await inbox.remove("origin", refs)


async def test_a_remote_that_does_not_show_custom_refs_gets_branches(office: Office) -> None:
    git(office.remote, "config", "uploadpack.hideRefs", "refs/tideate")
    ci = office.desk("Ci")
    made = await ci.publish()
    assert made.ref == f"refs/heads/tideate/runs/{RUN}"
    assert [ref for ref in office.refs() if "tideate" in ref] == [made.ref]
    assert not (await ci.publish()).new
    git(office.remote, "update-ref", "-d", made.ref)
    inbox = await ci.inbox(refs="refs")
    question, refs = await inbox.next_question("origin", RUN, asking(), "project")
    with pytest.raises(RemoteFailed, match="does not show this ref"):
        await inbox.publish("origin", question, b"", refs)
    assert [*office.refs()] == ["refs/heads/main"]


async def test_a_run_that_is_hidden_later_is_not_published_twice(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    before = office.refs()
    git(office.remote, "config", "uploadpack.hideRefs", "refs/tideate")
    with pytest.raises(RemoteFailed, match="does not show this ref"):
        await ci.publish()
    assert office.refs() == before


async def test_branches_that_may_not_be_rewritten_have_all_questions_and_marks(office: Office) -> None:
    git(office.remote, "config", "receive.denyNonFastForwards", "true")
    ci, one, two = office.desk("Ci"), office.desk("One"), office.desk("Two")
    for desk in (ci, one, two):
        desk.config = desk.config.model_copy(update={"refs": "branches"})
    made = await ci.publish()
    forged = office.forge(ANSWER_REF.replace("refs/", "refs/heads/"), {"answer.json": b"{}"})
    assert await answered(office.desk()) is None, "an answer that does not count is replaced"
    assert forged not in office.refs().values()
    assert made.commit in office.refs().values()
    inbox, refs, asked = await one.see()
    assert await inbox.answer(refs, asked) is not None
    await inbox.take("origin", refs, asked, again=False)
    inbox, refs, asked = await two.see()
    with pytest.raises(RunTaken):
        await inbox.take("origin", refs, asked, again=False)
    await inbox.take("origin", refs, asked, again=True)
    following = await two.publish(asking("Write it anyway?"))
    assert (following.question.n, office.refs()[following.ref]) == (2, following.commit)
    inbox, refs, asked = await ci.see()
    await inbox.check_run(refs, asked)
    assert asked.question.message == "Write it anyway?"


async def test_a_refused_mark_is_no_mark_of_another_job(office: Office) -> None:
    one, two = office.desk("One"), office.desk("Two")
    await one.publish()
    inbox, refs, asked = await one.see()
    await inbox.take("origin", refs, asked, again=False)
    office.hook("update", "case $1 in */taken/*) echo protected >&2; exit 1;; esac")
    inbox, refs, asked = await two.see()
    with pytest.raises(RemoteFailed, match=r"refuses the mark: .*protected"):
        await inbox.take("origin", refs, asked, again=True)


@pytest.mark.parametrize("mark", [{"n": 2}, {"run": "f" * 32}, {"ended": "yes"}, {"by": 1}])
async def test_an_invalid_mark_is_a_mark_and_ends_no_run(office: Office, mark: dict[str, object]) -> None:
    await office.desk("Ci").publish()
    told = {"format": 1, "run": RUN, "n": 1, "by": "Eve", "at": 1, "nonce": "0" * 32, "ended": True, **mark}
    office.forge(TAKEN_REF, {"taken.json": json.dumps(told).encode()})
    inbox, refs, asked = await office.desk().see()
    found = await inbox.mark(refs, asked.question.n)
    assert found is not None
    assert (found.by, found.at, found.ended) == ("an invalid mark", 0, False)
