"""What a project keeps of its changes: its changelog and its checklist."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.agents.shown import read_if_there
from tideate_core.errors import WorkspaceError
from tideate_core.gates import CHANGELOGS
from tideate_core.util.markdown import ListItem, read_markdown

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Source

__all__ = ["CHECKLISTS", "Records", "is_document", "is_record", "read_records"]

CHECKLISTS: Final = ("CHECKLIST.md", "TODO.md", "docs/CHECKLIST.md", "docs/TODO.md")
"""Where a project's checklist is, by habit."""
_DOCUMENTS: Final = frozenset({".md", ".rst", ".txt", ".adoc"})


@dataclass(slots=True)
class Records:
    """The changelog and the checklist of a project, if it has them."""

    changelog: Source | None = None
    checklist: Source | None = None
    open_items: list[ListItem] = field(default_factory=list)
    """Of the checklist."""

    @property
    def paths(self) -> set[str]:
        return {source.path for source in (self.changelog, self.checklist) if source}


def is_record(path: str, step: StepContext) -> bool:
    """Tell whether the documenter keeps a file: what an executor writes there would be said twice."""
    return path in CHANGELOGS or path in CHECKLISTS or path == _given_checklist(step)


def is_document(path: str) -> bool:
    """Tell whether a file is written for readers: a README, or a text below `docs/`."""
    pure = PurePosixPath(path)
    place = pure.parts[:1] in {("doc",), ("docs",)} or pure.name.upper().startswith("README")
    return place and pure.suffix.lower() in _DOCUMENTS


async def read_records(step: StepContext) -> tuple[Records, list[str]]:
    """Read changelog and checklist, and say why one cannot be read."""
    records, problems = Records(), []
    try:
        for path in CHANGELOGS:
            records.changelog = records.changelog or await read_if_there(step.workspace, path)
    except WorkspaceError as error:
        problems.append(str(error))
    given = _given_checklist(step)
    try:
        for path in (given,) if given else CHECKLISTS:
            source = await read_if_there(step.workspace, path)
            if source is None and given:
                problems.append(f"the checklist {given} does not exist")
            items = [item for item in read_markdown(source.text).tasks if not item.checked] if source else []
            if source is not None and (items or given):
                records.checklist, records.open_items = source, items
                break
    except WorkspaceError as error:
        problems.append(str(error))
    return records, problems


def _given_checklist(step: StepContext) -> str | None:
    """Return the checklist that the run was started with, as its input or option `checklist`."""
    given = step.inputs.get("checklist") or step.options.get("checklist")
    return given.removeprefix("./") if isinstance(given, str) and given.strip() else None
