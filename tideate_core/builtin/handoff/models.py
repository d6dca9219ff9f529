"""Pydantic models of the handoff files, with camelCase keys.

Other programs write and read these files: unknown keys are ignored, known keys are validated.
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

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SEEN: Final = frozenset("\n\t\u200c\u200d")
"""Allowed in texts although unseen: line breaks, tabs and the joiners of letters and emoji."""
StepKind = Literal["planning", "coding", "testing", "review", "documentation"]
_WRITING: Final = ("coding", "testing", "documentation")
Status = Literal["pending", "running", "completed", "failed"]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=4_096, pattern=r"^[^\x00-\x1f\x7f]+$")]
MOST = 1_000
"""Most files and most steps of a plan."""
MOST_NAMED: Final = 10
"""Steps of a cycle named in a message."""


def _of_text(value: str) -> str:
    """Reject control, reordering and invisible characters, which a user would not see."""
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
    """A step of the planner's plan."""

    id: Word
    name: Word
    type: StepKind
    agent: Word = "coder"
    description: Prose = ""
    dependencies: list[Word] = Field(default_factory=list, max_length=MOST)
    """Ids of earlier steps."""
    expected_outputs: list[PlannedName] = Field(default_factory=list, max_length=MOST)
    """Files to write, relative to the root."""
    estimated_duration: int | None = Field(default=None, ge=0)
    """Milliseconds, estimated by the planner."""


class PlanFile(_Shape):
    """Content of `planner/output/plan_v1.json`: the plan to carry out."""

    plan_id: Word
    objective: Prose = ""
    """Default: the names of the steps."""
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
        """The objective in one line."""
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
    """Status, times and outcome of a planned step, as stored in the handoff's state."""

    status: Status = "pending"
    started_at: str | None = None
    completed_at: str | None = None
    error: str | None = None
    output: Prose | None = None
    """Analysis, verdict, or a summary of the written files."""


class StepState(PlannedStep, StepProgress):
    """A step with its progress."""


class StateCounts(_Shape):
    """Step counts and durations of a run."""

    total_steps: int = Field(ge=0)
    completed_steps: int = Field(ge=0)
    failed_steps: int = Field(ge=0)
    estimated_duration: int = Field(default=0, ge=0)
    """Milliseconds; a step without an estimate counts as one minute."""
    actual_duration: int | None = None
    """Milliseconds; None while the run is active."""


class ExecutionState(_Shape):
    """Content of `workflow/state.json`: the plan's steps and their progress, updated during the run."""

    workflow_id: Word
    """The run's id."""
    plan_id: Word
    steps: list[StepState]
    current_step_index: int = Field(ge=0)
    """Index of the first step that is not completed; the number of steps if all are."""
    status: Literal["pending", "running", "completed", "failed", "paused"]
    started_at: str
    """ISO 8601 in UTC, like all times here."""
    completed_at: str | None = None
    artifacts: list[FileName] = Field(default_factory=list)
    """Changed files, relative to the root, and the patch set."""
    checkpoints: list[Word] = Field(default_factory=list)
    """Ids of the run's checkpoints, oldest first; empty until the run ends."""
    metadata: StateCounts


class TestManifest(_Shape):
    """Content of `qa/input/test_manifest.json`: tests to run, changed files and their commit."""

    __test__ = False  # not a pytest class

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
    """Test files to run; empty for all tests of the project."""
    checks: list[Prose] = Field(default_factory=list)
    """Descriptions of the plan's `testing` and `review` steps."""
    timestamp: str
