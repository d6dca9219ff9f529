"""Scratch copies for programs of the project: the run's current texts, and the person's consent."""

from __future__ import annotations

import asyncio
import hashlib
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents.answers import tidy_text
from tideate_core.agents.tools.project_paths import project_root
from tideate_core.errors import ToolError
from tideate_core.workspace import ABSENT, Document, FileImage, image_with_text, read_image, unsaved_images

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.snapshots import Scratch
    from tideate_core.toolchain import Tool
    from tideate_core.workspace import FileChange

UNREVIEWED: Final = (
    "These edits are not reviewed yet, and a check runs the project's code. The scratch copy protects the "
    "project's files, but it is not a sandbox. Your answer applies to all checks of this kind in this run. "
    "For tests, it also applies to code snippets of the model."
)
WITHOUT: Final = "You can hand in without it, with a note that it did not run."


@dataclass(frozen=True, slots=True)
class OverlayFiles:
    """Contents by path below the root; None for a deleted file."""

    files: dict[str, FileImage | bytes | None] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    """Paths changed by staged edits."""


async def overlay_files(
    context: ToolContext, *, staged: bool = True, changes: Sequence[FileChange] | None = None
) -> OverlayFiles:
    """Return the files that a scratch copy needs to have the run's current texts.

    :param staged: include the staged edits.
    :param changes: changes to use instead of the staged edits.
    """
    root, workspace = project_root(context), context.step.workspace
    files: dict[str, FileImage | bytes | None] = {}
    if changes is None:
        changes = context.staged.changes() if staged else ()
    for change in sorted(changes, key=lambda one: one.is_of_mode):  # the mode of the new text
        files |= await asyncio.to_thread(_files_after, root, change, files.get(change.path))
    paths = frozenset(files)
    for path, image in (await unsaved_images(workspace)).items():
        files.setdefault(path, image.data)
    return OverlayFiles(files, paths)


def _files_after(
    root: Path, change: FileChange, known: FileImage | bytes | None = None
) -> dict[str, FileImage | bytes | None]:
    """Return the contents of the files after a change; None for a deleted one.

    :param known: content of the file after an earlier change.
    """
    if change.images is not None:
        after = change.images[1]
        if change.is_of_mode:
            data = known if isinstance(known, bytes) else (known or read_image(root / change.path)).data
            return {change.path: FileImage.of_file(data, after.state.mode)}
        moved = {change.path: None} if change.move_to else {}
        return {**moved, change.move_to or change.path: None if after.state == ABSENT else after}
    if change.exact:
        mode = read_image(root / change.path).state.mode
        return {change.path: FileImage.of_file((change.after or "").encode(), mode)}
    if change.after is None:
        return {change.path: None}
    if change.action == "create":
        return {change.path: Document().encode(change.after)}
    image = image_with_text(root / change.path, change.after)
    if change.move_to:
        return {change.path: None, change.move_to: image}
    return {change.path: image}


@asynccontextmanager
async def scratch_copy(context: ToolContext, root: Path, files: Mapping[str, Any]) -> AsyncIterator[Scratch]:
    """Open a scratch copy of the project with files laid over it."""
    from tideate_core.snapshots import open_scratch

    private = context.step.workspace.private
    async with open_scratch(
        root, private and private / "scratch", files, notice=lambda words: context.step.notice(words)
    ) as scratch:
        yield scratch


async def tree_digest(context: ToolContext, root: Path, overlay: OverlayFiles) -> str:
    """Return a digest of the project's files by names, sizes and times, and of the overlaid contents."""
    names = await context.step.workspace.list(notice=lambda words: context.step.notice(words, level="warn"))

    def digest() -> str:
        found = hashlib.sha256()
        for name in names:
            try:
                there = os.lstat(f"{root}/{name}")  # not Path: there may be many thousands
            except OSError:
                continue
            found.update(f"{name}\0{there.st_size}\0{there.st_mtime_ns}\n".encode(errors="surrogateescape"))
        for name, content in sorted(overlay.files.items()):
            found.update(f"{name}\0{content!r}\n".encode(errors="surrogateescape"))
        return found.hexdigest()

    return await asyncio.to_thread(digest)


async def ask_once(context: ToolContext, tool: Tool, question: str, code: str = "") -> None:
    """Ask, once in a run for each check, whether unreviewed code may run.

    :param tool: the check's command.
    :param code: code of the model that runs first.
    :raises ToolError: the answer is no.
    """

    async def decide() -> bool:
        shown = "\n".join(f"    {line}" for line in tidy_text(code).split("\n"))
        details = f"{UNREVIEWED}\n\n{shown}" if code else UNREVIEWED
        return (await context.step.confirm("gate", question, details=details, permission=True)).accepted

    key = f"permit:check:{tool.check}{tool.folder and ':'}{tool.folder}"
    if not await context.step.choose_for_run(key, tool.meaning, decide):
        raise ToolError(f"the person does not want `{tool.words}` to run with unreviewed edits. {WITHOUT}")


def count_files(count: int, kind: str = "staged") -> str:
    """Return the number of changed files in words."""
    return f"{count} {kind} file{'' if count == 1 else 's'}"
