"""Refs that anyone with access can write: refused with a reason, or shown as harmless text."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.portable.inbox_bench import FILE, RUN, asking, git, office
from tideate_core.app import list_inbox
from tideate_core.errors import InvalidInput, RefusedRef, RemoteFailed, TransferTooLarge, WorkspaceError
from tideate_core.git import sealed
from tideate_core.portable import Question, inbox, inbox_git
from tideate_core.util.file_locks import try_lock
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.portable.inbox_bench import Office

__all__ = ["office"]

RUN_REF = f"refs/tideate/runs/{RUN}"
ANSWER_REF = f"refs/tideate/answers/{RUN}/1"


def question(**changed: Any) -> bytes:
    """Return a question with a right digest."""
    made = Question.of_request(asking(), RUN, 1, project="p", asked_at=1, version="1")
    shape = json.loads(made.model_dump_json()) | changed
    with_digest = asking(
        shape["message"], kind=shape["kind"], details=shape["details"], payload=shape["payload"]
    )
    if "digest" not in changed:
        from tideate_core.engine import question_digest

        shape["digest"] = question_digest(with_digest)
    return json.dumps(shape).encode()


def review(**file: Any) -> bytes:
    return question(payload={"files": [{**FILE, **file}]})


HUNK = {"start": 1, "old": ["two"], "new": ["TWO"]}
INVALID = {
    "not JSON": b"{",
    "no object": b"[]",
    "no UTF-8": b'{"message": "\xff"}',
    "too deep": b"[" * 100_000,
    "an unknown key": question(more=1),
    "a number in place of a text": question(details="x", message="x", step=5),
    "another run": question(run="f" * 32),
    "a wrong digest": question(digest="0" * 32),
    "a lone surrogate": question(step="\ud800"),
    "a kind that nobody knows": question(kind="gate").replace(b'"gate"', b'"exec"'),
    "a comparison": question(kind="compare", payload={"runs": []}),
    "a huge number": question(asked_at=10**30),
    "n is zero": question(n=0),
    "a review without files": question(payload={"files": []}),
    "a review without a payload": question(payload=None),
    "a path out of the project": review(path="../a.py"),
    "an absolute path": review(path="/etc/passwd"),
    "a target out of the project": review(action="move", move_to="x/../../y"),
    "a NUL in a path": review(path="a\0b"),
    "a hunk beyond the end": review(hunks=[{**HUNK, "start": 9}]),
    "a hunk with other lines": review(hunks=[{**HUNK, "old": ["2"]}]),
    "a line feed in a line": review(hunks=[{**HUNK, "new": ["a\nb"]}]),
    "a negative line": review(hunks=[{**HUNK, "start": -1}]),
    "hunks that overlap": review(hunks=[HUNK, HUNK]),
    "a decision on no hunk": review(decided={"accepted": [7], "rejected": []}),
    "a text as a flag": review(whole="yes"),
    "a plan without actions": question(kind="plan", payload={"files": [{"path": "a"}]}),
    "a document without a text": question(kind="document", payload={}),
    "a tool without a name": question(kind="tool", payload={"server": "x"}),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_question_is_refused(name: str) -> None:
    with pytest.raises(RefusedRef, match="question"):
        Question.read(INVALID[name], RUN)


def test_the_unchanged_question_is_valid() -> None:
    assert Question.read(question(), RUN).shown()["files"][0]["hunks"] == FILE["hunks"]
    # what front ends do not know never reaches them
    odd = question(payload={"files": [{**FILE, "buffer": 3, "surprise": [1]}], "checks": ["rm"]})
    shown = Question.read(odd, RUN).shown()
    assert set(shown) == {"files"}
    assert set(shown["files"][0]) == set(FILE)


TREES: dict[str, dict[str, Any]] = {
    "a link": {"files": {"question.json": b"/etc/passwd"}, "modes": {"question.json": "120000"}},
    "an executable": {"files": {"question.json": question()}, "modes": {"question.json": "100755"}},
    "a stranger": {"files": {"question.json": question(), "x.sh": b""}},
    "a name of git": {"files": {"question.json": question(), ".gitmodules": b""}},
    "nothing": {"files": {}},
}


@pytest.mark.parametrize("name", TREES)
async def test_a_commit_with_other_entries_is_refused(office: Office, name: str) -> None:
    office.forge(RUN_REF, **TREES[name])
    with pytest.raises(RefusedRef):
        await office.desk().see()


async def test_large_files_are_refused_before_they_are_read(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {**inbox.RUN_FILES, "question.json": 1_000, "bundle": 1_000}
    monkeypatch.setattr(inbox, "RUN_FILES", limits)
    office.forge(RUN_REF, {"question.json": b" " * 1_001})
    with pytest.raises(RefusedRef, match="too large \\(1,001 bytes\\)"):
        await office.desk().see()
    office.forge(RUN_REF, {"question.json": question(), "bundle": b" " * 1_001})
    with pytest.raises(RefusedRef, match="too large"):
        await office.desk().see()
    office.forge(RUN_REF, {f"{at}": b"" for at in range(100)})
    monkeypatch.setattr(sealed, "LARGEST_TREE", 1_000)
    with pytest.raises(RefusedRef, match="is not a tree, or is too large"):
        await office.desk().see()


async def test_refs_to_other_objects_are_refused(office: Office) -> None:
    blob = git(office.remote, "hash-object", "-w", "--stdin", given=b"x")
    git(office.remote, "update-ref", RUN_REF, blob)
    with pytest.raises(RefusedRef, match="is not a commit"):
        await office.desk().see()
    commit = office.forge(RUN_REF, {"question.json": question()})
    child = git(office.remote, "commit-tree", f"{commit}^{{tree}}", "-p", commit, "-m", "x")
    git(office.remote, "update-ref", RUN_REF, child)
    with pytest.raises(RefusedRef, match="is not a commit that tideate made"):
        await office.desk().see()


async def test_an_invalid_question_does_not_hide_the_others(office: Office) -> None:
    other = "f" * 32
    office.forge(f"refs/tideate/runs/{other}", {"question.json": b"\x1b]0;evil\x07"})
    office.forge("refs/tideate/runs/not-an-id", {"question.json": b""})
    await office.desk("Ci").publish(asking("\x1b[2Jfine\u202e"))
    desk = office.desk()
    found = {one.run: one for one in await list_inbox(desk.root)}
    assert set(found) == {RUN, other}
    assert found[other].invalid
    assert "invalid" in found[other].message
    assert not found[RUN].invalid


async def test_an_invalid_answer_is_refused_and_counts_as_none(office: Office) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    for data in (b"{", b"{}", b'{"format": 2}', b"x" * 10):
        office.forge(ANSWER_REF, {"answer.json": data})
        inbox_, refs, asked = await ci.see()
        with pytest.raises(RefusedRef, match="the published answer is invalid"):
            await inbox_.answer(refs, asked)
    assert await inbox_.counted(refs, asked) is None


async def test_an_answer_cannot_claim_another_policy(office: Office) -> None:
    """Only a person or a policy of that person may answer, never a comparison."""
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    inbox_, _, asked = await ana.see()
    await inbox_.send("origin", asked, Decision(True))
    shape = json.loads(git(office.remote, "show", f"{ANSWER_REF}:answer.json"))
    shape["decision"]["by"] = "comparison"
    office.forge(ANSWER_REF, {"answer.json": json.dumps(shape).encode()})
    inbox_, refs, asked = await ci.see()
    with pytest.raises(RefusedRef, match="invalid"):
        await inbox_.answer(refs, asked)


PROGRAMS = {
    "core.sshCommand": "touch {ran}; false",
    "core.fsmonitor": "touch {ran}",
    "core.alternateRefsCommand": "touch {ran}",
    "core.gitProxy": "touch {ran}",
    "core.askPass": "{script}",
    "credential.helper": "!touch {ran}",
    "remote.origin.uploadpack": "touch {ran}; git-upload-pack",
    "remote.origin.receivepack": "touch {ran}; git-receive-pack",
    "gpg.program": "{script}",
    "gpg.ssh.program": "{script}",
    "gpg.ssh.defaultKeyCommand": "{script}",
    "url.ext::touch {ran} .insteadOf": "file://",
    "remote.origin.vcs": "ext",
}


@pytest.mark.parametrize("setting", PROGRAMS)
async def test_no_program_of_the_repositorys_own_settings_runs(office: Office, setting: str) -> None:
    ran, script = office.place / "ran", office.place / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    await office.desk("Ci").publish()
    desk = office.desk()
    for key, value in ((setting, PROGRAMS[setting]), ("commit.gpgSign", "true"), ("user.signingKey", "x")):
        desk.git("config", key.format(ran=ran), value.format(ran=ran, script=script))
    for name in ("pre-push", "reference-transaction", "post-merge", "post-index-change"):
        (desk.root / ".git" / "hooks" / name).write_text(script.read_text())
        (desk.root / ".git" / "hooks" / name).chmod(0o755)
    ran.unlink(missing_ok=True)  # git itself ran it for `git config`
    try:
        inbox_, _, asked = await desk.see()
        await inbox_.send("origin", asked, Decision(True))
    except RemoteFailed:
        assert setting.startswith(("url.", "remote.origin.vcs"))
    assert not ran.exists()


async def test_trusted_settings_of_the_repository_count(office: Office) -> None:
    from tideate_core.mcp.servers import repository_programs, trust_programs

    await office.desk("Ci").publish()
    desk, ran = office.desk(), office.place / "ran"
    desk.git("config", "remote.origin.uploadpack", f"touch {ran}; git-upload-pack")
    await desk.see()
    assert not ran.exists()
    programs = repository_programs(desk.root)
    assert programs is not None
    assert "remote.origin.uploadpack" in programs.labels()[0]
    trust_programs(programs)
    await desk.see()
    assert ran.exists()
    ran.unlink()
    desk.git("config", "core.sshCommand", "evil")  # a change asks again
    await desk.see()
    assert not ran.exists()


@pytest.mark.parametrize("address", ["/proc/self/cwd/inner.git", "there/inner.git"])
async def test_no_hook_of_a_remote_inside_the_project_runs(
    office: Office, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, ran = office.desk(), office.place / "ran"
    inner = desk.root / "inner.git"
    git(desk.root, "clone", "-q", "--bare", str(office.remote), str(inner))
    (inner / "hooks").mkdir(exist_ok=True)
    (inner / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (inner / "hooks" / "pre-receive").chmod(0o755)
    (desk.root / "there").symlink_to("/proc/self/cwd")
    desk.git("config", "remote.origin.url", address)
    monkeypatch.chdir(office.place)  # as an editor that was started elsewhere
    with pytest.raises(RemoteFailed):
        await desk.publish()
    assert not ran.exists()


async def test_a_relative_remote_is_beside_the_project(office: Office) -> None:
    desk = office.desk()
    desk.git("config", "remote.origin.url", "../remote.git")
    await desk.publish()
    assert RUN_REF in office.refs()


UNPUBLISHED: dict[str, dict[str, Any]] = {
    "a name that is no text": {"payload": {"files": [{**FILE, "path": "a\udcff.py"}]}},
    "a comparison": {"kind": "compare", "payload": {"runs": []}},
    "a huge name of a step": {"message": "x" * (17 << 20)},
}


@pytest.mark.parametrize("name", UNPUBLISHED)
async def test_an_unreadable_question_is_not_published(office: Office, name: str) -> None:
    with pytest.raises(InvalidInput, match="the question cannot be published"):
        await office.desk().publish(asking(**UNPUBLISHED[name]))
    assert RUN_REF not in office.refs()


async def test_a_remote_within_the_project_is_refused(office: Office) -> None:
    desk, ran = office.desk(), office.place / "ran"
    inner = desk.root / "inner.git"
    git(desk.root, "clone", "-q", "--bare", str(office.remote), str(inner))
    (inner / "hooks").mkdir(exist_ok=True)
    (inner / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (inner / "hooks" / "pre-receive").chmod(0o755)
    for address in ("inner.git", "./inner.git", str(inner), f"file://{inner}"):
        desk.git("config", "remote.origin.url", address)
        with pytest.raises(RemoteFailed, match="within the project"):
            await desk.publish()
    desk.git("config", "remote.origin.url", "https://nowhere.example/x")
    desk.git("config", f"url.{inner}.insteadOf", "https://nowhere.example/x")
    with pytest.raises(RemoteFailed, match="within the project"):
        await desk.publish()
    assert not ran.exists()


def write_refs(office: Office, names: list[str], commit: str) -> None:
    """Point many refs of the remote at a commit, as anyone with access can."""
    git(
        office.remote,
        "update-ref",
        "--stdin",
        given="".join(f"create {n} {commit}\n" for n in names).encode(),
    )
    git(office.remote, "pack-refs", "--all")


@pytest.mark.slow
async def test_hundreds_of_forged_answers_leave_the_genuine_one_usable(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    forged = office.forge("refs/heads/x", {"answer.json": b"{}"})
    many = [f"refs/tideate/{kind}/{RUN}/{n}" for kind in ("answers", "taken") for n in range(2, 400)]
    write_refs(office, [*many, f"refs/tideate/answers/{RUN}/99999"], forged)
    inbox_, refs, asked = await ana.see()
    assert await inbox_.send("origin", asked, Decision(True)) is None
    inbox_, refs, asked = await ci.see()
    assert await inbox_.answer(refs, asked) is not None
    assert "797 refs answer questions that it has not asked" in refs.notices(1)[0]
    objects = await ci.objects()
    with pytest.raises(WorkspaceError):  # none of the others is fetched
        await (await inbox_git(ci.root, ci.private)).ask("cat-file", "-e", forged)
    assert not list(objects.glob("refs/**/*[0-9]"))
    # the next question gets the first free number, which no forger can use up
    await inbox_.take("origin", refs, asked, again=False)
    assert (await ci.publish(asking("the next"))).question.n == 400
    told: list[str] = []
    (one,) = await list_inbox(ana.root, note=told.append)
    assert (one.n, one.answered_by) == (400, None)
    assert "1 refs answer" in told[0]
    await inbox_.remove("origin", await inbox_.find("origin", RUN))
    await inbox_.prune("origin", [])
    assert [*office.refs()] == ["refs/heads/main", "refs/heads/x"]


async def test_no_number_is_left_for_a_question(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    ci = office.desk("Ci")
    await ci.publish()
    monkeypatch.setattr(inbox, "LAST", 3)
    forged = office.forge("refs/heads/x", {"answer.json": b"{}"})
    write_refs(office, [f"refs/tideate/answers/{RUN}/{n}" for n in (1, 2, 3)], forged)
    with pytest.raises(RefusedRef, match="has answers to all questions"):
        await ci.publish(asking("the next"))


async def test_an_answer_that_does_not_count_is_replaced(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    office.forge(ANSWER_REF, {"answer.json": b"{}"})
    (one,) = await list_inbox(ana.root)
    assert one.answered_by is None
    inbox_, refs, asked = await ci.see()
    with pytest.raises(RefusedRef, match=f"`tideate inbox answer {RUN[:8]}` replaces it"):
        await inbox_.answer(refs, asked)
    inbox_, _, asked = await ana.see()
    assert await inbox_.send("origin", asked, Decision(True)) is None
    inbox_, refs, asked = await ci.see()
    assert await inbox_.answer(refs, asked) is not None
    # an answer that counts stays
    first = await (await office.desk("Bob").inbox()).send("origin", asked, Decision(False))
    assert first is not None
    assert first.by.startswith("Ana")


MIB = 1 << 20


@pytest.mark.slow
async def test_a_huge_file_is_not_kept_and_never_takes_more_space_than_allowed(office: Office) -> None:
    """200 MiB that do not compress; git itself is watched by the system while it writes."""
    office.forge(RUN_REF, {"question.json": question(), "bundle": random.Random(1).randbytes(200 * MIB)})
    desk = office.desk()
    desk.config = desk.config.model_copy(update={"max_fetch_mib": 1})
    with pytest.raises(TransferTooLarge, match=r"more than 1\.0 MiB, so nothing was kept"):
        await desk.see()
    place = await desk.objects()
    assert sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) < 100_000
    assert not [*(place / "incoming").iterdir()]


async def test_a_run_that_is_too_large_does_not_hide_the_others(office: Office) -> None:
    other = "f" * 32
    office.forge(f"refs/tideate/runs/{other}", {"bundle": random.Random(1).randbytes(3 * MIB)})
    made = await office.desk("Ci").publish(bundle=random.Random(2).randbytes(MIB // 2))
    desk = office.desk()
    inbox_ = await desk.inbox(max_fetch_mib=1)
    refs = (await inbox_.fetch("origin")).runs
    assert (await inbox_.question(refs[RUN])).commit == made.commit
    with pytest.raises(RefusedRef, match="larger than `\\[inbox\\] max_fetch_mib`"):
        await inbox_.question(refs[other])
    # what is here is not fetched again, so no limit is reached
    assert (await desk.see())[2].question.n == 1


async def test_an_answer_that_is_too_large_is_replaced(office: Office) -> None:
    ci, ana = office.desk("Ci"), office.desk()
    await ci.publish()
    office.forge(ANSWER_REF, {"answer.json": random.Random(1).randbytes(3 * MIB)})
    ana.config = ana.config.model_copy(update={"max_fetch_mib": 1})
    inbox_, refs, asked = await ana.see()
    with pytest.raises(RefusedRef, match="was not fetched"):
        await inbox_.answer(refs, asked)
    assert await inbox_.send("origin", asked, Decision(True)) is None
    inbox_, refs, asked = await ci.see()
    assert await inbox_.answer(refs, asked) is not None


async def test_the_quarantine_of_a_killed_process_is_removed_and_that_of_a_living_one_stays(
    office: Office,
) -> None:
    await office.desk("Ci").publish()
    desk = office.desk()
    incoming = (await desk.objects()) / "incoming"
    for name in ("killed", "living"):
        (incoming / name / "pack").mkdir(parents=True)
        (incoming / name / "pack" / "tmp_pack_1").write_bytes(b"x" * 1000)
    living = os.open(incoming / "living", os.O_RDONLY)
    assert try_lock(living)
    await desk.see()
    os.close(living)
    assert [entry.name for entry in incoming.iterdir()] == ["living"]
