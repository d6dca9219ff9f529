"""The inbox of a project: publish waiting runs, answer their questions, and continue them."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from tideate_core import __version__
from tideate_core.engine import now_ms
from tideate_core.errors import InvalidInput, RefusedRef, RemoteFailed, RunTaken, TransferTooLarge
from tideate_core.git import (
    ABSENT,
    Pushed,
    RefChange,
    change_refs,
    fetch_commits,
    identity,
    list_refs,
    persons_git,
    read_sealed,
    read_signature,
    write_sealed,
)
from tideate_core.portable.inbox_refs import (
    PATTERNS,
    Namespace,
    RemoteInbox,
    RunRefs,
    answer_ref,
    run_ref,
    sort_refs,
    taken_ref,
)
from tideate_core.portable.question_text import question_text
from tideate_core.portable.questions import LAST, Answer, Question, Taken, as_bytes
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.escaping import label
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.config import InboxConfig
    from tideate_core.engine import ConfirmationRequest
    from tideate_core.git import PersonsGit, SealedCommit, Terminal
    from tideate_core.workflows import Decision

BUNDLE: Final = "bundle"
QUESTION: Final = "question.json"
ANSWER: Final = "answer.json"
TAKEN: Final = "taken.json"
RUN_FILES: Final[Mapping[str, int]] = {
    BUNDLE: 1 << 30,
    QUESTION: 32 << 20,
    "QUESTION.md": 64 << 20,
    "changes.diff": 64 << 20,
}
"""Maximum bytes of each file of a published run."""
ANSWER_FILES: Final[Mapping[str, int]] = {ANSWER: 32 << 20}
TAKEN_FILES: Final[Mapping[str, int]] = {TAKEN: 1 << 16}
NO_RUN: Final = "no such run; `tideate inbox` lists the waiting runs"
HIDDEN: Final = "it does not show this ref to readers"
MOST_RUNS: Final = 1_000
"""Maximum number of listed runs."""
MOST_REMOVED: Final = 1_000
"""Maximum number of refs that the end of a run removes; `prune` removes others."""
_PREFIX: Final = re.compile(r"[0-9a-f]{4,32}")
NOTES: Final = "inbox"
GIT: Final = "inbox/git"


@dataclass(frozen=True, slots=True)
class FetchedQuestion:
    """A published question."""

    question: Question
    commit: str
    space: Namespace
    by: str
    """Its author's name and address, which anyone can choose."""
    signed: bool
    """A key or address of `[inbox] allow` has signed it."""


@dataclass(frozen=True, slots=True)
class FetchedAnswer:
    """A valid answer to a question."""

    answer: Answer
    commit: str
    by: str


@dataclass(frozen=True, slots=True)
class Published:
    """A published run."""

    question: Question
    commit: str
    ref: str
    remote: str
    new: bool = True
    """False: it was published before."""


@dataclass(slots=True)
class _Notes:
    """Notes of this machine about a published run; they survive a crash."""

    commits: list[str] = field(default_factory=list)
    """Commits of the run that this machine published or continued, the newest last."""
    answers: dict[str, str] = field(default_factory=dict)
    """Commits of this machine's answers by the commit of their question."""
    taken: dict[str, str] = field(default_factory=dict)
    """Commits of this machine's marks (`Taken`) by the number of the question."""
    n: int = 0
    """Number of the last question."""


