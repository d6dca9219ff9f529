"""Use cases of the inbox: list waiting runs, publish a run, continue a published run, prune."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, RefusedRef, RemoteFailed, RunIsHere, WorkspaceError
from tideate_core.project import make_project_state
from tideate_core.store import MOST_UNFINISHED
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.app.wiring import Project
    from tideate_core.engine import ConfirmationRequest
    from tideate_core.git import Terminal
    from tideate_core.portable import (
        Bundle,
        FetchedAnswer,
        FetchedQuestion,
        Inbox,
        Published,
        RemoteInbox,
        RunRefs,
    )
    from tideate_core.store import Reader
    from tideate_core.workflows import Decision

ANSWER: Final = "answer"
"""Workflow that answers a question."""


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A published run that waits for an answer, or was answered and not yet continued."""

    remote: str
    run: str
    n: int
    """Number of the question; 0 if the published question is invalid."""
    workflow: str
    step: str
    kind: str
    message: str
    """The question; the reason if it is invalid."""
    project: str
    asked_at: int
    """Milliseconds since the epoch."""
    by: str
    """Name and address of its author, which anyone can choose."""
    signed: bool
    """Signed by a key or address of `[inbox] allow`."""
    answered_by: str | None
    commit: str
    taken_by: str | None = None
    """Who continues the run after this question, or began to and failed."""
    taken_at: int | None = None
    """Milliseconds since the epoch; None if the mark is invalid."""

    @property
    def invalid(self) -> bool:
        return self.n == 0


async def list_inbox(
    root: Path,
    remotes: Sequence[str] = (),
    *,
    terminal: Terminal = "none",
    note: Callable[[str], object] = str,
) -> list[WaitingRun]:
    """Fetch the inbox of remotes, and return the runs that wait, the newest first.

    :param remotes: names or addresses; by default all remotes of the project.
    :param terminal: `shared` lets git ask for a password.
    :param note: receives the error of a remote that cannot be reached, if there are others.
    :raises RemoteFailed: no remote can be reached.
    """
    inbox, names = await _open(root, remotes, terminal)
    found: list[WaitingRun] = []
    failed: list[RemoteFailed] = []
    for remote in names:
        try:
            found += await _waiting(inbox, remote, await inbox.fetch(remote), note)
        except RemoteFailed as error:
            failed.append(error)
    if failed and len(failed) == len(names):
        raise failed[0]
    for one in failed:
        note(str(one))
    return sorted(found, key=lambda one: -one.asked_at)


async def inbox_remotes(root: Path) -> list[str]:
    """Return the names of a project's remotes, `origin` first.

    :raises WorkspaceError: the project has no repository.
    """
    from tideate_core.portable import inbox_git

    return (await inbox_git(root, await asyncio.to_thread(make_project_state, root))).remotes


async def read_question(root: Path, remote: str, run: str) -> FetchedQuestion:
    """Fetch the question of a published run.

    :param run: its id, or a prefix of it.
    :raises RemoteFailed: git cannot reach the remote, or it has no such run.
    :raises RefusedRef: the question is invalid.
    """
    inbox, _ = await _open(root, (remote,), "none")
    return await inbox.question(await inbox.find(remote, run))


@dataclass(frozen=True, slots=True)
class UnfinishedAnswer:
    """A run that has begun to answer a question."""

    id: str
    owner: int | None
    """The process that executes it."""
    decided: bool
    """The answer is complete, and perhaps sent."""


def unfinished_answer(run: str, commit: str, reader: Reader) -> UnfinishedAnswer | None:
    """Return the unfinished run that answers a question; blocking.

    :param commit: of the question.
    """
    for one in reader.runs(limit=MOST_UNFINISHED, unfinished=True):
        if one.name != ANSWER or reader.request(one.id)["inputs"].get("run") != run:
            continue
        asked = reader.memos_of(one.id, "ask", "choice:question").values()
        if any(memo["value"]["commit"] == commit for memo in asked):
            owner = one.lease.pid if one.lease and not one.resumable else None
            decided = any(row.step == "ask" and row.status == "completed" for row in reader.steps(one.id))
            return UnfinishedAnswer(one.id, owner, decided)
    return None


def waiting_json(one: WaitingRun) -> dict[str, Any]:
    """Return the JSON form of a waiting run."""
    return asdict(one)


async def locate_waiting(
    root: Path, run: str, remotes: Sequence[str] = (), *, terminal: Terminal = "none"
) -> WaitingRun:
    """Return the waiting run with this id or prefix.

    :raises InvalidInput: there is none, or there are several.
    """
    found = [one for one in await list_inbox(root, remotes, terminal=terminal) if one.run.startswith(run)]
    if len({(one.remote, one.run) for one in found}) == 1 or len({one.run for one in found}) == 1:
        return found[0]
    named = ", ".join(f"{one.run[:12]} on {label(one.remote)}" for one in found[:5])
    raise InvalidInput(
        f"several runs match: {named}; give more digits of the ID"
        if found
        else f"no run {label(run)} waits in the inbox; `tideate inbox` lists the waiting runs"
    )


