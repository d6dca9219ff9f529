"""The readable form of a published question, for people who look at the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits import fence_for
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from tideate_core.portable.questions import Question


def question_text(question: Question, remote: str) -> str:
    """Return a question as Markdown; untrusted text is in code blocks.

    :param remote: the name of the remote for the commands.
    """
    short = question.run[:8]
    parts = [
        f"# Question {question.n} of run {short}",
        _block(
            f"workflow: {label(question.workflow)}\nstep:     {label(question.step)}\n"
            f"kind:     {question.kind}\nproject:  {label(question.project)}"
        ),
        _block(question.message),
    ]
    if question.details:
        parts += ["Details:", _block(question.details)]
    if question.executed:
        lines = [f"{label(one.path)}: {label(one.reason)}" for one in question.executed]
        parts += ["Other tools execute these files without asking:", _block("\n".join(lines))]
    if question.kind == "review":
        parts.append("The proposed changes are in `changes.diff`.")
    parts += [
        "Answer the question in a clone of this repository:",
        _block(f"tideate inbox answer {short}"),
        "Continue the run after the answer:",
        _block(f"tideate resume --from {label(remote)} {short}"),
    ]
    return "\n\n".join(parts) + "\n"


def _block(text: str) -> str:
    shown = visible(text)
    fence = fence_for(shown)
    return f"{fence}text\n{shown}\n{fence}"
