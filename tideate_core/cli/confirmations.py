"""Yes-or-no questions of commands at the terminal, and reports of declined actions."""

from __future__ import annotations

import sys

from tideate_core.cli.process import DECLINED
from tideate_core.cli.render.output import messages, print_json, print_message


def has_person() -> bool:
    """Return whether stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def confirmed(policy: bool | None, name: str, question: str, run_id: str = "") -> bool:
    """Return the answer of the command line, else ask as a run does; without a terminal, decline.

    :param policy: answer given on the command line.
    :param name: name of the action.
    """
    if policy is not None or not has_person():
        return bool(policy)
    # here, because it imports the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import ConfirmationRequest

    request = ConfirmationRequest(run_id, name, name, "gate", question)
    return (await Questions(messages()).ask(request)).accepted


def declined(result: str, effect: str, policy: bool | None, *, as_json: bool) -> int:
    """Report a declined action; return the exit status.

    :param result: the resulting state, such as `nothing was changed`.
    :param effect: effect of `--yes`, as a verb.
    :param policy: answer given on the command line.
    """
    words = f"declined; {result}" + ("" if policy is False else f" (--yes {effect})")
    report_declined(words, as_json=as_json)
    return DECLINED


def report_declined(words: str, *, as_json: bool) -> None:
    """Print a message about a declined action, or its JSON form."""
    if as_json:
        print_json({"ok": False, "error": words, "error_code": "Declined"})
    else:
        print_message(words, "yellow")
