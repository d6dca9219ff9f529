"""Models of the handoff's files; keys in camelCase.

Other programs write and read these files: keys that are not ours are left alone, what is ours has to fit.
"""

from __future__ import annotations

import unicodedata
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

__all__ = [
    "ExecutionState",
    "PlanFile",
    "PlannedStep",
    "StateCounts",
    "StepKind",
    "StepProgress",
    "StepState",
    "TestManifest",
]

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SEEN: Final = frozenset("\n\t\u200c\u200d")
"""Of these what a text may have: the last two join letters and emoji."""
StepKind = Literal["planning", "coding", "testing", "review", "documentation"]
_WRITING: Final = ("coding", "testing", "documentation")
Status = Literal["pending", "running", "completed", "failed"]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=4_096, pattern=r"^[^\x00-\x1f\x7f]+$")]
MOST = 1_000
"""Most files, and most steps, of a plan."""
MOST_NAMED: Final = 10
"""Steps of a circle that a message names."""


def _of_text(value: str) -> str:
    """Refuse what a terminal obeys, what reorders a line and what only a model sees."""
    for one in value.replace("\r\n", "\n"):
        if one not in _SEEN and unicodedata.category(one) in _UNSEEN:
            raise PydanticCustomError(
                "unseen", "the text has U+{code}, which is not shown; remove it", {"code": f"{ord(one):04X}"}
            )
    return value


def _printable(value: str) -> str:
    for one in value:
        if not one.isprintable():
            raise PydanticCustomError(
                "unseen", "the name has U+{code}, which is not shown; remove it", {"code": f"{ord(one):04X}"}
            )
    return value


Word = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_printable)]
PlannedName = Annotated[str, StringConstraints(min_length=1, max_length=4_096), AfterValidator(_printable)]
Prose = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_of_text)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class PlannedStep(_Shape):
    """One thing that the planner wants done."""

    id: Word
    name: Word
    type: StepKind
    agent: Word = "coder"
    description: Prose = ""
    dependencies: list[Word] = Field(default_factory=list, max_length=MOST)
    """Ids of steps that come before."""
    expected_outputs: list[PlannedName] = Field(default_factory=list, max_length=MOST)
    """Files that it writes, relative to the root."""
    estimated_duration: int | None = Field(default=None, ge=0)
    """Milliseconds, as the planner guesses."""


class PlanFile(_Shape):
    """`planner/output/plan_v1.json`: what is wanted."""

    plan_id: Word
    objective: Prose = ""
    """By default the names of the steps."""
    steps: list[PlannedStep] = Field(min_length=1, max_length=MOST)
    rollback_strategy: Prose = ""

    @field_validator("steps")
    @classmethod
    def _once(cls, steps: list[PlannedStep]) -> list[PlannedStep]:
        before: set[str] = set()
        for step in steps:
            if step.id in before:
                raise PydanticCustomError(
                    "step_twice", "the step {id} is listed twice", {"id": repr(step.id)}
                )
            before.add(step.id)
        return steps

    @model_validator(mode="after")
    def _complete(self) -> Self:
        known = {step.id for step in self.steps}
        for step in self.steps:
            for missing in [one for one in step.dependencies if one not in known]:
                raise PydanticCustomError(
                    "unknown_step",
                    "the step {id} depends on {missing}, which is not a step of this plan",
                    {"id": repr(step.id), "missing": repr(missing)},
                )
        _refuse_circles(self.steps)
        if not self.writing:
            raise PydanticCustomError(
                "nothing_to_write",
                "no step is of the type 'coding', 'testing' or 'documentation': there is nothing to do",
            )
        return self

    @property
    def writing(self) -> list[PlannedStep]:
        """The steps that change files."""
        return [step for step in self.steps if step.type in _WRITING]

    @property
    def title(self) -> str:
        """The objective in a line."""
        first = next((line.strip() for line in self.objective.splitlines() if line.strip()), "")
        return first or ", ".join(step.name for step in self.writing)


def _refuse_circles(steps: list[PlannedStep]) -> None:
    try:
        TopologicalSorter({step.id: step.dependencies for step in steps}).prepare()
    except CycleError as error:
        names = " → ".join(map(repr, error.args[1][:MOST_NAMED])) + (
            " → …" if error.args[1][MOST_NAMED:] else ""
        )
        raise PydanticCustomError(
            "circle", "these steps depend on each other: {names}", {"names": names}
        ) from None


class StepProgress(_Shape):
    """Progress of a step."""

    status: Status = "pending"
    started_at: str | None = None
    completed_at: str | None = None
    error: str | None = None
    output: Prose | None = None
    """An analysis, a verdict, or what was written, in words."""


class StepState(PlannedStep, StepProgress):
    """A step and how far it is."""


class StateCounts(_Shape):
    """Progress of the run."""

    total_steps: int = Field(ge=0)
    completed_steps: int = Field(ge=0)
    failed_steps: int = Field(ge=0)
    estimated_duration: int = Field(default=0, ge=0)
    """Milliseconds, a minute for each step of which the plan says nothing."""
    actual_duration: int | None = None
    """Milliseconds, once the run has ended."""


class ExecutionState(_Shape):
    """`workflow/state.json`: the plan's steps and how far they are; written anew as the run goes on."""

    workflow_id: Word
    """The run's id."""
    plan_id: Word
    steps: list[StepState]
    current_step_index: int = Field(ge=0)
    """0-based; of the first step that has not ended, as many as there are once all have."""
    status: Literal["pending", "running", "completed", "failed", "paused"]
    started_at: str
    """ISO 8601, UTC, as all times here."""
    completed_at: str | None = None
    artifacts: list[FileName] = Field(default_factory=list)
    """Files that were changed, relative to the root, and the patch set."""
    checkpoints: list[Word] = Field(default_factory=list)
    """Ids of the run's checkpoints, the oldest first; known once it has ended."""
    metadata: StateCounts


class TestManifest(_Shape):
    """`qa/input/test_manifest.json`: what to test, which files were changed, in which commit."""

    __test__ = False  # no test of pytest's

    workflow_id: Word
    plan_id: Word
    objective: Prose
    commit_hash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
    branch: Word
    patchset: FileName
    """Relative to the folder of the handoff (`.tideate/`)."""
    changed_files: list[FileName]
    """Relative to the root."""
    tests: list[FileName]
    """Files to run; none: all tests of the project."""
    checks: list[Prose] = Field(default_factory=list)
    """What the plan's steps of the types `testing` and `review` want looked at, in words."""
    timestamp: str
