"""Land the changes of a run as a new branch: HEAD, index and files stay as they are."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tideate_core.app.commit import plan_commit
from tideate_core.app.rollback import choose_run
from tideate_core.app.runs import short_id
from tideate_core.errors import InvalidInput, RemoteFailed
from tideate_core.project import make_project_state
from tideate_core.util.escaping import label
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.app.wiring import Project
    from tideate_core.git import PersonsGit


@dataclass(frozen=True, slots=True)
class LandedBranch:
    """A pushed branch with the changes of a run."""

    branch: str
    commit: str


async def check_landing(project: Project, run: str, remote: str) -> None:
    """Check that a remote can have the branch of a run, before the run continues.

    :raises RemoteFailed: git cannot reach the remote, or another branch is in the way.
    """
    from tideate_core.git import check_branch

    await check_branch(await _git(project), remote, _branch(run))


async def land_branch(project: Project, run: str, remote: str) -> LandedBranch:
    """Commit a run's changes on top of the last commit to the branch `tideate/RUN`, and push it.

    HEAD and index stay as they are. A repetition makes the same commit.

    :raises InvalidInput: the changes cannot be separated from others, or there are none to commit.
    :raises RemoteFailed: the branch has another commit, or the remote refuses it.
    """
    from tideate_core.git import ABSENT, RefChange, change_refs

    commit = await _commit(project, _root(project), run)
    branch, git = _branch(run), await _git(project)
    git = replace(git, objects=git.project.common_dir / "objects")
    change = RefChange(f"refs/heads/{branch}", commit, ABSENT)
    (pushed,) = await change_refs(git, remote, [change])
    if not pushed.done:
        at = f"at the commit {short_id(pushed.now)}" if pushed.now else "but is not shown to readers"
        why = pushed.refused or f"it exists already, {at}; delete that branch, or use it as it is"
        raise RemoteFailed(f"the branch {branch} cannot be pushed to {label(remote)}: {why}")
    return LandedBranch(branch, commit)


def _branch(run: str) -> str:
    return f"tideate/{short_id(run)}"


def _root(project: Project) -> Path:
    if project.root is None:
        raise InvalidInput("no project is open, so there is no repository with a branch")
    return project.root


async def _git(project: Project) -> PersonsGit:
    from tideate_core.portable import inbox_git

    root = _root(project)
    return await inbox_git(root, await asyncio.to_thread(make_project_state, root))


async def _commit(project: Project, root: Path, run: str) -> str:
    from tideate_core.git import PersonsCommit

    found, members = await asyncio.to_thread(choose_run, project, run, lambda _: None)
    plan = await plan_commit(root, project.private, found, members)
    scratch = (await asyncio.to_thread(make_project_state, root)) / "commits"
    await asyncio.to_thread(make_private_directory, scratch)
    at = (plan.run.completed_at or plan.run.started_at) // 1_000
    wanted = PersonsCommit(plan.message, plan.tree, plan.index, hooks=plan.hooks)
    return await asyncio.to_thread(plan.base.commit_apart, wanted, scratch, at)
