"""Yes-or-no questions of commands at the terminal, and the result of a no."""

from __future__ import annotations

import sys

from rich.text import Text

from tideate_core.cli.keyboard import Keyboard
from tideate_core.cli.process import DECLINED, run_async
from tideate_core.cli.render.output import messages, print_json, tell
from tideate_core.util.escaping import visible

__all__ = ["ask_yes_no", "confirmed_at_terminal", "declined", "has_person", "report_declined"]


def has_person() -> bool:
    """Return whether a person can be asked at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_yes_no(question: str) -> bool:
    """Ask at the terminal; anything but yes is no."""
    line = Keyboard(messages()).line(Text.assemble((question, "bold"), (" [y/N]", "cyan")))
    answer = run_async(line)
    return answer is not None and answer.lower() in ("y", "yes")


async def confirmed_at_terminal(name: str, question: str, run_id: str = "") -> bool:
    """Ask as a run asks; without a terminal it is declined.

    :param name: of what is done.
    """
    if not has_person():
        return False
    # here, because it takes the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import ConfirmationRequest

    request = ConfirmationRequest(run_id, name, name, "gate", question)
    return (await Questions(messages()).ask(request)).accepted


def declined(result: str, effect: str, policy: bool | None, *, as_json: bool) -> int:
    """Report that something was declined; return the exit status.

    :param result: what the state is now.
    :param effect: of `--yes`.
    :param policy: the answer that the command line gave.
    """
    words = f"declined; {result}" + ("" if policy is False else f" (--yes {effect})")
    report_declined(words, as_json=as_json)
    return DECLINED


def report_declined(words: str, *, as_json: bool) -> None:
    """Print that something was declined."""
    if as_json:
        print_json({"ok": False, "error": words, "error_code": "Declined"})
    else:
        tell(messages(), Text(visible(words), style="yellow"))
