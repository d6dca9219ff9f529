"""Turns of an agent with tools of its own, in a guarded copy. The caller lands or stages the changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import (
    Conversation,
    ModelTurn,
    Reply,
    TurnEnd,
    Usage,
    UserMessage,
    allow,
    written_prompt,
)
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.scratch_runs import overlay_files
from tideate_core.agents.tools.tool import ToolContext
from tideate_core.errors import (
    AdapterUnavailable,
    InvalidReply,
    InvalidTransition,
    RunIsOwned,
    ScratchUnavailable,
    SessionNotFound,
)
from tideate_core.snapshots import (
    GuardedCopy,
    GuardEvent,
    GuardSession,
    change_session,
    create_session,
    discard_session,
    ended_now,
    find_session,
    finish_session,
    owning,
)
from tideate_core.util.escaping import label
from tideate_core.util.power_loss import boot_id
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import COMPARISON, MISSING, Declined
from tideate_core.workspace import Difference, Document, change_note, changes_between

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from pathlib import Path

    from tideate_core.adapters import AcpAgent, CallUpdate, Prompt
    from tideate_core.agents.tools.tool import MayChange
    from tideate_core.process import EscapeReport
    from tideate_core.snapshots import ScratchDifference
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

INTERRUPTED: Final = (
    "You were interrupted in this task, and the files have your changes so far. Look at them, and finish it."
)
COPY: Final = "copy"
WAITS: Final = (
    "the changes of {agent} wait in session {session}: `:Workflow land {session}` or "
    "`tideate guard land {session}` reviews them"
)
DONE: Final = "Done."
"""Answer of an agent that only changed files."""
CANCELLED: Final = "I cancelled my turn."
LIMITS: Final = {"max_tokens": "its token limit", "max_turn_requests": "its limit of requests"}


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """Answer and changes of an agent."""

    text: str
    difference: ScratchDifference
    """All changes since the copy was made or last updated."""
    session: str
    """The agent's id of its session, with which a later turn continues."""
    usage: Usage
    stop_reason: str


