"""Parse YAML and JSON workflow definitions; report all mistakes with positions and hints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile
from tideate_core.workflows.checking import KnownNames, check_definition, too_many
from tideate_core.workflows.definitions import WorkflowDefinition, check_name
from tideate_core.workflows.mistakes import (
    FileMistake,
    Finding,
    LineTable,
    Located,
    Nearest,
    Problem,
    span_of,
)
from tideate_core.workflows.shape import normalize_keys, validate_definition
from tideate_core.workflows.workflow_files import BOM, LARGEST_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.errors import ReadingStage

FileFormat = Literal["yaml", "json"]

MOST_TOLD: Final = 200
"""Maximum number of mistakes listed for a file; the rest is counted."""
ANY_NAME: Final = "workflow"
"""Substitute for an invalid name, so that the rest is checked."""

SUFFIXES: Final[dict[str, FileFormat]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def format_of(path: str) -> FileFormat | None:
    """Return a file's format by its suffix, None if it is not a definition."""
    return SUFFIXES.get(PurePath(path).suffix.lower())


@dataclass(frozen=True, slots=True)
class ParsedWorkflow:
    """A parsed text; `definition` is None if it has an error; `mistakes` are in text order."""

    definition: WorkflowDefinition | None
    mistakes: list[FileMistake]
    file: str
    """The file's name in messages."""
    failed_in: ReadingStage = "validation"
    """The first stage that found an error; meaningless without one."""

    def require(self) -> WorkflowDefinition:
        """Return the definition.

        :raises InvalidDefinitionFile: the text has mistakes, one a line: `file:line:column: message; hint`.
        """
        if self.definition is not None:
            return self.definition
        told = [mistake.describe(self.file) for mistake in self.mistakes if mistake.severity == "error"]
        raise InvalidDefinitionFile("\n".join(told), self.mistakes, self.failed_in)


class WorkflowParser:
    """Parses definitions.

    :param known: names that steps may use; by default only agents are checked.
    """

    def __init__(self, known: KnownNames | None = None) -> None:
        self._known = known or KnownNames()

    def parse(
        self,
        text: str | bytes,
        *,
        format: FileFormat,  # noqa: A002 the usual name
        name: str,
        path: str | None = None,
    ) -> ParsedWorkflow:
        """Parse a text; never raises.

        :param text: bytes are UTF-8; a byte order mark is ignored.
        :param name: the workflow's name: a file's stem.
        :param path: for messages; by default the name.
        """
        file = path or name
        decoded = _decoded(text)
        if isinstance(decoded, FileMistake):
            return ParsedWorkflow(None, [decoded], file, "parsing")
        lines = LineTable(decoded)
        root, problems = _read(decoded, format)
        found, findings = problems, list[Finding]()
        definition = None
        if root is not None:
            definition, findings = self._understand(root, name)
            # an unreadable value has a substitute, whose findings are dropped
            unread = {problem.start for problem in problems}
            understood = ((finding, _problem(decoded, root, lines, finding)) for finding in findings)
            right = (told for finding, told in understood if finding.on_key or told.start not in unread)
            found = [*problems, *right]
        mistakes = _sorted(lines.mistake(problem) for problem in found)
        if any(mistake.severity == "error" for mistake in mistakes):
            definition = None
        return ParsedWorkflow(definition, mistakes, file, _failed_in(problems, findings))

    def _understand(self, root: Located, name: str) -> tuple[WorkflowDefinition | None, list[Finding]]:
        if not isinstance(root.value, dict):
            hint = "begin with `steps:` and a list of steps"
            return None, [Finding((), "a workflow is a mapping with `steps`", hint)]
        findings = []
        try:
            check_name(name, after="")
        except InvalidDefinition as error:
            findings.append(Finding((), str(error), "rename the file"))
            name = ANY_NAME
        if too_much := too_many(root.value):
            return None, [too_much]
        values, twice = normalize_keys(root.value)
        nearest = Nearest()
        if "title" in values:
            findings.append(
                Finding(("title",), "unknown key 'title'", "the key is called `name`", on_key=True)
            )
        definition, wrong = validate_definition(_called(values, name), nearest)
        findings += [*twice, *map(_as_the_file_has_it, wrong)]
        return definition, [*findings, *check_definition(values, name, self._known)]


def _failed_in(problems: list[Problem], findings: list[Finding]) -> ReadingStage:
    if any(problem.severity == "error" for problem in problems):
        return "parsing"
    errors = [finding for finding in findings if finding.severity == "error"]
    return "graph" if errors and all(finding.of_graph for finding in errors) else "validation"


def _called(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Move a file's `name`, which is shown, to `title`; the workflow's name is its file's stem."""
    given = {key: value for key, value in values.items() if key not in {"name", "title"}}
    if "name" in values:
        given["title"] = values["name"]
    return {**given, "name": name}


def _as_the_file_has_it(finding: Finding) -> Finding:
    if finding.loc != ("title",):
        return finding
    return finding._replace(loc=("name",), message=finding.message.replace("`title`", "`name`"))


def _decoded(text: str | bytes) -> str | FileMistake:
    """Return the decoded text, or the mistake that prevents it."""
    if len(text.encode(errors="surrogatepass") if isinstance(text, str) else text) > LARGEST_FILE:
        message = f"the file is larger than {LARGEST_FILE >> 20} MiB"
        return FileMistake(1, 1, 1, 1, "error", message, "that is not a workflow; keep large data elsewhere")
    if isinstance(text, str):
        return text.removeprefix(BOM)
    try:
        return text.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        before = text[: error.start].decode("utf-8").removeprefix(BOM)
        line, column = LineTable(before).place(len(before))
        message = f"byte {error.start} (0x{text[error.start]:02x}) is not UTF-8"
        return FileMistake(line, column, line, column + 1, "error", message, "save the file as UTF-8")


def _read(text: str, kind: FileFormat) -> tuple[Located | None, list[Problem]]:
    # here, because a run reads at most one format
    if kind == "json":
        from tideate_core.workflows.json_reader import read_json

        return read_json(text)
    from tideate_core.workflows.yaml_reader import read_yaml

    return read_yaml(text)


def _problem(text: str, root: Located, lines: LineTable, finding: Finding) -> Problem:
    """Return a finding located in the text."""
    start, end = span_of(root, finding.loc, on_key=finding.on_key)
    if finding.needle:
        at = text.find(finding.needle, start, end)
        start, end = (at, at + len(finding.needle)) if at >= 0 else (start, end)
    hint = finding.hint
    if finding.see is not None:
        line, _ = lines.place(span_of(root, finding.see)[0])
        hint = f"{hint} (the first is in line {line})"
    return Problem(start, end, finding.message, hint, finding.severity)


def _sorted(mistakes: Iterable[FileMistake]) -> list[FileMistake]:
    told = sorted(set(mistakes), key=lambda one: (one.line, one.column, one.message))
    if len(told) <= MOST_TOLD:
        return told
    # errors first: otherwise a cut list could hide that there is no definition
    kept = sorted(told, key=lambda one: one.severity != "error")[:MOST_TOLD]
    more = kept[-1]._replace(message=f"and {len(told) - MOST_TOLD} more mistakes", hint="correct these first")
    return [*sorted(kept, key=lambda one: (one.line, one.column, one.message)), more]