class Inbox:
    """The published runs in a project's remotes.

    :param git: see `inbox_git`.
    :param private: the project's private state.
    """

    def __init__(
        self, git: PersonsGit, private: Path, config: InboxConfig, *, terminal: Terminal = "none"
    ) -> None:
        self._git = git
        self._private = private
        self._config = config
        self._terminal = terminal
        self._read: dict[tuple[str, Namespace, str], FetchedQuestion] = {}

    @property
    def remotes(self) -> list[str]:
        """Names of the project's remotes."""
        return self._git.remotes

    # -- reading ----------------------------------------------------------------------------------------

    async def fetch(self, remote: str) -> RemoteInbox:
        """Fetch the published runs of a remote, at most `MOST_RUNS`, with the answers to their questions.

        A run that is too large is left out.

        :raises RemoteFailed: git cannot reach it.
        """
        inbox = sort_refs(await list_refs(self._git, remote, PATTERNS, terminal=self._terminal))
        runs = dict([*inbox.runs.items()][:MOST_RUNS])
        left = await self._fetch_most(remote, [refs.commit for refs in runs.values()], self._largest)
        numbers = {run: await self._number(refs) for run, refs in runs.items()}
        answers = [commit for run, refs in runs.items() for commit in refs.of_question(numbers[run])]
        await self._fetch_most(remote, answers, left)
        return RemoteInbox(runs, inbox.orphaned)

    async def _fetch_most(self, remote: str, commits: Sequence[str], largest: int) -> int:
        """Fetch commits except large ones; return the bytes left of the limit."""
        try:
            return largest - await self._fetch(remote, commits, largest)
        except TransferTooLarge:
            half = len(commits) // 2
            for part in (commits[:half], commits[half:]) if half else ():
                largest = await self._fetch_most(remote, part, largest)
            return largest

    async def _fetch(self, remote: str, commits: Sequence[str], largest: int) -> int:
        return await fetch_commits(self._git, remote, commits, largest=largest, terminal=self._terminal)

    @property
    def _largest(self) -> int:
        return self._config.max_fetch_mib << 20

    async def _number(self, refs: RunRefs) -> int:
        """Return the number of a fetched run's question; 0 if it is invalid."""
        asked = await self._question_if_valid(refs)
        return asked.question.n if asked else 0

    async def refs_of(self, remote: str, run: str) -> RunRefs | None:
        """Fetch one run, and the answer and the mark to its question; None if the remote has no such run.

        :raises RemoteFailed: git cannot reach the remote.
        """
        refs = (await self._listed(remote, run)).runs.get(run)
        return None if refs is None else await self._fetched(remote, refs)

    async def _listed(self, remote: str, prefix: str) -> RemoteInbox:
        kinds = ("runs/{}*", "answers/{}*", "taken/{}*")
        patterns = [f"{space}/{kind.format(prefix)}" for space in Namespace for kind in kinds]
        return sort_refs(await list_refs(self._git, remote, patterns, terminal=self._terminal))

    async def _fetched(self, remote: str, refs: RunRefs) -> RunRefs:
        """Fetch a run, and the answer and the mark to its question."""
        # no others: anyone may have written thousands of them
        left = self._largest - await self._fetch(remote, [refs.commit], self._largest)
        await self._fetch_most(remote, refs.of_question(await self._number(refs)), left)
        return refs

    async def find(self, remote: str, prefix: str) -> RunRefs:
        """Fetch the run with this id or prefix, and the answer and the mark to its question.

        :raises RemoteFailed: git cannot reach the remote, or it has no such run.
        """
        if not _PREFIX.fullmatch(prefix):
            raise InvalidInput(f"{label(prefix)} is not the id of a run; give at least 4 hexadecimal digits")
        found = (await self._listed(remote, prefix)).runs
        if len(found) != 1:
            named = ", ".join(run[:12] for run in sorted(found)[:5])
            why = f"several runs: {named}; give more digits" if found else NO_RUN
            raise RemoteFailed(f"{label(prefix)} on the remote {label(remote)}: {why}")
        return await self._fetched(remote, next(iter(found.values())))

    async def question(self, refs: RunRefs) -> FetchedQuestion:
        """Read the question of a fetched run.

        :raises RefusedRef: it is invalid.
        """
        place = refs.run, refs.space, refs.commit
        if place not in self._read:
            sealed = await self._run_files(refs, QUESTION)
            question = Question.read(sealed.files[QUESTION], refs.run)
            signed = bool(self._config.allow) and await self._counts(refs.commit)
            self._read[place] = FetchedQuestion(question, refs.commit, refs.space, sealed.by, signed)
        return self._read[place]

    async def _run_files(self, refs: RunRefs, *wanted: str) -> SealedCommit:
        parents = _most_parents(refs.space)
        return await read_sealed(self._git, refs.commit, RUN_FILES, wanted, parents=parents)

    def is_own(self, refs: RunRefs) -> bool:
        """Tell whether this machine published or continued exactly this version of a run."""
        return refs.commit in self._notes(refs.run).commits

    async def bundle(self, refs: RunRefs) -> BytesIO:
        """Read the bundle of a fetched run; anyone may have made it.

        :raises RefusedRef: it is missing or too large.
        """
        sealed = await self._run_files(refs, BUNDLE)
        return BytesIO(sealed.files[BUNDLE])

    async def diff(self, refs: RunRefs) -> str:
        """Return the proposed changes of a fetched run as a patch; empty if it proposes none."""
        return (await self.question(refs)).question.diff()

    async def answer(self, refs: RunRefs, asked: FetchedQuestion) -> FetchedAnswer | None:
        """Return the answer to a question; None if there is none.

        :raises RefusedRef: the answer is invalid, is about another question, or its signature does not count.
        """
        commit = refs.answers.get(asked.question.n)
        if commit is None:
            return None
        try:
            return await self._checked_answer(commit, asked)
        except RefusedRef as error:
            words = f"{error}; `tideate inbox answer {refs.run[:8]}` replaces it with yours"
            raise RefusedRef(words) from error

    async def _checked_answer(self, commit: str, asked: FetchedQuestion) -> FetchedAnswer:
        sealed = await self._answer_files(asked, commit)
        answer = Answer.read(sealed.files[ANSWER])
        # an answer to an earlier version that this machine published is about the same question
        answer.check(asked.question, {asked.commit, *self._notes(asked.question.run).commits})
        await self._require_signature(commit, f"the answer {answer.n} to run {answer.run[:8]}", sealed)
        return FetchedAnswer(answer, commit, sealed.by)

    async def _answer_files(self, asked: FetchedQuestion, commit: str) -> SealedCommit:
        parents = _most_parents(asked.space)
        return await read_sealed(self._git, commit, ANSWER_FILES, (ANSWER,), parents=parents)

    async def counted(self, refs: RunRefs, asked: FetchedQuestion) -> FetchedAnswer | None:
        """Return the answer to a question; None if there is none, or it does not count."""
        try:
            return await self.answer(refs, asked)
        except RefusedRef:
            return None

    async def _counts(self, commit: str) -> bool:
        signature = await read_signature(self._git, commit)
        return signature is not None and signature.counts(self._config.allow)

    async def _require_signature(self, commit: str, what: str, sealed: SealedCommit) -> None:
        if self._config.allow and not await self._counts(commit):
            raise RefusedRef(
                f"{what}, by {label(sealed.by)}, has no valid signature of a key or address in "
                "`[inbox] allow` of your configuration"
            )

    # -- publishing -------------------------------------------------------------------------------------

    async def next_question(
        self, remote: str, run: str, request: ConfirmationRequest, project: str
    ) -> tuple[Question, RunRefs | None]:
        """Return the question to publish, with its number, and the present refs of the run.

        :raises RefusedRef: the remote has another version of the run that this machine does not know.
        """
        refs = await self.refs_of(remote, run)
        question = Question.of_request(
            request, run, 1, project=project, asked_at=now_ms(), version=__version__
        )
        used, last = set[int](), self._notes(run).n
        if refs is not None:
            asked = await self._question_if_valid(refs)
            self._require_known(refs)
            used = {*refs.answers, *refs.taken}
            if asked is not None:
                await self._require_open(remote, refs, asked, question)
                before = asked.question
                if question.is_same(before) and before.n not in used:
                    return question.model_copy(update={"n": before.n}), refs
                last = max(last, before.n)
        # not after the highest: anyone may have written it
        n = next((n for n in range(last + 1, LAST + 1) if n not in used), None)
        if n is None:
            raise RefusedRef(
                f"the remote {label(remote)} has answers to all questions that the run {run[:8]} could ask; "
                f"remove the refs {answer_ref(Namespace.REFS, run, 1)[:-1]}* and publish it again"
            )
        return question.model_copy(update={"n": n}), refs

    async def _question_if_valid(self, refs: RunRefs) -> FetchedQuestion | None:
        try:
            return await self.question(refs)
        except RefusedRef:
            return None

    async def _require_open(
        self, remote: str, refs: RunRefs, asked: FetchedQuestion, question: Question
    ) -> None:
        """Reject a question in place of one that others have answered, or after which others continue."""
        n, run = asked.question.n, refs.run
        mark = refs.taken.get(n)
        if mark is not None and mark != self._notes(run).taken.get(str(n)):
            raise RunTaken(await self._taken_words(remote, refs, mark))
        if question.place and question.is_same(asked.question) and (given := await self.counted(refs, asked)):
            raise RefusedRef(
                f"{label(given.answer.by)} answered question {n} of run {run[:8]} already; "
                f"`tideate resume --from {label(remote)} {run[:8]}` continues with the answer"
            )

    async def publish(
        self, remote: str, question: Question, bundle: bytes, refs: RunRefs | None
    ) -> Published:
        """Publish a run with its question; a repetition after a crash changes nothing.

        :param refs: the present refs of the run; see `next_question`.
        :raises RemoteFailed: git cannot reach the remote, or it refuses the refs.
        :raises RefusedRef: another person or process published the run meanwhile.
        """
        run = question.run
        if refs is not None and await self._is_same(refs, question, bundle):
            return Published(question, refs.commit, run_ref(refs.space, run), remote, new=False)
        files = {
            BUNDLE: bundle,
            QUESTION: as_bytes(question),
            "QUESTION.md": question_text(question, remote).encode(),
        }
        if patch := question.diff():
            files["changes.diff"] = patch.encode(errors="surrogateescape")
        message = f"Question {question.n} of the tideate run {run[:8]}\n"
        before = _parent(refs.space, refs.commit) if refs else ""
        commit = await write_sealed(self._git, files, message, sign=self._config.sign, parent=before)
        notes = self._notes(run)
        notes.commits.append(commit)
        self._write(run, notes)  # before the push, so that a crash does not lose the commit
        expected = refs.commit if refs else ABSENT
        space = await self._push_run(remote, run, commit, expected, refs)
        notes.n = question.n
        self._write(run, notes)
        return Published(question, commit, run_ref(space, run), remote)

    async def _is_same(self, refs: RunRefs, question: Question, bundle: bytes) -> bool:
        asked = await self._question_if_valid(refs)
        if asked is None or (asked.question.n, asked.question.digest) != (question.n, question.digest):
            return False
        return (await self.bundle(refs)).read() == bundle

    async def _push_run(
        self, remote: str, run: str, commit: str, expected: str, refs: RunRefs | None
    ) -> Namespace:
        chosen = {"refs": [Namespace.REFS], "branches": [Namespace.BRANCHES]}
        spaces = [refs.space] if refs else chosen.get(self._config.refs, list(Namespace))
        refused = ""
        for space in spaces:
            ref = run_ref(space, run)
            (pushed,) = await self._change(remote, [RefChange(ref, commit, expected)])
            if pushed.done and (refs is not None or await self._is_shown(remote, ref)):
                return space
            if pushed.done:  # nobody could read the question
                await self._change(remote, [RefChange(ref, "", commit)])
            elif pushed.now == expected and not pushed.refused:
                raise RemoteFailed(f"the remote {label(remote)} has {label(ref)}, but {HIDDEN}")
            elif not pushed.refused:
                raise RefusedRef(
                    f"another process published the run {run[:8]} meanwhile, so nothing was published; "
                    "`tideate inbox` shows its state"
                )
            refused = pushed.refused or HIDDEN
        raise RemoteFailed(f"the remote {label(remote)} refuses {label(run_ref(spaces[-1], run))}: {refused}")

    async def _is_shown(self, remote: str, ref: str) -> bool:
        return ref in await list_refs(self._git, remote, [ref], terminal=self._terminal)

    # -- answering --------------------------------------------------------------------------------------

    async def send(self, remote: str, asked: FetchedQuestion, decision: Decision) -> FetchedAnswer | None:
        """Publish an answer; return None if it counts, or else the earlier answer that counts.

        :raises RemoteFailed: git cannot reach the remote, or it refuses the ref.
        :raises RefusedRef: the question is no longer open.
        """
        question, run = asked.question, asked.question.run
        notes, refs = self._notes(run), await self.refs_of(remote, run)
        commit = notes.answers.get(asked.commit)
        if commit is not None and refs is not None and refs.answers.get(question.n) == commit:
            return None  # it was pushed before an interruption
        # also if it was written before: whoever removes the refs of an ended run removes answers first
        if refs is None or refs.commit != asked.commit:
            raise RefusedRef(
                f"question {question.n} of run {run[:8]} is no longer open: the run was continued, "
                "replaced or removed; nothing was sent"
            )
        # an answer that does not count is replaced
        expected = ABSENT if await self.counted(refs, asked) else refs.answers.get(question.n, ABSENT)
        if commit is None:
            commit = await self._write_answer(asked, decision, expected)
            notes.answers[asked.commit] = commit
            self._write(run, notes)  # before the push, so that a retry after a crash pushes the same answer
        ref = answer_ref(asked.space, run, question.n)
        (pushed,) = await self._change(remote, [RefChange(ref, commit, expected)])
        if pushed.done:
            return None
        del notes.answers[asked.commit]
        self._write(run, notes)
        if not pushed.now or pushed.now == expected:
            raise RemoteFailed(f"the remote {label(remote)} refuses the answer: {pushed.refused or HIDDEN}")
        await self._fetch(remote, [pushed.now], self._largest)
        sealed = await self._answer_files(asked, pushed.now)
        return FetchedAnswer(Answer.read(sealed.files[ANSWER]), pushed.now, sealed.by)

    async def _write_answer(self, asked: FetchedQuestion, decision: Decision, replaced: str) -> str:
        question = asked.question
        name, mail = await identity(self._git)
        answer = Answer.of_decision(question, asked.commit, decision, f"{name} <{mail}>", now_ms())
        message = f"Answer {question.n} to the tideate run {question.run[:8]}\n"
        files, before = {ANSWER: as_bytes(answer)}, _parent(asked.space, replaced)
        return await write_sealed(self._git, files, message, sign=self._config.sign, parent=before)

    # -- taking up --------------------------------------------------------------------------------------

    async def check_run(self, refs: RunRefs, asked: FetchedQuestion, *, again: bool = False) -> None:
        """Check that a run may be continued here.

        :param again: continue the run even if its ref was rewritten; `[inbox] allow` still applies.
        :raises RefusedRef: its signature does not count, or its ref was rewritten.
        """
        sealed = await self._run_files(refs)
        await self._require_signature(refs.commit, f"the run {refs.run[:8]}", sealed)
        if not (asked.signed or again):
            self._require_known(refs)

    def _require_known(self, refs: RunRefs) -> None:
        """Reject a run that this machine published and that was replaced since."""
        notes = self._notes(refs.run)
        if not notes.commits or refs.commit in notes.commits or notes.n in refs.taken:
            return
        raise RefusedRef(
            f"the run {refs.run[:8]} was rewritten on the remote: it differs from the run that this machine "
            "published, and no machine continued it; --again continues it, "
            f"`git push REMOTE :{run_ref(refs.space, refs.run)}` removes it"
        )

    async def take(self, remote: str, refs: RunRefs, asked: FetchedQuestion, *, again: bool) -> None:
        """Mark that the run is continued here; the first mark counts.

        :param again: continue even if another machine has begun to.
        :raises RunTaken: another machine continues the run.
        """
        run, n = refs.run, asked.question.n
        notes = self._notes(run)
        commit = notes.taken.get(str(n))
        if commit is None:
            commit = await self._write_mark(refs, n)
            notes.taken[str(n)] = commit
            self._write(run, notes)
        expected = refs.taken.get(n, ABSENT) if again else ABSENT
        (pushed,) = await self._change(remote, [RefChange(taken_ref(refs.space, run, n), commit, expected)])
        if pushed.done:
            notes.commits.append(refs.commit)
            notes.n = n
            self._write(run, notes)
            return
        del notes.taken[str(n)]
        self._write(run, notes)
        if not pushed.now or pushed.now == expected:
            raise RemoteFailed(f"the remote {label(remote)} refuses the mark: {pushed.refused or HIDDEN}")
        raise RunTaken(await self._taken_words(remote, refs, pushed.now))

    async def _write_mark(self, refs: RunRefs, n: int, *, ended: bool = False) -> str:
        name, mail = await identity(self._git)
        mark = Taken(run=refs.run, n=n, by=f"{name} <{mail}>", at=now_ms(), ended=ended)
        message = f"Run {refs.run[:8]} {'ended' if ended else 'continues'} after question {n}\n"
        files, before = {TAKEN: as_bytes(mark)}, _parent(refs.space, refs.taken.get(n, ""))
        return await write_sealed(self._git, files, message, sign=self._config.sign, parent=before)

    async def mark(self, refs: RunRefs, n: int) -> Taken | None:
        """Return the mark of the machine that continues a fetched run after a question; None without one."""
        if (commit := refs.taken.get(n)) is None:
            return None
        try:
            mark = await self._read_mark(refs.space, commit)
        except RefusedRef:
            mark = None
        if mark is None or (mark.run, mark.n) != (refs.run, n):
            return Taken(run=refs.run, n=n, by="an invalid mark", at=0)
        return mark

    async def _read_mark(self, space: Namespace, commit: str) -> Taken:
        parents = _most_parents(space)
        sealed = await read_sealed(self._git, commit, TAKEN_FILES, (TAKEN,), parents=parents)
        return Taken.read(sealed.files[TAKEN])

    async def _taken_words(self, remote: str, refs: RunRefs, commit: str) -> str:
        await self._fetch(remote, [commit], self._largest)
        mark, run = await self._read_mark(refs.space, commit), refs.run
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(mark.at / 1000))
        by = label(mark.by)
        if mark.ended:
            return f"{by} ended run {run[:8]} at {when}; the remote does not remove its refs"
        return f"{by} continued run {run[:8]} at {when}; if that has failed, --again continues it here"

    # -- pruning ----------------------------------------------------------------------------------------

    async def remove(self, remote: str, refs: RunRefs) -> None:
        """Remove the refs of a run that has ended, except refs that have changed meanwhile.

        :raises RemoteFailed: git cannot reach the remote, or it refuses to remove them.
        """
        await self._remove(remote, dict([*refs.names().items()][:MOST_REMOVED]))
        self._notes_path(refs.run).unlink(missing_ok=True)

    async def end(self, remote: str, refs: RunRefs, n: int) -> None:
        """Remove the refs of a run that has ended; if the remote keeps them, mark the run as ended.

        :param n: number of the last published question.
        :raises RemoteFailed: git cannot reach the remote, or it refuses to remove them.
        """
        try:
            await self.remove(remote, refs)
        except RemoteFailed:
            now = await self.refs_of(remote, refs.run)
            if now is not None:
                await self._mark_ended(remote, now, n)
                raise
            self._notes_path(refs.run).unlink(missing_ok=True)  # they were removed before the error

    async def _mark_ended(self, remote: str, refs: RunRefs, n: int) -> None:
        notes, commit = self._notes(refs.run), await self._write_mark(refs, n, ended=True)
        notes.taken[str(n)] = commit  # a repetition here finds its own mark, and removes the refs again
        self._write(refs.run, notes)
        expected = refs.taken.get(n, ABSENT)
        await self._change(remote, [RefChange(taken_ref(refs.space, refs.run, n), commit, expected)])

    async def prune(self, remote: str, ended: Sequence[str]) -> list[str]:
        """Remove the refs of ended runs of this machine, and answers without a run; return their names.

        :param ended: the runs that have ended here.
        :raises RemoteFailed: git cannot reach the remote, or it refuses to remove a ref.
        """
        inbox = sort_refs(await list_refs(self._git, remote, PATTERNS, terminal=self._terminal))
        done = {
            name: commit
            for run in ended
            if run in inbox.runs
            for name, commit in inbox.runs[run].names().items()
        }
        names = {**done, **inbox.orphaned}
        await self._remove(remote, names)
        await self._git.ask("gc", "--quiet", "--prune=2.weeks.ago")
        return sorted(names)

    async def _remove(self, remote: str, names: Mapping[str, str]) -> None:
        changes = [RefChange(name, "", commit) for name, commit in names.items()]
        for pushed, change in zip(
            await self._change(remote, changes) if changes else (), changes, strict=True
        ):
            if not pushed.done and pushed.refused:
                raise RemoteFailed(
                    f"{label(remote)} does not remove the ref {label(change.ref)}: {pushed.refused}"
                )

    # -- the person's side ------------------------------------------------------------------------------

    async def _change(self, remote: str, changes: Sequence[RefChange]) -> list[Pushed]:
        return await change_refs(self._git, remote, changes, terminal=self._terminal)

    def _notes_path(self, run: str) -> Path:
        return self._private / NOTES / f"{run}.json"

    def _notes(self, run: str) -> _Notes:
        try:
            return _Notes(**json.loads(read_regular(self._notes_path(run))))
        except FileNotFoundError:
            return _Notes()

    def _write(self, run: str, notes: _Notes) -> None:
        shape: dict[str, Any] = {name: getattr(notes, name) for name in _Notes.__slots__}
        write_atomic(self._notes_path(run), json.dumps(shape).encode())