class GuardedAgent:
    """Agent with a guarded copy of the project, for the turns of one step; made by `guarded_agent`.

    After a crash, an ended turn is not repeated; an interrupted turn continues in the same copy.
    """

    def __init__(
        self,
        step: StepContext,
        agent: AcpAgent,
        key: str,
        earlier: Sequence[str],
        staged: StagedFiles,
        session: str,
        cost: float,
        conversation: Conversation,
    ) -> None:
        self.session = session
        """The agent's id of its session; empty before the first turn."""
        self.cost = cost
        """US dollars of the session so far."""
        self.conversation = conversation
        """The conversation so far, for an agent that cannot continue its session, and for later runs."""
        self._step = step
        self._agent = agent
        self._staged = staged
        self._copy: GuardedCopy | None = None
        self.key = key
        """Prefix of this work's keys in the step's memory."""
        self._earlier = earlier
        self._turns = 0
        self._is_anew = False
        """The copy of the turns before a crash is gone."""
        self._report: EscapeReport | None = None
        self._owning = ExitStack()
        self.has_undecided = False
        """The person left parts of the last changes undecided."""
        self._permitted: set[str] = set()
        """Kinds of calls that the person allowed."""

    async def turn(self, prompt: Prompt, *, quiet: bool = False) -> AgentTurn:
        """Let the agent work on a prompt until its turn ends, then end all its programs.

        :param quiet: do not show text and thoughts.
        :raises ScratchUnavailable: the copy cannot be made.
        :raises AdapterError: there is no project, or the agent is missing, failed, refused, or neither
            answered nor changed a file.
        :raises BudgetReached: the agent reached a limit of the step.
        """
        await self._agent.check_turn(prompt)
        key, landing = f"{self.key}:turn:{self._turns}", self.landing_key(self._turns)
        self._turns += 1
        copy = self._copy = self._copy or await self._make()
        kept = self._step.recall(key)
        if self._is_anew and self._step.recall(landing) is MISSING:
            kept = MISSING  # its changes are gone with the copy
        if kept is MISSING or "end" not in kept:
            kept = await self._take(copy, prompt, key, kept, quiet=quiet)
        end = TurnEnd(**{**kept["end"], "usage": Usage(**kept["end"]["usage"])})
        self.session, self.cost = kept["session"], kept["cost"]
        if is_cancelled := end.stop_reason == "cancelled":  # as codex does after a rejected permission
            self._step.notice(
                f"{self._agent.name} cancelled its turn by itself: its work may be unfinished", level="warn"
            )
        else:
            self._agent.check_end(end)
        if (limit := LIMITS.get(end.stop_reason)) is not None:
            self._step.notice(
                f"{self._agent.name} stopped at {limit}: its work may be unfinished", level="warn"
            )
        difference = await copy.difference()
        text = end.text.strip()
        if not (text or difference or is_cancelled):
            raise InvalidReply(f"the agent {self._agent.name!r} ended without an answer and changed nothing")
        answer = text or (CANCELLED if is_cancelled else DONE)
        said = (UserMessage(prompt.user), ModelTurn(answer, (), self._agent.name, usage=end.usage))
        self.conversation = Conversation("", (*self.conversation.messages, *said))
        return AgentTurn(text, difference, self.session, end.usage, end.stop_reason)

    def landing_key(self, turn: int) -> str:
        """Return the key of a turn's landing in the step's memory.

        :param turn: its number, from 0.
        """
        return f"{self.key}:landed:{turn}"

    async def _permit(self, call: CallUpdate) -> bool:
        """Ask the person about a call; a lasting answer holds for all calls of its kind."""
        kind = call.kind or "other"
        if kind in self._permitted:
            return True
        arguments = {"title": call.title, "paths": list(call.paths), **call.arguments}
        shown = {"server": self._agent.name, "tool": kind, "arguments": arguments}
        question = f"{self._step.step}: may {self._agent.name} do this in its copy: {call.title or kind}?"
        decision = await self._step.confirm("tool", question, details=call.output, payload=shown)
        if decision.accepted and decision.value is not None:
            self._permitted.add(kind)
        return decision.accepted

    async def bring_up(self, reviewed: ScratchDifference, undecided: Collection[str]) -> None:
        """Bring the copy up to the project; of the reviewed changes, only undecided files stay."""
        if self._copy is not None:
            files = await overlay_files(ToolContext(self._step, StagedFiles()))
            await self._copy.update(files.files, landed=reviewed.without(undecided))

    async def end(self, *, keep: bool, left: bool = False, failed: bool = False) -> None:
        """Remove the copy or keep it as a session; discard the sessions of earlier attempts.

        :param keep: changes that are not landed wait in a session.
        :param left: the run will be resumed with the copy.
        :param failed: the work ended with an error.
        """
        is_kept = await self._end(keep=keep, left=left)
        if not left and (is_kept or not failed):
            await self._discard_earlier()

    async def _end(self, *, keep: bool, left: bool) -> bool:
        """End the session of the copy, and return whether it is kept."""
        copy, root = self._copy, self._step.workspace.root
        if copy is None or root is None:
            return False
        try:
            if not left and not keep:
                await copy.discard()
                return False
            report = self._report.as_json() if self._report else None
            with suppress(InvalidTransition, SessionNotFound):  # it was not started
                await asyncio.to_thread(
                    change_session, root, copy.id, GuardEvent.END, ended=ended_now(), report=report
                )
        finally:
            self._owning.close()
        if left or await finish_session(root, copy.id):
            return left
        session = await asyncio.to_thread(find_session, root, copy.id)
        self._step.notice(WAITS.format(agent=self._agent.name, session=session.short))
        return True

    async def _discard_earlier(self) -> None:
        """Discard the sessions of earlier attempts, unless the person landed a part or works with them."""
        root = self._step.workspace.root
        for key in self._earlier:
            known = self._step.recall(f"{key}:{COPY}")
            if root is None or known is MISSING:
                continue
            with suppress(SessionNotFound, RunIsOwned, ScratchUnavailable):
                session = await asyncio.to_thread(find_session, root, known)
                if not session.landings:
                    await discard_session(root, session)

    def _own(self, root: Path, copy: GuardedCopy) -> None:
        """Show the copy as a running session of this process; blocking."""
        agent, run = self._agent, self._step.execution_id
        name = agent.name.removeprefix("acp:")
        session = GuardSession(id=copy.id, argv=agent.program, agent=name, created=ended_now(), run=run)
        create_session(copy.place, session)
        self._owning.enter_context(owning(root, session))
        change_session(root, copy.id, GuardEvent.START, ended=None, boot=boot_id())

    async def _make(self) -> GuardedCopy:
        """Return the copy that this work had before a crash, or a new one."""
        step, name = self._step, f"{self.key}:{COPY}"
        root = step.workspace.root
        if root is None:
            raise AdapterUnavailable(
                f"the agent {self._agent.name!r} needs a project, and there is none here"
            )
        if (known := step.recall(name)) is not MISSING:
            try:
                copy = self._copy = await asyncio.to_thread(GuardedCopy.attach, root, known)
                await asyncio.to_thread(self._own, root, copy)
                return copy
            except (ScratchUnavailable, SessionNotFound):
                self._is_anew = True
                step.notice("the agent's copy of the project is gone: it begins anew", level="warn")
        files = (await overlay_files(ToolContext(step, self._staged))).files
        copy = self._copy = await GuardedCopy.prepare(root, files)
        await step.remember(name, copy.id)
        await asyncio.to_thread(self._own, root, copy)
        for words in copy.notices:
            step.notice(words)
        return copy

    async def _take(
        self, copy: GuardedCopy, prompt: Prompt, key: str, kept: Any, *, quiet: bool
    ) -> dict[str, Any]:
        """Take a turn; the result is durable."""
        step, agent = self._step, self._agent
        if kept is not MISSING:  # interrupted by a crash
            self.session = kept["session"]
            prompt = replace(prompt, user=f"{INTERRUPTED}\n\n---\n\n{prompt.user}")
        begun = time.monotonic()
        await agent.open(copy)
        try:
            permit = self._permit if agent.asks else allow
            async with agent.converse(copy, earlier=self.session, permit=permit) as session:
                if session.continued:
                    session.cost = self.cost
                await step.remember(key, {"session": session.id})
                if session.continued:  # the agent has the instructions already
                    sent = replace(prompt, system="")
                else:
                    sent = replace(prompt, history=self.conversation.exchanges())
                text = written_prompt(sent)
                with step.show_agent(agent.name, quiet=quiet) as show:
                    end = await session.prompt(step.hide_secrets(text), show)
                said = session.description
        finally:
            # the turn is over: its programs are ended without further words
            report = self._report = replace(await copy.close(), ended=())
            for line in report.lines:
                step.notice(f"{agent.name}: {label(line)}", level="warn")
        reply = Reply(end.text, said or agent.name, usage=end.usage, truncated=end.truncated)
        step.count_reply(agent.name, reply, time.monotonic() - begun)
        taken = {"session": session.id, "cost": session.cost, "end": asdict(end)}
        await step.remember(key, taken)
        return taken


