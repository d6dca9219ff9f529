"""Handoff files: paths and schemas, reading with every error located, atomic writing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from tideate_core.errors import InvalidInput, StoreError, UnusableFile
from tideate_core.workflows import LineTable, Located, Problem, read_json, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from tideate_core.project import Documents

LARGEST: Final = 1024 * 1024
"""Bytes of the largest file that is read."""
MOST_LISTED: Final = 20

_Shape = TypeVar("_Shape", bound=BaseModel)
_MODELS: Final = "tideate_core.builtin.handoff.models"


@dataclass(frozen=True, slots=True)
class HandoffFile:
    """A file of the handoff format."""

    path: str
    """Relative to `.tideate/`."""
    model: str
    """`module:Class`, imported on demand."""
    about: str

    def shape(self) -> type[BaseModel]:
        """Return the file's pydantic model."""
        from importlib import import_module

        module, name = self.model.split(":")
        found: type[BaseModel] = getattr(import_module(module), name)
        return found

    def schema(self) -> dict[str, Any]:
        """Return the file's JSON Schema (draft 2020-12)."""
        shape = self.shape().model_json_schema(by_alias=True, mode="validation")
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **shape}


FILES: Final = {
    "plan": HandoffFile("planner/output/plan_v1.json", f"{_MODELS}:PlanFile", "the plan"),
    "state": HandoffFile("workflow/state.json", f"{_MODELS}:ExecutionState", "progress of the run"),
    "commit-info": HandoffFile(
        "mcp/git/commit_info.json",
        "tideate_core.mcp.servers:CommitResult",
        "the commit that the git server made last",
    ),
    "test-manifest": HandoffFile(
        "qa/input/test_manifest.json", f"{_MODELS}:TestManifest", "the tests to run"
    ),
    "test-results": HandoffFile(
        "qa/reports/test_results.json",
        "tideate_core.toolchain:TestResults",
        "results of the tests",
    ),
    "run-summary": HandoffFile(
        "workflow/reports/run-summary.json", "tideate_core.engine:WorkflowSummaryDTO", "summary of the run"
    ),
}
"""By the name in `tideate schema`. Patch sets are in `coder/build/`."""


def read(path: Path, content: bytes, shape: type[_Shape]) -> _Shape:
    """Parse and validate a handoff file.

    :param path: path shown in messages.
    :raises InvalidInput: the content is invalid; lists every error as `file:line:column`.
    """
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{shown_path(path)}: not UTF-8 at byte {error.start}") from error
    root, problems = read_json(text)
    if root is None or problems:
        raise InvalidInput(_listed(path, text, problems))
    try:
        return shape.model_validate(root.value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidInput(_listed(path, text, [_located(root, one) for one in details])) from error


def _listed(path: Path, text: str, problems: Sequence[Problem]) -> str:
    table = LineTable(text)
    lines = [table.mistake(problem).describe(shown_path(path)) for problem in sorted(problems)[:MOST_LISTED]]
    more = len(problems) - len(lines)
    return "\n".join([*lines, *([f"{more} more mistakes are not listed"] if more else [])])


def _located(root: Located, detail: ErrorDetails) -> Problem:
    """Return a validation error with its place in the text."""
    at, names = root, []
    for step in detail["loc"]:
        names.append(str(step))
        below = at.child(step)
        if below is None:
            break
        at = below
    where = ".".join(names)
    return Problem(at.start, at.start + 1, f"{where}: {detail['msg']}" if where else str(detail["msg"]))


def text_of(value: BaseModel) -> str:
    """Return a model as JSON with camelCase keys, in ASCII: a file name may not be valid UTF-8."""
    import json

    return json.dumps(value.model_dump(mode="json", by_alias=True), indent=2, allow_nan=False) + "\n"


def write_json(documents: Documents, name: str, value: BaseModel) -> None:
    """Write a model to a handoff file atomically; blocking.

    :raises StoreError: the file cannot be written.
    """
    write_file(documents, name, text_of(value).encode())


def write_file(documents: Documents, name: str, content: bytes) -> None:
    """Write a handoff file atomically; blocking.

    :raises StoreError: the file cannot be written.
    """
    try:
        documents.write(name, content)
    except UnusableFile as error:
        raise StoreError(str(error)) from error
