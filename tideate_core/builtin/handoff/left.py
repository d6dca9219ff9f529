"""Read files left for a plan by other programs (patches, state, commit, tests); stage patches.

These files are untrusted data: edits are reviewed like a model's, and a reported verdict or passed test
does not count. A file older than the plan belongs to another plan and is ignored.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.builtin.handoff.file_formats import FILES, LARGEST, read
from tideate_core.errors import InvalidInput, NotText, UnusableFile, WorkspaceError
from tideate_core.git import ask_git
from tideate_core.project import Documents, list_documents
from tideate_core.workspace import Document, FileChange, FileImage, patched_images, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from tideate_core.agents import StagedFiles
    from tideate_core.builtin.handoff.models import ExecutionState, PlanFile
    from tideate_core.mcp.servers import CommitResult
    from tideate_core.toolchain import TestResults
    from tideate_core.workflows import StepContext

PATCHES: Final = "coder/build"
_PATCH: Final = re.compile(r"patchset_(?!(?:[0-9a-f]{8})\.diff$).+\.diff")
"""A patch set of another program; a run's own is named by the first eight digits of the run's id."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
OWN_BRANCHES: Final = "tideate/"
MOST_FAILURES: Final = 20


@dataclass(frozen=True, slots=True)
class LeftFiles:
    """Patch sets and notes left for a plan."""

    patches: dict[str, str] = field(default_factory=dict)
    """Digests of patch sets, by file or commit."""
    analyses: dict[str, str] = field(default_factory=dict)
    """Outputs of completed `planning` steps, by step id."""
    notes: list[str] = field(default_factory=list)
    """Notes for the model and the user."""

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> LeftFiles:
        """Return the value that `as_json` stored; empty without one."""
        return cls(**shape)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def as_markdown(self) -> str:
        """Return a summary to show before the plan runs; empty if nothing was left."""
        lines = [f"- {name} is taken as an edit of this plan" for name in self.patches]
        lines += [f"- the analysis of the step {name!r} is there already" for name in self.analyses]
        lines += [f"- {note.partition(chr(10))[0]}" for note in self.notes]
        return "\n".join(["Left by others:", "", *lines]) if lines else ""


async def find_left(root: Path, documents: Documents, plan: PlanFile, since: int) -> LeftFiles:
    """Read the files left for a plan.

    :param since: modification time of the plan in nanoseconds; older files belong to another plan.
    :raises InvalidInput: a file is invalid, or names a commit that does not exist.
    """
    left = LeftFiles()
    for name in await asyncio.to_thread(_patch_names, documents, since):
        left.patches[name] = _digest(await _patch(root, documents, name))
    state = cast("ExecutionState | None", await _read_new(documents, "state", since))
    if state is not None and state.plan_id == plan.plan_id:
        kinds = {one.id: one.type for one in plan.steps}
        for one in state.steps:
            if kinds.get(one.id) == "planning" and one.status == "completed" and one.output:
                left.analyses[one.id] = one.output
    commit = cast("CommitResult | None", await _read_new(documents, "commit-info", since))
    if commit is not None and not commit.branch.startswith(OWN_BRANCHES):
        if not _COMMIT.fullmatch(commit.commit_hash):
            raise InvalidInput(
                f"{documents.path(FILES['commit-info'].path)}: commitHash is not the hash of a commit"
            )
        patch = await _patch(root, documents, commit.commit_hash)
        if patch and not left.patches:
            left.patches[commit.commit_hash] = _digest(patch)
        left.notes.append(f"The commit {commit.commit_hash[:8]} on {commit.branch} by another coder.")
    results = cast("TestResults | None", await _read_new(documents, "test-results", since))
    if results is not None and results.failures:
        failed = [
            f"- {one.file}: {one.name}: {next(iter(one.message.splitlines()), '')}"
            for one in results.failures[:MOST_FAILURES]
        ]
        left.notes.append("\n".join(["Tests that failed before:", *failed]))
    return left


