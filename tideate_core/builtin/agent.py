"""Step handler of `agent`: an agent with tools of its own does a task in a guarded copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.agents import guarded_agent
from tideate_core.builtin.surroundings import ask_about_secrets
from tideate_core.engine import NO_TEXT, Subject, with_material, work_and_land
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tideate_core.adapters import AcpAgent
    from tideate_core.workflows import StepContext


async def work(step: StepContext) -> dict[str, Any]:
    """Let the run's agent do a task, and land its changes.

    A continued run continues the agent's session. If the agent cannot, it gets the conversation so far.
    """
    agent = agent_of(step)
    subject = Subject.of(step.context)
    subject = subject if subject and subject.selected else None
    await ask_about_secrets(step, subject)
    earlier = await step.earlier()
    known = (earlier.results.get(step.step) or {}) if earlier else {}
    same = known.get("agent") == agent.name
    session = {"session": known["session"], "cost": known["session_cost"]} if same else {}
    values = {
        **(subject.variables() if subject else NO_TEXT),
        "first": subject.start + 1 if subject else None,
    }
    feedback = str(known.get("feedback") or "")
    prompt = step.render("agent", prompt=step.prompt, feedback=feedback, **values)
    prompt = await with_material(step, prompt, rules=False)
    conversation = earlier.conversation if earlier else None
    async with guarded_agent(step, agent, "work", earlier=conversation, **session) as guarded:
        try:
            done = await work_and_land(step, guarded, prompt)
        finally:
            step.keep_conversation(guarded.conversation)
    result = {
        "response": done.text,
        "files": done.files,
        "agent": agent.name,
        "session": guarded.session,
        "session_cost": guarded.cost,
        **({"feedback": done.feedback} if done.feedback else {}),
    }
    return {**result, "unchanged": True} if done.changed and not done.files else result


def agent_of(step: StepContext) -> AcpAgent:
    """Return the run's agent.

    :raises InvalidInput: the run's adapter is a model.
    """
    agent = step.agent()
    if agent is None:
        raise InvalidInput(
            "this workflow needs an agent, and the run's adapter is a model: name an agent with "
            '`--adapter acp:claude`, or set `[workflows.agent] adapter = "acp:claude"` (also: acp:codex, '
            "acp:copilot, acp:gemini, acp:opencode)"
        )
    return agent
