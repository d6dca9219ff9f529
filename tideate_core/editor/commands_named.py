"""Replace shell commands in messages by the commands of the editor: `:Workflow …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SAME: Final[Mapping[str, str]] = {
    **{
        word: word
        for word in (
            *("cancel", "export", "history", "inbox", "list", "login", "resume", "retry", "rollback"),
            "show",
        )
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
"""Subcommands of `:Workflow` by the shell command with the same effect."""
OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "resume": frozenset({"--definition=file", "--definition=stored"}),
    "retry": frozenset({"--definition=file"}),
}
"""Options of both the shell command and the subcommand."""
BARE: Final = frozenset({"snapshot diff"})
"""Shell commands with arguments that the subcommand does not take."""
ALONE: Final = frozenset({"inbox"})
"""Commands that the subcommand replaces only without arguments."""
WORDS: Final = ("error", "message", "reason")
"""Keys of events and questions with text for a person."""

_SHELL: Final = r"`tideate (?P<name>{})(?P<arguments>(?: [^`\s]+)*)`".format(
    "|".join(sorted(SAME, key=len, reverse=True))
)
_EITHER: Final = re.compile(
    rf"{_SHELL} or (?P<editor>`?:Workflow [^`;,.]*`?)|(?P<first>`?:Workflow \w+`?) or `tideate [^`]*`"
)
_ONLY: Final = re.compile(_SHELL)


def name_editor_commands(text: str) -> str:
    """Return a message with each known shell command replaced by its `:Workflow …` counterpart."""
    if "`tideate " not in text:
        return text
    text = _EITHER.sub(lambda found: found["editor"] or found["first"], text)
    return _ONLY.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    name, arguments = found["name"], found["arguments"]
    options = {argument for argument in arguments.split() if argument.startswith("-")}
    if options - OPTIONS.get(name, frozenset()) or (name in ALONE and arguments):
        return found[0]
    return f"`:Workflow {SAME[name]}{'' if name in BARE else arguments}`"


def with_editor_commands(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an event or a question with editor commands in the texts for a person."""
    named = {key: name_editor_commands(data[key]) for key in WORDS if isinstance(data.get(key), str)}
    return {**data, **named} if named else data