async def stage_patches(
    step: StepContext, root: Path, plan: PlanFile, left: LeftFiles, staged: StagedFiles
) -> dict[str, str]:
    """Stage the edits of patch sets, and return the patch set of each file.

    :raises InvalidInput: a patch set changed since the confirmation, does not apply as a whole, names a
        file outside the plan, or creates a file that is not text.
    """
    documents, taken = Documents(root), dict[str, str]()
    named = {name for one in plan.writing for name in one.expected_outputs}
    any_file = any(not one.expected_outputs for one in plan.writing)
    for source, digest in left.patches.items():
        patch = await _patch(root, documents, source)
        if _digest(patch) != digest:
            raise InvalidInput(f"{source} changed since you agreed to it; run the handoff again")
        before, after, skipped = await asyncio.to_thread(patched_images, patch, _reader(step, staged))
        for path, why in skipped.items():
            raise InvalidInput(f"{source} does not apply: {path}: {why}")
        for path, image in after.items():
            if image.state == before[path].state:
                continue
            if path not in named and not any_file:
                raise InvalidInput(f"{source} changes {path}, which is in no `expectedOutputs` of the plan")
            await _stage(step, staged, source, path, image)
            taken[path] = source
    return taken


def _reader(step: StepContext, staged: StagedFiles) -> Any:
    def read_image(path: str) -> FileImage:
        place = step.workspace.resolve(path)  # raises OutsideRoot
        image = read_image_nofollow(place)
        if staged.knows(path) and (text := staged.text(path)) is not None:
            return FileImage.of_file(Document.decode(image.data).encode(text), image.state.mode or 0o644)
        return image

    return read_image


async def _stage(step: StepContext, staged: StagedFiles, source: str, path: str, image: FileImage) -> None:
    if image.state.kind not in ("file", "absent"):
        raise InvalidInput(f"{source} makes {path} a {image.state.kind}; only text files are taken")
    await staged.load(step, [path])
    if not staged.knows(path):
        raise InvalidInput(f"{source}: {path} cannot be edited: {staged.hidden.get(path, 'it is no text')}")
    before = staged.text(path)
    try:
        after = Document.decode(image.data, path).text if image.state.kind == "file" else None
    except NotText as error:
        raise InvalidInput(f"{source}: {error}") from error
    action = "delete" if after is None else "create" if before is None else "modify"
    staged.stage([FileChange(path, cast("Any", action), before, after)])


def _patch_names(documents: Documents, since: int) -> list[str]:
    try:
        names = list_documents(documents.root, f"{documents.folder}/{PATCHES}")
    except UnusableFile as error:
        raise InvalidInput(str(error)) from error
    found = [f"{PATCHES}/{name}" for name in names if _PATCH.fullmatch(name)]
    return [name for name in found if _changed_at(documents, name) >= since]


async def _patch(root: Path, documents: Documents, source: str) -> bytes:
    if _COMMIT.fullmatch(source):
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--full-index")
        try:
            return (await ask_git(root, "diff", *options, f"HEAD...{source}", "--"))[0]
        except WorkspaceError as error:
            raise InvalidInput(
                f"the commit {source} of commit_info.json is not in this repository"
            ) from error
    try:
        return await asyncio.to_thread(documents.read, source, LARGEST)
    except (OSError, UnusableFile) as error:
        raise InvalidInput(f"{source} cannot be read: {error}") from error


async def _read_new(documents: Documents, name: str, since: int) -> BaseModel | None:
    file = FILES[name]
    if _changed_at(documents, file.path) < since:
        return None
    try:
        content = await asyncio.to_thread(documents.read, file.path, LARGEST)
    except FileNotFoundError:
        return None
    except (OSError, UnusableFile) as error:
        raise InvalidInput(str(error)) from error
    return read(documents.path(file.path), content, file.shape())


def _changed_at(documents: Documents, name: str) -> int:
    try:
        return documents.path(name).lstat().st_mtime_ns
    except OSError:
        return -1


def _digest(patch: bytes) -> str:
    return hashlib.sha256(patch).hexdigest()
