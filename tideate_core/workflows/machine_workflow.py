"""A workflow of the machine kind: states with transitions, and what a run of it needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, InvalidInput, did_you_mean
from tideate_core.workflows.definitions import check_name

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.machines.language import MachineDefinition, Obfuscator
    from tideate_core.workflows.definitions import Needs

__all__ = ["MachineWorkflow"]


@dataclass(frozen=True, slots=True)
class MachineWorkflow:
    """A machine that can be run by its name.

    :param path: the file it was read from.
    :param confirm: states before which the person is asked.
    :param takes: the inputs that a run of it knows.
    :param obfuscator: given where `machine` has tokens in place of names.
    :raises InvalidDefinition: the name may not be taken, or `confirm` has what is no state.
    """

    name: str
    machine: MachineDefinition
    description: str = ""
    path: Path | None = None
    confirm: frozenset[str] = frozenset()
    require_confirmation: bool = True
    needs: tuple[Needs, ...] = ()
    obfuscator: Obfuscator | None = field(default=None, repr=False)
    takes: tuple[str, ...] = ("confirm",)

    def __post_init__(self) -> None:
        check_name(self.name)
        # of a machine that comes with tideate the states are made when they are asked for
        stray = sorted(self.confirm - self.machine.states.keys()) if self.confirm else []
        if stray:
            raise InvalidDefinition(
                f"workflow {self.name!r} wants a confirmation before {stray[0]!r}, which is no state of it"
                f"{did_you_mean(stray[0], self.machine.states)}"
            )

    @property
    def step_names(self) -> tuple[str, ...]:
        """The states in the order of their first mention; a run may visit them in any."""
        return tuple(self.machine.states)

    def state_named(self, name: str) -> str:
        """Return what this definition calls a state.

        :param name: a state's name or, in an obfuscated definition, its token.
        :raises InvalidInput: with the nearest state; of an obfuscated definition only tokens are told.
        """
        if name in self.machine.states:
            return name
        if self.obfuscator and name in self.obfuscator.tokens:
            return self.obfuscator.token(name)
        raise InvalidInput(
            f"workflow {self.name!r} has no state {name!r}{did_you_mean(name, self.machine.states)}"
            f" (states: {', '.join(self.machine.states)})"
        )

    def obfuscated(self, obfuscator: Obfuscator) -> MachineWorkflow:
        """Return the same workflow with tokens for names in everything that may leave."""
        return replace(
            self,
            machine=obfuscator.definition(),
            description=obfuscator.hide(self.description),
            confirm=frozenset(obfuscator.token(name) for name in self.confirm),
            obfuscator=obfuscator,
        )