async def publish_run(
    project: Project,
    run: str,
    request: ConfirmationRequest,
    remote: str,
    *,
    with_secrets: bool = False,
    terminal: Terminal = "none",
) -> Published:
    """Publish a run that was left at a question.

    :param run: id of the outermost run; no process has it.
    :param with_secrets: publish it even if it seems to hold secrets.
    :raises WorkspaceError: the remote cannot be reached or refuses it; the run waits here.
    :raises InvalidInput: the run cannot be moved, or it seems to hold secrets.
    """
    from io import BytesIO

    from tideate_core.portable import create_bundle

    root = _root(project)
    inbox, _ = await _open(root, (remote,), terminal, project)
    question, refs = await inbox.next_question(remote, run, request, root.name)
    target = BytesIO()
    await asyncio.to_thread(
        create_bundle,
        root,
        project.private,
        run,
        target,
        question=question.model_dump(mode="json"),
        with_secrets=with_secrets,
    )
    return await inbox.publish(remote, question, target.getvalue(), refs)


async def read_published(project: Project, found: Continuation, *, adapter: str | None = None) -> Bundle:
    """Read and check the bundle of a published run; nothing of it is used.

    :param adapter: for the rest of the run; None: its own.
    :raises UnknownAdapter: this machine has no such adapter.
    :raises InvalidBundle: it is damaged.
    :raises RefusedRef: it is missing, or of another run.
    """
    from tideate_core.adapters import NO_MODEL, AdapterPool
    from tideate_core.engine import kept_adapter
    from tideate_core.portable import read_bundle

    inbox, _ = await _open(_root(project), (found.remote,), "none", project)
    bundle = await asyncio.to_thread(read_bundle, await inbox.bundle(found.refs))
    if bundle.run != found.run:
        raise RefusedRef(
            f"the published run {found.run[:8]} has the bundle of another run; nothing was changed"
        )
    adapters, own = AdapterPool(project.loaded.config), bundle.facts.adapter
    if adapter is not None:
        adapters.get(adapter)
    elif own and own != NO_MODEL.name:
        kept_adapter(adapters, found.run, own)
    return bundle


async def opening_lines(project: Project, found: Continuation, bundle: Bundle) -> list[str]:
    """Return the facts about a published run, for a person who decides to open it here."""
    from tideate_core.app.bundle_facts import bundle_lines
    from tideate_core.app.bundles import beside_project

    lines = bundle_lines(await asyncio.to_thread(beside_project, bundle, project))
    by = label(found.answer.answer.by) if found.answer else "nobody; the question is asked here"
    return [visible(line) for line in (*lines, f"answered  {by}")]


async def open_published(project: Project, bundle: Bundle, say: Callable[[str], None]) -> tuple[str, ...]:
    """Open the bundle of a published run, unless the run is here; return the files that it changed.

    :param say: shows a message to the person.
    :raises EditConflict: the files here conflict with the changes of the run.
    :raises RunIsHere: the run has continued both here and elsewhere.
    """
    from tideate_core.app.bundles import open_bundle

    try:
        return (await open_bundle(project, bundle, say)).written
    except RunIsHere as error:
        if error.diverged:
            raise  # the work of another machine must not be ignored, and removed at the end
        return ()  # it was opened before, and has continued here


@dataclass(frozen=True, slots=True)
class Continuation:
    """A published run that is continued here."""

    run: str
    remote: str
    refs: RunRefs
    asked: FetchedQuestion
    answer: FetchedAnswer | None
    own: bool
    """This machine published or continued exactly this version of the run."""

    @property
    def answers(self) -> dict[str, tuple[Decision, str]]:
        """Recorded answers for `RecordedAnswers`."""
        if self.answer is None:
            return {}
        answer = self.answer.answer
        return {answer.key: (answer.as_decision(), self.answer.by)}

    @property
    def notices(self) -> list[str]:
        """Notices about refs of others that do not count."""
        return self.refs.notices(self.asked.question.n)


async def find_published(project: Project, remote: str, run: str, *, again: bool = False) -> Continuation:
    """Fetch a published run and its answer, and check both.

    :param again: continue a rewritten run, or one that another machine continues.
    :raises RefusedRef: the run or its answer is invalid, was rewritten, or its signature does not count.
    """
    inbox, _ = await _open(_root(project), (remote,), "none", project)
    refs = await inbox.find(remote, run)
    asked = await inbox.question(refs)
    await inbox.check_run(refs, asked, again=again)
    return Continuation(refs.run, remote, refs, asked, await inbox.answer(refs, asked), inbox.is_own(refs))


