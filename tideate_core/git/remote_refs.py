"""Refs of a remote: list, fetch, create, replace and remove them, each only if it is as expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RemoteFailed
from tideate_core.git.persons import REMOTE, local_path, words_of
from tideate_core.project import real_path
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.git.persons import PersonsGit
    from tideate_core.git.program import GitOutput, Terminal

ABSENT: Final = ""
"""Expected value of a ref that does not exist."""
_LISTED: Final = re.compile(r"(?P<commit>[0-9a-f]{40,64})\t(?P<name>refs/[^\t\r\0]+)")
FETCH: Final = (
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="),
    "--no-show-forced-updates",
)
_BATCH: Final = 500
"""Refs that one command changes: the system limits the length of a command."""
_PUSH: Final = (
    *("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"),
)


_STALE: Final = "stale info"
"""git's word for a ref that is not as expected, even if the remote does not show it to readers."""


@dataclass(frozen=True, slots=True)
class RefChange:
    """A change of one ref on a remote."""

    ref: str
    new: str
    """A commit; empty: remove the ref."""
    expected: str
    """The commit that the ref has now; `ABSENT`: none."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """Outcome of a change of a ref."""

    done: bool
    now: str = ""
    """The commit that the ref has if the change was not made; empty if the remote shows none."""
    refused: str = ""
    """The remote's words if it refused the change although the ref was as expected; empty: the ref moved."""


async def list_refs(
    git: PersonsGit, remote: str, patterns: Sequence[str], *, terminal: Terminal = "none"
) -> dict[str, str]:
    """Return the commits of a remote's refs by name.

    :raises RemoteFailed: git cannot reach the remote.
    """
    check_address(git, remote)
    done = await git.run("ls-remote", "--refs", REMOTE, *patterns, remote=remote, terminal=terminal)
    refuse_failed(done, git, remote, "read")
    lines = done.out.decode("utf-8", "replace").split("\n")
    # a remote may name refs as it likes, which git does not check here
    return {match["name"]: match["commit"] for line in lines if (match := _LISTED.fullmatch(line))}


async def fetch_refs(
    git: PersonsGit, remote: str, refs: Mapping[str, str], *, terminal: Terminal = "none"
) -> None:
    """Fetch refs of a remote; patterns with `*` also remove local refs that the remote no longer has.

    :param refs: local name by name on the remote.
    :raises RemoteFailed: git cannot reach the remote, or a ref is gone.
    """
    check_address(git, remote)
    specs = [f"+{theirs}:{ours}" for theirs, ours in refs.items()]
    done = await git.run(*FETCH, "--force", "--prune", REMOTE, *specs, remote=remote, terminal=terminal)
    refuse_failed(done, git, remote, "read")


async def change_refs(
    git: PersonsGit, remote: str, changes: Sequence[RefChange], *, terminal: Terminal = "none"
) -> list[Pushed]:
    """Change refs of a remote, each only if it is as expected.

    A change that was made before counts as done.

    :raises RemoteFailed: git cannot reach the remote; the changes may have been made.
    """
    check_address(git, remote)
    batches = (changes[at : at + _BATCH] for at in range(0, len(changes), _BATCH))
    return [one for batch in batches for one in await _change(git, remote, batch, terminal)]


async def _change(
    git: PersonsGit, remote: str, changes: Sequence[RefChange], terminal: Terminal
) -> list[Pushed]:
    leases = [f"--force-with-lease={one.ref}:{one.expected}" for one in changes]
    specs = [f"{one.new}:{one.ref}" for one in changes]
    done = await git.run(*_PUSH, *leases, REMOTE, *specs, remote=remote, terminal=terminal)
    reported = _reported(done.out.decode("utf-8", "replace"))
    if done.status == 0:
        return [Pushed(done=True)] * len(changes)
    if not reported:
        refuse_failed(done, git, remote, "changed")
    now = await list_refs(git, remote, [one.ref for one in changes], terminal=terminal)
    return [
        _outcome(one, reported.get(one.ref, ("!", "")), now.get(one.ref, ""), done.said) for one in changes
    ]


async def check_branch(git: PersonsGit, remote: str, branch: str, *, terminal: Terminal = "none") -> None:
    """Check that no branch of a remote is in the way of a new one: `a` is in the way of `a/b`.

    :param branch: name of the new branch, without `refs/heads/`.
    :raises RemoteFailed: git cannot reach the remote, or there is such a branch.
    """
    parts = branch.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts))]
    found = await list_refs(git, remote, [f"refs/heads/{one}" for one in above], terminal=terminal)
    for one in above:
        if f"refs/heads/{one}" in found:
            raise RemoteFailed(
                f"the remote {label(remote)} has the branch {label(one)}, so it can have no branch "
                f"{label(branch)}; rename the branch {label(one)} first"
            )


def _outcome(change: RefChange, reported: tuple[str, str], now: str, said: str) -> Pushed:
    if now == change.new:
        return Pushed(done=True)
    if now != change.expected or _STALE in reported[1]:
        return Pushed(done=False, now=now)
    return Pushed(done=False, now=now, refused="; ".join(filter(None, [reported[1], words_of(said)])))


def _reported(out: str) -> dict[str, tuple[str, str]]:
    """Return flag and summary by ref from `git push --porcelain`."""
    fields = (line.split("\t") for line in out.splitlines() if line.count("\t") == 2)
    return {names.rpartition(":")[2]: (flag, summary) for flag, names, summary in fields}


def refuse_failed(done: GitOutput, git: PersonsGit, remote: str, how: str) -> None:
    """Report a command that failed.

    :param how: `read` or `changed`.
    :raises RemoteFailed: with git's own words.
    """
    if done.status == 0 and done.whole:
        return
    if not done.whole:
        raise RemoteFailed(f"the remote {label(remote)} lists too many refs; remove those that nobody needs")
    waits = f"; the repository's own settings {', '.join(git.ignored)} do not count before `tideate trust`"
    raise RemoteFailed(
        f"the remote {label(remote)} cannot be {how}: {words_of(done.said)}{waits if git.ignored else ''}"
    )


def check_address(git: PersonsGit, remote: str) -> None:
    """Reject a remote within the project: git would run its hooks, which the project's author wrote."""
    for address in git.effective_addresses(remote):
        path = local_path(address)
        if path is not None and real_path(git.top / path).is_relative_to(git.top):
            raise RemoteFailed(
                f"the remote {label(remote)} is within the project, and git would run its hooks; use a "
                "remote elsewhere"
            )
