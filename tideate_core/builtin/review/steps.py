"""Step handlers of `review_changes`: resolve the target, then review the difference to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.review.git_changes import git_difference, image_now, link_above, name_problem
from tideate_core.builtin.review.target import Target, find_target, project_root, read_patch
from tideate_core.builtin.work import summary_of
from tideate_core.engine import review_and_apply, review_written
from tideate_core.errors import InvalidInput, OutsideRoot
from tideate_core.snapshots import SnapshotManager
from tideate_core.util.escaping import label
from tideate_core.workspace import ABSENT, Difference, changes_between, find_moves, patched_images

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange, FileImage, Workspace

MOST_NAMED: Final = 10


async def find(step: StepContext) -> dict[str, Any]:
    """Resolve the review's target to a fixed id, so that a branch may move."""
    target = await find_target(step.workspace, step.inputs["what"], step.inputs["path"])
    return target.model_dump()


async def review(step: StepContext) -> dict[str, Any]:
    """Review the changes hunk by hunk: apply accepted hunks of a patch, or revert rejected ones."""
    target, workspace = Target.model_validate(step.results["find"]), step.workspace
    difference = await _difference(step, target)
    changes = await asyncio.to_thread(_changes, difference)
    left, is_patch = _left_out(difference), target.kind == "patch"
    for one in left:
        step.notice(f"not {'applied' if is_patch else 'reviewed'}: {one}", level="warn")
    beside = ["not applied, as it does not fit:" if is_patch else "not reviewed:", *left] if left else []
    if not changes:
        nothing = "the patch changes nothing" if is_patch else f"nothing is changed {target.since}"
        return {"response": "\n".join([nothing, *beside]), "files": []}
    if is_patch:
        written = await review_and_apply(step, await workspace.attach(changes))
        return {"response": "\n".join([summary_of(written), *beside]), "files": _paths(written)}
    await _reload_buffers(workspace, changes)
    await _warn_unsaved(step, changes)
    reverted = await review_written(step, changes, target.since)
    back = reverted.changes
    words = [f"reverted:\n{summary_of(back)}" if back else "all changes are kept"]
    if reverted.left:
        words.append("not reverted, and as they were:\n" + "\n".join(reverted.left.values()))
    return {"response": "\n".join([*words, *beside]), "files": _paths(back)}


def _paths(changes: list[FileChange]) -> list[str]:
    return list(dict.fromkeys(change.move_to or change.path for change in changes))


async def _difference(step: StepContext, target: Target) -> Difference:
    workspace, root = step.workspace, project_root(step.workspace)
    if target.kind == "commit":
        return await git_difference(workspace, root, target.id, target.path)
    if target.kind == "patch":
        return await asyncio.to_thread(_patched, workspace, target)
    return await _since_snapshot(workspace, target)


async def _since_snapshot(workspace: Workspace, target: Target) -> Difference:
    manager = SnapshotManager(project_root(workspace), private=workspace.private)
    since = await manager.changes_since(target.id)
    found = Difference()
    for path, images in since.files.items():
        if target.path and path != target.path and not path.startswith(f"{target.path}/"):
            continue
        why = name_problem(workspace, path)
        if not why and "other" in (images[0].state.kind, images[1].state.kind):
            why = "it is not a regular file now"
        if why:
            found.left[path] = why
        else:
            found.files[path] = images
    for path, modes in since.modes.items():
        is_wanted = not target.path or path == target.path or path.startswith(f"{target.path}/")
        if is_wanted and workspace.entry(path).is_file():
            found.modes[path] = modes
    return found


def _patched(workspace: Workspace, target: Target) -> Difference:
    """Return the difference that a patch makes.

    :raises InvalidInput: the patch does not apply.
    :raises OutsideRoot: the patch names a path outside the project.
    """
    found = Difference()
    before, after, left = _images_of_patch(workspace, read_patch(target), found)
    found.left |= left
    for path, then in before.items():
        now = after[path]
        if not then.state.holds_same_as(now.state):
            found.files[path] = (then, now)
        if then.state.kind == now.state.kind == "file":
            mode = then.state.mode
            wanted = mode | (mode & 0o444) >> 2 if now.state.mode else mode & ~0o111
            if bool(mode & 0o100) != bool(now.state.mode):
                found.modes[path] = (mode, wanted)
    return found


def _images_of_patch(
    workspace: Workspace, patch: bytes, found: Difference
) -> tuple[dict[str, FileImage], dict[str, FileImage], dict[str, str]]:
    root, links = project_root(workspace), dict[str, str]()

    def read(path: str) -> FileImage:
        if why := name_problem(workspace, path):
            raise OutsideRoot(f"the patch cannot be applied: {label(path)}: {why}")
        if link := link_above(root, path):
            links[path] = link
        image = image_now(root, path, found)
        if image is None:
            raise InvalidInput(f"the patch cannot be applied: {label(path)}: {found.left[path]}")
        return image

    try:
        before, after, left = patched_images(patch, read)
    except InvalidInput as error:
        if links:
            raise _link_error(*links.popitem()) from error
        raise
    for path, link in links.items():
        if link not in after or after[link].state.kind == "link":
            raise _link_error(path, link)
    return before, after, left


def _link_error(path: str, link: str) -> OutsideRoot:
    return OutsideRoot(
        f"the patch cannot be applied: {label(path)} is behind a symbolic link, {label(link)}, that it keeps"
    )


def _changes(difference: Difference) -> list[FileChange]:
    gone = {path: then for path, (then, now) in difference.files.items() if now.state == ABSENT}
    came = {path: now for path, (then, now) in difference.files.items() if then.state == ABSENT}
    moved = {
        new: old
        for new, old in find_moves(gone, came).items()
        if difference.files[new][1].state.kind == difference.files[old][0].state.kind
    }
    return changes_between(difference, moved)


def _left_out(difference: Difference) -> list[str]:
    """Return the paths left out of the review, grouped by reason; long groups are shortened."""
    paths: dict[str, list[str]] = {}
    for path, why in sorted(difference.left.items()):
        paths.setdefault(why, []).append(label(path))
    left: list[str] = []
    for why, names in paths.items():
        if len(names) > MOST_NAMED:
            names[MOST_NAMED:] = [f"and {len(names) - MOST_NAMED:,} more"]
            left.append(f"{', '.join(names)}: {why}")
        else:
            left += [f"{name}: {why}" for name in names]
    return left


async def _reload_buffers(workspace: Workspace, changes: list[FileChange]) -> None:
    """Let the editor reload files that another program wrote, so that no buffer is outdated."""
    if workspace.buffers is not None:
        await workspace.buffers.changed_on_disk(
            [workspace.lexical(path) for change in changes for path in (change.path, change.move_to) if path]
        )


async def _warn_unsaved(step: StepContext, changes: list[FileChange]) -> None:
    reviewed = {path for change in changes for path in (change.path, change.move_to)}
    unsaved = [path for path in await step.workspace.unsaved_files() if path in reviewed]
    if unsaved:
        names = ", ".join(map(label, unsaved))
        step.notice(f"saved files are reviewed; unsaved changes are not shown: {names}", level="warn")
