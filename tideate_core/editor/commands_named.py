"""Commands of the shell that a message names, as those of the editor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["name_editor_commands", "with_editor_commands"]

SAME: Final[Mapping[str, str]] = {
    **{
        word: word
        for word in ("cancel", "export", "history", "list", "login", "resume", "retry", "rollback", "show")
    },
    "context list": "context",
    "doctor": "health",
    "mcp tools": "tools",
    "models": "model",
    "snapshot create": "snapshot",
    "snapshot diff": "snapshot",
    "snapshot list": "snapshot",
    "trust": "trust",
}
"""Subcommands of `:Workflow` that do what these of the shell do."""
OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "resume": frozenset({"--definition=file", "--definition=stored"}),
    "retry": frozenset({"--definition=file"}),
}
"""Options that both have."""
BARE: Final = frozenset({"snapshot diff"})
"""Commands whose counterpart takes no argument, or another one."""
WORDS: Final = ("error", "message", "reason")
"""Keys of events and questions whose texts a person reads."""

_SHELL: Final = r"`tideate (?P<name>{})(?P<arguments>(?: [^`\s]+)*)`".format(
    "|".join(sorted(SAME, key=len, reverse=True))
)
_EITHER: Final = re.compile(
    rf"{_SHELL} or (?P<editor>`?:Workflow [^`;,.]*`?)|(?P<first>`?:Workflow \w+`?) or `tideate [^`]*`"
)
_ONLY: Final = re.compile(_SHELL)


def name_editor_commands(text: str) -> str:
    """Return a message with `:Workflow …` in place of each command of the shell that it has, too."""
    if "`tideate " not in text:
        return text
    text = _EITHER.sub(lambda found: found["editor"] or found["first"], text)
    return _ONLY.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    name, arguments = found["name"], found["arguments"]
    options = {argument for argument in arguments.split() if argument.startswith("-")}
    if options - OPTIONS.get(name, frozenset()):
        return found[0]
    return f"`:Workflow {SAME[name]}{'' if name in BARE else arguments}`"


def with_editor_commands(data: dict[str, Any]) -> dict[str, Any]:
    """Return an event's or a question's data with the texts that a person reads in the editor's words."""
    named = {key: name_editor_commands(data[key]) for key in WORDS if isinstance(data.get(key), str)}
    return {**data, **named} if named else data
