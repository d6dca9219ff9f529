"""Tools of a machine's states, and the work of a model with them in one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tideate_core.agents import StepTools, may_look
from tideate_core.engine.review import write_staged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.agents import LoopResult
    from tideate_core.config import WorkflowConfig
    from tideate_core.workflows import MachineWorkflow, StepContext

__all__ = ["MachineTools", "StateResult", "tools_of_states", "work_in_state"]


@dataclass(frozen=True, slots=True)
class StateResult:
    """The answer of a model in a state."""

    text: str
    files: list[str] | None = None
    """Files that its edits changed; None where it has no tools to edit with."""

    def as_json(self) -> Any:
        """Return the result of the state: the text, or a mapping of `response` and `files`."""
        return self.text if self.files is None else {"response": self.text, "files": self.files}

    @classmethod
    def of_json(cls, value: Any) -> StateResult:
        """Return what `as_json` gave."""
        return cls(value["response"], value["files"]) if isinstance(value, dict) else cls(value)

    @property
    def with_files(self) -> str:
        """The text with what was done, for the states after it."""
        if self.files is None:
            return self.text
        return f"{self.text}\n\n[files written: {', '.join(self.files) or 'none'}]"


@dataclass(frozen=True, slots=True)
class MachineTools:
    """Names of the tools of each state.

    :param offered: where the model can call tools.
    :param wanted: by the person: a model that cannot call tools is an error.
    """

    offered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wanted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of_state(self, step: StepContext, state: str) -> StepTools | None:
        """Return the tools for the work in a state; None where it has none.

        :raises ConfigError: a name is wrong, or the model cannot call the tools that are wanted.
        """
        wanted = self.wanted.get(state, self.wanted.get(""))
        names = wanted
        if names is None and may_look(step):
            names = self.offered.get(state, self.offered.get("", ()))
        if not names:
            return None
        tools = StepTools(step, names)
        tools.check()
        return tools


async def work_in_state(step: StepContext, tools: StepTools, prompt: Prompt) -> StateResult:
    """Have the model work with tools; its staged edits are reviewed and written.

    :raises Declined: there are edits, and none was accepted.
    """
    done: LoopResult[Any] = await tools.work("state", prompt)
    if done.truncated:
        step.notice("the answer was cut off at the model's length limit", level="warn")
    files = await write_staged(step, tools.staged) if tools.stages else None
    return StateResult(done.text.strip(), files)


def tools_of_states(definition: MachineWorkflow, configured: WorkflowConfig | None) -> MachineTools:
    """Return the tools of a machine's states: those of the configuration, else its own.

    :raises InvalidInput: the configuration names a state that there is not; the nearest is told.
    """
    wanted: dict[str, Sequence[str]] = {}
    if configured is not None and configured.tools is not None:
        wanted[""] = configured.tools
    for name, section in (configured.states if configured is not None else {}).items():
        state = definition.state_named(name)
        if section.tools is not None:
            wanted[state] = section.tools
    return MachineTools(definition.tools, wanted)