@asynccontextmanager
async def guarded_agent(
    step: StepContext,
    agent: AcpAgent,
    key: str,
    *,
    staged: StagedFiles | None = None,
    session: str = "",
    cost: float = 0.0,
    earlier: Conversation | None = None,
) -> AsyncIterator[GuardedAgent]:
    """Give an agent a guarded copy of the project with unsaved and staged texts, until the block's end.

    The first turn makes the copy. If the work is cancelled, declined or fails, or the person left parts
    undecided, a session keeps the changes that are not landed, unless they build on staged edits, or a
    comparison took those of another run.

    :param key: identifies this work within the step.
    :param session: the agent's id of a session to continue.
    :param cost: US dollars of this session so far.
    :param earlier: the conversation to continue; sent if the agent cannot continue the session.
    """
    numbered = step.numbered(f"agent:{step.attempt}:{key}")
    rest = numbered.removeprefix(f"agent:{step.attempt}:")
    before = [f"agent:{attempt}:{rest}" for attempt in range(1, step.attempt)]
    conversation = earlier or Conversation("")
    guarded = GuardedAgent(
        step, agent, numbered, before, staged or StagedFiles(), session, cost, conversation
    )
    keep, failed = staged is None, True
    try:
        yield guarded
        keep &= guarded.has_undecided
        failed = False
    except Declined as declined:
        keep &= declined.by != COMPARISON
        raise
    finally:
        await run_uncancelled(guarded.end(keep=keep, left=step.is_left, failed=failed))