async def published_now(
    project: Project, run: str, remote: str, *, terminal: Terminal = "none"
) -> Continuation | None:
    """Return a run of this machine if the remote has its present state, else None.

    :param run: the whole id.
    :raises RemoteFailed: git cannot reach the remote.
    """
    from tideate_core.portable import is_unchanged, read_bundle
    from tideate_core.store import Reader

    inbox, _ = await _open(_root(project), (remote,), terminal, project)
    refs = await inbox.refs_of(remote, run)
    if refs is None or not inbox.is_own(refs):
        return None
    bundle = await asyncio.to_thread(read_bundle, await inbox.bundle(refs))
    if not await asyncio.to_thread(is_unchanged, Reader(project.private), bundle):
        return None
    asked = await inbox.question(refs)
    return Continuation(run, remote, refs, asked, await inbox.counted(refs, asked), own=True)


async def take_published(project: Project, found: Continuation, *, again: bool = False) -> None:
    """Mark a published run as continued here; the first mark counts.

    :param again: continue even if another machine has begun to.
    :raises RunTaken: another machine continues the run.
    """
    inbox, _ = await _open(_root(project), (found.remote,), "none", project)
    await inbox.take(found.remote, found.refs, found.asked, again=again)


async def end_published(project: Project, found: Continuation, say: Callable[[str], None]) -> None:
    """Remove the refs of a run that has ended; if the remote keeps them, mark the run there as ended.

    :param say: shows a message to the person: the end of the run does not depend on the remote.
    """
    inbox, _ = await _open(_root(project), (found.remote,), "none", project)
    try:
        refs = await inbox.refs_of(found.remote, found.run)
        if refs is not None:
            await inbox.end(found.remote, refs, found.asked.question.n)
    except WorkspaceError as error:
        say(
            f"the run has ended, but its refs stay on the remote: {error}; `tideate inbox prune` removes them"
        )


async def prune_inbox(
    project: Project, remotes: Sequence[str], *, terminal: Terminal = "none"
) -> dict[str, list[str]]:
    """Remove the refs of runs that have ended here, and answers without a run; return them by remote.

    :raises RemoteFailed: git cannot reach a remote, or it refuses to remove a ref.
    """
    from tideate_core.store import Reader

    inbox, names = await _open(_root(project), remotes, terminal, project)
    reader = Reader(project.private)
    ended = await asyncio.to_thread(lambda: [run.id for run in reader.runs(limit=10_000) if run.ended])
    return {remote: await inbox.prune(remote, ended) for remote in names}


async def _waiting(
    inbox: Inbox, remote: str, fetched: RemoteInbox, note: Callable[[str], object]
) -> list[WaitingRun]:
    from tideate_core.portable import waiting_questions

    found = []
    for refs, asked in await waiting_questions(inbox, fetched):
        if isinstance(asked, str):
            found.append(
                WaitingRun(remote, refs.run, 0, "", "", "invalid", asked, "", 0, "", False, None, refs.commit)
            )
            continue
        question = asked.question
        mark = await inbox.mark(refs, question.n)
        if mark is not None and mark.ended:  # the remote keeps the refs of ended runs
            continue
        for words in refs.notices(question.n):
            note(f"{label(remote)}: {words}")
        answer = await inbox.counted(refs, asked)
        found.append(
            WaitingRun(
                remote,
                question.run,
                question.n,
                question.workflow,
                question.step,
                question.kind,
                question.message,
                question.project,
                question.asked_at,
                asked.by,
                asked.signed,
                answer.by if answer else None,
                refs.commit,
                mark.by if mark else None,
                (mark.at or None) if mark else None,
            )
        )
    return found


async def _open(
    root: Path, remotes: Sequence[str], terminal: Terminal, project: Project | None = None
) -> tuple[Inbox, list[str]]:
    """Return the inbox of a project, and the names of the wanted remotes."""
    from tideate_core.config import load_config
    from tideate_core.portable import open_inbox

    config = project.loaded.config if project else (await asyncio.to_thread(load_config, root)).config
    private = await asyncio.to_thread(make_project_state, root)
    inbox = await open_inbox(root, private, config.inbox, terminal=terminal)
    names = [*remotes] or inbox.remotes
    if not names:
        raise WorkspaceError("the repository has no remote, so there is no inbox; `git remote add` adds one")
    return inbox, names


def _root(project: Project) -> Path:
    if project.root is None:
        raise InvalidInput("no project is open, so there is no repository with an inbox")
    return project.root
