"""`tideate machine export` and `reveal`: what may be shown to others, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.cli.files import write_output
from tideate_core.cli.machine_source import open_machine
from tideate_core.cli.output import fail, print_json, print_text
from tideate_core.cli.wiring import locate
from tideate_core.errors import ConfigError, InvalidInput, TideateError, UnknownToken
from tideate_core.machines.language import write_definition
from tideate_core.project import project_state
from tideate_core.workflows import key_file

if TYPE_CHECKING:
    from tideate_core.workflows import MachineWorkflow

__all__ = ["export", "reveal"]


def export(
    file: str, root: str | None, *, obfuscate: bool, out: str | None, called: str | None = None
) -> int:
    """Print a machine as `.workflow` text, or write it; returns the exit status."""
    try:
        workflow = open_machine(file, root, obfuscate=obfuscate, called=called)
        write_output(out, write_definition(workflow.machine), workflow.path)
    except TideateError as error:
        fail(error)
        return 2
    return 0


def reveal(
    file: str, tokens: tuple[str, ...], root: str | None, *, as_json: bool, called: str | None = None
) -> int:
    """Print the names behind tokens; returns the exit status."""
    try:
        if not tokens:
            raise InvalidInput("name the TOKENs to reveal")
        names = _names(_with_key(file, root, called), tokens)
    except TideateError as error:
        fail(error, as_json=as_json)
        return 2
    if as_json:
        print_json({"ok": True, "names": dict(zip(tokens, names, strict=True))})
    else:
        print_text("\n".join(names))
    return 0


def _with_key(file: str, root: str | None, called: str | None) -> MachineWorkflow:
    """Open a machine with the key that there is: a new one could not have made any token."""
    key = key_file(project_state(locate(root)))
    if not key.exists():
        raise ConfigError(f"there is no key here that could have made tokens: {key} does not exist")
    return open_machine(file, root, obfuscate=True, called=called)


def _names(workflow: MachineWorkflow, tokens: tuple[str, ...]) -> list[str]:
    obfuscator = workflow.obfuscator
    if obfuscator is None:
        raise InvalidInput(f"workflow {workflow.name!r} has no tokens")
    try:
        return [obfuscator.reveal(token) for token in tokens]
    except UnknownToken as error:
        raise UnknownToken(
            f"{error} (tokens depend on the workflow's name, here {workflow.name!r}, and on its states)"
        ) from error