async def stage_with_agent(
    step: StepContext,
    agent: AcpAgent,
    key: str,
    prompt: Prompt,
    staged: StagedFiles,
    may_change: MayChange | None = None,
    *,
    earlier: Conversation | None = None,
) -> tuple[str, list[str]]:
    """Let an agent make edits in a guarded copy, and stage them; the result is durable.

    :param earlier: the conversation to continue.
    :returns: the agent's answer, and notes on omitted changes, such as to binary files, links and modes.
    """
    key = step.numbered(f"written:{step.attempt}:{key}")
    kept = step.recall(key)
    if kept is MISSING:
        async with guarded_agent(step, agent, key, staged=staged, earlier=earlier) as guarded:
            turn = await guarded.turn(prompt)
            notes = [f"{path} was left out: {why}" for path, why in turn.difference.left.items()]
            notes += await _stage(step, staged, changes_of(turn.difference), may_change)
            kept = {"text": turn.text, "notes": notes, "staged": staged.export_change()}
            kept["conversation"] = guarded.conversation.as_json()
            await step.remember(key, kept)
    else:
        staged.restore(kept["staged"])
    step.keep_conversation(Conversation.of_json(kept["conversation"]), staged.changes())
    return kept["text"], kept["notes"]


async def _stage(
    step: StepContext, staged: StagedFiles, changes: list[FileChange], may_change: MayChange | None
) -> list[str]:
    """Stage an agent's changes, and return a note for each omitted one."""
    notes: list[str] = []
    usable: list[FileChange] = []
    for change in changes:
        if change.is_of_mode or change.before is change.after is None:
            notes.append(f"{change.path} was left out: only texts can be staged; `agent` writes other files")
        else:
            usable.append(change)
    if may_change is not None:
        await may_change([change.path for change in usable])  # one question about all
    for change in usable:
        paths = [change.path, *([change.move_to] if change.move_to else [])]
        if may_change is not None and (why := await may_change(paths)):
            notes.append(f"left out: {why}")
            continue
        await staged.load(step, paths)
        if hidden := [
            f"{path} was left out: {staged.hidden[path]}" for path in paths if path in staged.hidden
        ]:
            notes += hidden
            continue
        if change.exact:
            if note := change_note(change):
                notes.append(f"{change.path} keeps its line ends; left out: {note}")
            change = _as_lines(change)
        staged.stage([replace(change, images=None)])
    return notes


def _as_lines(change: FileChange) -> FileChange:
    """Return a change of exact bytes as a change of lines, which keeps line ends and the last one."""
    before, after = (Document.decode((text or "").encode()).text for text in (change.before, change.after))
    return replace(change, before=before, after=after, exact=False, parts=())


def changes_of(difference: ScratchDifference) -> list[FileChange]:
    """Return an agent's changes for a review."""
    return changes_between(Difference(difference.files, difference.modes, difference.left), difference.moved)
