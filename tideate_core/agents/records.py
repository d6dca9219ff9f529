"""Records of a project: changelog, checklist and memory file; find, read and update them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.agents.model_input import read_if_there, why_hidden
from tideate_core.edits import fence_for
from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.gates import CHANGELOGS, SECTIONS, is_unreleased
from tideate_core.util.markdown import ListItem, read_markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tideate_core.util.markdown import Heading, Markdown
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Source, Workspace

CHECKLISTS: Final = ("CHECKLIST.md", "TODO.md", "docs/CHECKLIST.md", "docs/TODO.md")
"""Usual paths of a project's checklist."""
_DOCUMENTS: Final = frozenset({".md", ".rst", ".txt", ".adoc"})
_OTHER_CHANGELOG: Final = re.compile(
    r"(docs?/)?(changelog|changes|history|news|releases)(\.\w+)?", re.IGNORECASE
)
_FRAGMENTS: Final = frozenset({"changelog.d", "changes.d", "news.d", "newsfragments"})
"""Folders with one file per change, as towncrier and other tools keep them."""
_REFERENCE: Final = re.compile(r"[ \t]{0,3}\[[^\]]{1,300}\]:")
_BOX: Final = re.compile(r"\[ \]")


@dataclass(slots=True)
class Records:
    """The changelog and the checklist of a project, if it has them."""

    changelog: Source | None = None
    checklist: Source | None = None
    open_items: list[ListItem] = field(default_factory=list)
    """Open items of the checklist."""

    @property
    def paths(self) -> set[str]:
        return {source.path for source in (self.changelog, self.checklist) if source}


def is_record(path: str, step: StepContext) -> bool:
    """Return whether an existing file is left to the documenter: an executor must not write it too."""
    if path not in CHANGELOGS and path not in CHECKLISTS and path != _given_checklist(step):
        return False
    try:
        return step.workspace.resolve(path).exists()
    except OutsideRoot:
        return False  # reading it reports the reason


def other_changelogs(files: Iterable[str]) -> list[str]:
    """Return the changelogs that the documenter does not update: other formats, folders of fragments.

    :param files: files of the project.
    """
    found = set()
    for path in files:
        folder = next((part for part in path.split("/")[:-1] if part.lower() in _FRAGMENTS), None)
        if folder is not None:
            found.add(path[: path.index(f"{folder}/")] + f"{folder}/")
        elif _OTHER_CHANGELOG.fullmatch(path) and path not in CHANGELOGS:
            found.add(path)
    return sorted(found)


def is_document(path: str) -> bool:
    """Return whether a file is documentation: a README, or a text below `docs/`."""
    pure = PurePosixPath(path)
    place = pure.parts[:1] in {("doc",), ("docs",)} or pure.name.upper().startswith("README")
    return place and pure.suffix.lower() in _DOCUMENTS


async def read_records(step: StepContext) -> tuple[Records, list[str]]:
    """Read the changelog and the checklist; return them, and why one cannot be read."""
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
    """Return the checklist given with the run, as its input or option `checklist`."""
    given = step.inputs.get("checklist") or step.options.get("checklist")
    return given.removeprefix("./") if isinstance(given, str) and given.strip() else None


def add_entry(text: str, section: str, entry: str) -> str:
    """Return a changelog with an entry added under Unreleased; that section is added if it is missing.

    Bullets and line ends follow those of the changelog.

    :param section: one of `gates.SECTIONS`.
    :param entry: one line, without a bullet.
    """
    # if line ends are mixed, lines keep their `\\r`
    lines = text.split("\n")
    end = "\r" if 2 * sum(line.endswith("\r") for line in lines) > len(lines) else ""
    lines = [line.removesuffix("\r") for line in lines] if end else lines
    return f"{end}\n".join(_with_entry(lines, section, entry))


def _bullet(document: Markdown) -> str:
    """Return the bullet character of the changelog's items."""
    return next((item.bullet for item in document.items if item.bullet in "-*+"), "-")


