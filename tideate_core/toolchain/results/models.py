"""What `qa/reports/test_results.json` holds; keys in camelCase, as all files of the handoff have them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ["Outcome", "TestFailure", "TestResults"]

Outcome: TypeAlias = Literal["passed", "failed", "timed_out", "no_tests"]


class _Shape(BaseModel):
    __test__ = False  # no test of pytest's

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class TestFailure(_Shape):
    """A test that failed, or what kept tests from running."""

    kind: Literal["failed", "error"] = Field(
        default="failed",
        description="`error`: it could not be run to its end, where that is told.",
    )
    name: str = Field(description="The test, as its runner names it; empty where it named none.")
    file: str = Field(
        description="Relative to the root, absolute if it is outside; empty where none was named."
    )
    line: int | None = Field(default=None, description="1-based: where it failed, else where it begins.")
    message: str


class TestResults(_Shape):
    """How a run of a project's tests ended."""

    status: Outcome = Field(description="`passed`: the command ended with status 0 and no test failed.")
    runner: str = Field(description="The program whose output it is: pytest, jest, cargo, make, …")
    command: list[str] = Field(description="What was run, in the root.")
    files: list[str] = Field(default_factory=list, description="What it was limited to; none: all.")
    pattern: str = Field(default="", description="The names of tests it was limited to; empty: all.")
    passed: int | None = Field(description="Tests; null where the output does not tell, as with the others.")
    failed: int | None
    skipped: int | None = Field(description="With those that were expected to fail and did.")
    errors: int | None = Field(description="Tests, files or packages that could not be run to an end.")
    duration_ms: int
    exit_code: int | None = Field(description="null if a signal ended the command.")
    signal: str | None = None
    ending: str = Field(description="How the command ended, in words.")
    failures: list[TestFailure] = Field(default_factory=list)
    more_failures: bool = Field(default=False, description="There were more than are listed.")
    started_at: str = Field(description="ISO 8601, UTC.")