def _parent(space: Namespace, replaced: str) -> str:
    """Return the parent of a commit that replaces another: a remote may refuse to rewrite branches."""
    return replaced if space is Namespace.BRANCHES else ""


def _most_parents(space: Namespace) -> int:
    return 1 if space is Namespace.BRANCHES else 0


async def waiting_questions(
    inbox: Inbox, fetched: RemoteInbox
) -> list[tuple[RunRefs, FetchedQuestion | str]]:
    """Return the questions of fetched runs, or the reason if a question is invalid."""
    found: list[tuple[RunRefs, FetchedQuestion | str]] = []
    for refs in fetched.runs.values():
        try:
            found.append((refs, await inbox.question(refs)))
        except RefusedRef as error:
            found.append((refs, str(error)))
        await asyncio.sleep(0)
    return found


async def open_inbox(root: Path, private: Path, config: InboxConfig, *, terminal: Terminal = "none") -> Inbox:
    """Open the inbox of a project.

    :param private: the project's private state.
    :param terminal: `shared` lets git ask for a password.
    :raises WorkspaceError: the project has no repository.
    """
    return Inbox(await inbox_git(root, private), private, config, terminal=terminal)


async def inbox_git(root: Path, private: Path) -> PersonsGit:
    """Return git for the inbox; the repository's settings start programs only if they are trusted."""
    git = await persons_git(root, private / GIT)
    if bool(git.ignored) and await asyncio.to_thread(_has_trusted_programs, root):
        return await persons_git(root, private / GIT, trusted=True)
    return git


def _has_trusted_programs(root: Path) -> bool:
    from tideate_core.mcp.servers import repository_programs  # here, because the MCP SDK is slow to import

    programs = repository_programs(root)
    return programs is not None and programs.trusted