def _with_entry(lines: list[str], section: str, entry: str) -> list[str]:
    if not any(line.strip() for line in lines):
        lines = ["# Changelog"]
    document = read_markdown("\n".join(lines))
    item = f"{_bullet(document)} {entry}"
    releases = [head for head in document.headings if head.level == 2]
    unreleased = next((head for head in releases if is_unreleased(head.title)), None)
    if unreleased is None:
        block = ["## [Unreleased]", "", f"### {section}", "", item]
        first = releases[0].start if releases else _content_end(lines, 0, len(lines))
        return _insert_block(lines, first, block)
    last = _content_end(lines, unreleased.line, unreleased.end)
    own = [head for head in document.headings if head.level == 3 and unreleased.line < head.line <= last]
    return _insert_entry(lines, own, section, item, last)


def _insert_entry(lines: list[str], own: list[Heading], section: str, item: str, last: int) -> list[str]:
    """Add an item to its section of a release.

    :param own: sections of the release.
    :param last: the line after the release's last nonblank line, 0-based.
    """
    for at, head in enumerate(own):
        if head.title.casefold() == section.casefold():
            stop = own[at + 1].start if at + 1 < len(own) else last
            place = _content_end(lines, head.line, stop)
            if place == head.line:  # the section is empty
                return _insert_block(lines, place, [item])
            return [*lines[:place], item, *lines[place:]]
    order = {name: number for number, name in enumerate(SECTIONS)}
    later = (head.start for head in own if order.get(head.title, -1) > order[section])
    return _insert_block(lines, next(later, last), [f"### {section}", "", item])


def _content_end(lines: list[str], start: int, stop: int) -> int:
    """Return the line after the last nonblank one, ignoring link references at the end."""
    while stop > start and (not lines[stop - 1].strip() or _REFERENCE.match(lines[stop - 1])):
        stop -= 1
    return stop


def _insert_block(lines: list[str], at: int, block: list[str]) -> list[str]:
    """Insert a block before line `at`, with a blank line on both sides."""
    before, after = lines[:at], lines[at:]
    if before and before[-1].strip():
        block = ["", *block]
    if after and after[0].strip():
        block = [*block, ""]
    return [*before, *block, *after]


def tick_items(text: str, numbers: Collection[int]) -> str:
    """Return a checklist with the items on these lines (1-based) checked; nothing else is changed."""
    unticked = {item.line for item in read_markdown(text).tasks if not item.checked}
    lines = text.split("\n")
    for number in unticked.intersection(numbers):
        lines[number - 1] = _BOX.sub("[x]", lines[number - 1], count=1)
    return "\n".join(lines)


MEMORY_FILE: Final = "MEMORY.md"
"""In the project's root; without the file there is no memory."""
LONGEST_MEMORY: Final = 12_000
"""Characters shown to a role."""
UPDATE_MEMORY: Final = (
    f"Update {MEMORY_FILE}: add in a line or two what later tasks have to know and cannot see in the code, "
    "and take out what is no longer true. Keep everything else as it is."
)


def has_memory(workspace: Workspace) -> bool:
    """Return whether the project has a memory file; blocking."""
    try:
        return workspace.resolve(MEMORY_FILE).is_file()
    except OutsideRoot:
        return False  # a link out of the project


async def memory_material(step: StepContext) -> str:
    """Return the memory for a prompt; empty if there is none or it may not be shown."""
    try:
        source = await read_if_there(step.workspace, MEMORY_FILE)
    except WorkspaceError as error:
        step.notice(f"the project's memory was not read: {error}", level="warn")
        return ""
    if source is None or not source.text.strip():
        return ""
    if why := await why_hidden(step, MEMORY_FILE, source.text):
        step.notice(f"{MEMORY_FILE} was left out: {why}", level="warn")
        return ""
    text = source.text
    if len(text) > LONGEST_MEMORY:
        text = f"{text[:LONGEST_MEMORY]}\n… and more that is not shown here"
    fence = fence_for(text)
    return f"Notes of earlier tasks on this project ({MEMORY_FILE}):\n\n{fence}markdown\n{text}\n{fence}"
