"""Step handlers of `answer`: ask the question of a published run, then publish the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tideate_core.builtin.review.target import project_root
from tideate_core.config import load_config
from tideate_core.engine import UNASKED
from tideate_core.errors import InvalidInput
from tideate_core.portable import FetchedQuestion, Namespace, Question, open_inbox
from tideate_core.project import make_project_state
from tideate_core.util.escaping import label, one_line
from tideate_core.workflows import Decision, Declined

if TYPE_CHECKING:
    from tideate_core.portable import Inbox
    from tideate_core.workflows import StepContext

ONLY_PERSONS = "only a person, or --yes, answers"
UNRELIABLE = "edits of the demonstration model are applied only after a person's review"


async def ask(step: StepContext) -> dict[str, Any]:
    """Ask the question of the run, and store it: a later change of the ref has no effect here."""
    run, remote = str(step.inputs["run"]), str(step.inputs["remote"])

    async def fetch() -> dict[str, Any]:
        inbox = await _inbox(step)
        refs = await inbox.find(remote, run)
        asked = await inbox.question(refs)
        if (given := await inbox.counted(refs, asked)) is not None:
            raise InvalidInput(
                f"{label(given.by)} answered the question already, so nothing was sent; `tideate inbox` "
                "lists the waiting runs"
            )
        return _as_json(asked)

    asked = _of_json(await step.choose_once("question", "", fetch))
    question = asked.question
    signed = "signed by an allowed key" if asked.signed else "its author is not verified"
    step.notice(
        f"question of {label(asked.by)} ({signed}), run {question.run[:8]}, step {one_line(question.step)}"
    )
    decision = await step.confirm(
        question.kind,
        question.message,
        details=question.details,
        payload=question.shown(),
        executed=question.executed_files,
    )
    if decision.by in (UNASKED, "policy:no") or (decision.by == "policy:yes" and not decision.accepted):
        raise Declined(f"nothing was sent: {decision.reason or ONLY_PERSONS}", decision.by)
    if question.demonstration and decision.accepted and decision.by != "user":
        raise Declined(UNRELIABLE, decision.by)
    return {"question": _as_json(asked), "decision": decision.as_json()}


async def send(step: StepContext) -> dict[str, Any]:
    """Publish the answer; if another one was first, report it."""
    given = step.results["ask"]
    asked, decision = _of_json(given["question"]), Decision.of_json(given["decision"])
    remote = str(step.inputs["remote"])
    first = await (await _inbox(step)).send(remote, asked, decision)
    question = asked.question
    about = {"run": question.run, "n": question.n, "remote": remote, "sent": first is None}
    if first is None:
        words = f"answered question {question.n} of run {question.run[:8]}"
        go_on = f"`tideate resume --from {label(remote)} {question.run[:8]}` continues it"
        return {**about, "response": f"{words}; {go_on}"}
    words = (
        f"not sent: {label(first.answer.by)} answered question {question.n} of run {question.run[:8]} first"
    )
    return {**about, "response": words, "answered_by": first.answer.by, "answered_at": first.answer.at}


async def _inbox(step: StepContext) -> Inbox:
    root = project_root(step.workspace)
    private = await asyncio.to_thread(make_project_state, root)
    return await open_inbox(root, private, load_config(root).config.inbox)


def _as_json(asked: FetchedQuestion) -> dict[str, Any]:
    question = asked.question.model_dump(mode="json")
    return {
        "question": question,
        "commit": asked.commit,
        "space": asked.space.value,
        "by": asked.by,
        "signed": asked.signed,
    }


def _of_json(shape: dict[str, Any]) -> FetchedQuestion:
    question = Question.model_validate(shape["question"])
    return FetchedQuestion(question, shape["commit"], Namespace(shape["space"]), shape["by"], shape["signed"])
