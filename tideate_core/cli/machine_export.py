"""`tideate machine export` and `reveal`: what may be shown to others, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.cli.files import write_text
from tideate_core.cli.machine_source import open_machine
from tideate_core.cli.output import fail, messages, print_json, print_text
from tideate_core.cli.wiring import locate
from tideate_core.errors import ConfigError, InvalidInput, TideateError
from tideate_core.machines.language import write_definition
from tideate_core.project import state_dir

if TYPE_CHECKING:
    from tideate_core.workflows import MachineWorkflow

__all__ = ["export", "reveal"]


def export(file: str, root: str | None, *, obfuscate: bool, out: str | None) -> int:
    """Print a machine as `.workflow` text, or write it; returns the exit status."""
    try:
        text = write_definition(open_machine(file, root, obfuscate=obfuscate).machine)
        if out is None:
            print_text(text)
        else:
            write_text(Path(out).expanduser(), text)
            messages().print(f"written: {out}", markup=False, soft_wrap=True)
    except TideateError as error:
        fail(error)
        return 2
    return 0


def reveal(file: str, tokens: tuple[str, ...], root: str | None, *, as_json: bool) -> int:
    """Print the names behind tokens; returns the exit status."""
    try:
        if not tokens:
            raise InvalidInput("name the TOKENs to reveal")
        names = _names(_with_key(file, root), tokens)
    except TideateError as error:
        fail(error, as_json=as_json)
        return 2
    if as_json:
        print_json({"ok": True, "names": dict(zip(tokens, names, strict=True))})
    else:
        print_text("\n".join(names))
    return 0


def _with_key(file: str, root: str | None) -> MachineWorkflow:
    """Open a machine with the key that there is: a new one could not have made any token."""
    found = locate(root)
    private = state_dir() if found is None else found / ".tideate"
    key = private / "keys" / "workflow.key"
    if not key.exists():
        raise ConfigError(f"there is no key here that could have made tokens: {key} does not exist")
    return open_machine(file, root, obfuscate=True)


def _names(workflow: MachineWorkflow, tokens: tuple[str, ...]) -> list[str]:
    obfuscator = workflow.obfuscator
    if obfuscator is None:
        raise InvalidInput(f"workflow {workflow.name!r} has no tokens")
    return [obfuscator.reveal(token) for token in tokens]
