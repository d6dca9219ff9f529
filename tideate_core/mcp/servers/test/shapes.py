"""What the test server answers, in camelCase, as the report that it writes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tideate_core.toolchain import TestResults

__all__ = ["ListShape", "ListedShape", "OutputShape", "RunShape", "run_text"]

NEXT = "Pass it as `cursor` for what follows; null if this was all."
SHOWN = 20
LAST = 20
"""Lines of its output that are told of a run that says no failures."""
LONGEST = 300
"""Characters of such a line."""
"""Failures in the text beside an answer."""


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class ListedShape(_Shape):
    """A test, or a file of tests."""

    file: str = Field(description="Relative to the root.")
    line: int | None = Field(default=None, description="1-based; null of a file.")
    name: str = Field(default="", description="Empty of a file.")


class ListShape(_Shape):
    """A page of a project's tests."""

    runner: str | None = Field(description="What would run them; null where the project does not say.")
    command: list[str] = Field(description="What would be run for all of them, in the root.")
    trusted: bool = Field(description="Whether the person said that it may run.")
    tests: list[ListedShape]
    total: int = Field(description="How many there are on all pages.")
    next_cursor: str | None = Field(default=None, description=NEXT)


class RunShape(TestResults):
    """How a run ended, and the beginning of what it printed."""

    output: str = Field(description="The first page of what it printed.")
    next_cursor: str | None = Field(
        default=None, description="Pass it to `test_output` for the rest of the output; null if this was all."
    )
    report: str = Field(description="The file with this result, relative to the root.")


class OutputShape(_Shape):
    """A page of what the last run printed."""

    output: str
    next_cursor: str | None = Field(default=None, description=NEXT)


def run_text(results: TestResults, output: str = "") -> str:
    """Say in a few lines how a run ended."""
    counts = (
        (results.passed, "passed"),
        (results.failed, "failed"),
        (results.errors, "errors"),
        (results.skipped, "skipped"),
    )
    known = ", ".join(f"{number} {word}" for number, word in counts if number is not None)
    lines = [f"{results.status}: {known or 'no counts'} ({results.runner} {results.ending})"]
    for failure in results.failures[:SHOWN]:
        where = f"{failure.file}:{failure.line}" if failure.line else failure.file
        lines.append(
            ": ".join(part for part in (where, failure.name, failure.message.split("\n")[0]) if part)
        )
    if (more := len(results.failures) - SHOWN) > 0:
        lines.append(f"… and {more} more")
    if results.status != "passed" and not results.failures and (said := output.strip()):
        lines += ["it printed last:", *(line[:LONGEST] for line in said.splitlines()[-LAST:])]
    return "\n".join(lines)
