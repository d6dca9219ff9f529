"""Step handler of `agent`: an agent with tools of its own does a task in a guarded copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.agents import changes_of, guarded_agent
from tideate_core.builtin.surroundings import ask_about_secrets
from tideate_core.engine import NO_TEXT, Subject, review_and_apply, revision_prompt, with_material
from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from tideate_core.adapters import AcpAgent
    from tideate_core.agents import AgentTurn
    from tideate_core.engine import Feedback
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange


async def work(step: StepContext) -> dict[str, Any]:
    """Let the run's agent do a task, then review and write its changes; comments are its next prompt.

    A continued run continues the agent's session if the agent can, else with the conversation so far.
    """
    agent = agent_of(step)
    subject = Subject.of(step.context)
    subject = subject if subject and subject.selected else None
    await ask_about_secrets(step, subject)
    earlier = await step.earlier()
    known = (earlier.results.get(step.step) or {}) if earlier else {}
    session = str(known.get("session") or "") if known.get("agent") == agent.name else ""
    values = {
        **(subject.variables() if subject else NO_TEXT),
        "first": subject.start + 1 if subject else None,
    }
    feedback = str(known.get("feedback") or "")
    prompt = step.render("agent", prompt=step.prompt, feedback=feedback, **values)
    prompt = await with_material(step, prompt, rules=False)
    conversation = earlier.conversation if earlier else None
    async with guarded_agent(step, agent, "work", session=session, earlier=conversation) as guarded:
        turn = await guarded.turn(prompt)
        tell_left(step, agent, turn)
        said = [turn.text]

        async def revise(feedback: Feedback) -> list[FileChange]:
            turn = await guarded.turn(revision_prompt(step, feedback, staged=True))
            tell_left(step, agent, turn)
            said.append(turn.text)
            return await step.workspace.attach(changes_of(turn.difference))

        changes = await step.workspace.attach(changes_of(turn.difference))
        try:
            written = await review_and_apply(step, changes, revise) if changes else []
        finally:
            step.keep_conversation(guarded.conversation)
        result = {
            "response": "\n\n".join(filter(None, said)),
            "files": [change.move_to or change.path for change in written],
            "agent": agent.name,
            "session": guarded.session,
        }
    return result if written or not changes else {**result, "unchanged": True}


def agent_of(step: StepContext) -> AcpAgent:
    """Return the run's agent.

    :raises InvalidInput: the run's adapter is a model.
    """
    agent = step.agent()
    if agent is None:
        raise InvalidInput(
            "this workflow needs an agent, and the run's adapter is a model: name one with "
            '`--adapter acp:claude`, or set `[workflows.agent] adapter = "acp:claude"` (also: acp:codex, '
            "acp:copilot, acp:gemini, acp:opencode)"
        )
    return agent


def tell_left(step: StepContext, agent: AcpAgent, turn: AgentTurn) -> None:
    """Name the changes that cannot be reviewed, and stay in the copy."""
    for path, why in turn.difference.left.items():
        step.notice(f"{agent.name} changed {label(path)}, which cannot be reviewed: {why}", level="warn")
