"""Definitions in YAML and JSON files: how one is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.machine_files import check_stem, shown_path
from tideate_core.workflows.machine_text import read_machine_text

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.parsing import ParsedWorkflow

__all__ = ["DefinitionFile", "load_definition", "parse_definition"]


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """What a file says, and all of its text."""

    definition: WorkflowDefinition
    text: str


def load_definition(path: Path, known: KnownNames, root: Path | None = None) -> DefinitionFile:
    """Read a definition; it is called by the file's stem.

    :param root: of the project that it came with.
    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    :raises InvalidDefinitionFile: the text has mistakes; all of them are told.
    """
    check_stem(path)
    try:
        text = read_machine_text(path, root)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{shown_path(path)} {error}") from error
    return DefinitionFile(parse_definition(path, text, known).require(), text)


def parse_definition(path: Path, text: str, known: KnownNames, label: str | None = None) -> ParsedWorkflow:
    """Parse a definition's text.

    :param label: how messages name the file; by default its path.
    """
    # here, because most runs need no parser
    from tideate_core.workflows.parsing import WorkflowParser, format_of

    kind = format_of(path.name) or "yaml"
    return WorkflowParser(known).parse(text, format=kind, name=path.stem, path=label or shown_path(path))
