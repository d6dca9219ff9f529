"""Commit only the hunks of one run, relative to the last commit."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.app.run_details import read_details
from tideate_core.app.threads import title_of
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.store import Reader, last_result_value
from tideate_core.util.escaping import label, visible
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.git import CommitBase, NewEntry
    from tideate_core.store import RunRow
    from tideate_core.workspace import Difference, FileImage, RollbackPlan

_WIDTH: Final = 72
_LONGEST: Final = 600
"""Characters of the summary in a message."""
_BY_HAND: Final = "commit it by hand, as with `git add -p`"


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The files of a run's commit, and its message."""

    run: RunRow
    message: str
    base: CommitBase
    tree: Mapping[str, NewEntry | None]
    index: Mapping[str, NewEntry | None]
    notes: tuple[str, ...]
    """Notes about files left out and programs that will not run."""
    hooks: Path | None

    @property
    def files(self) -> list[str]:
        return sorted(self.tree)


async def plan_commit(root: Path | None, private: Path, run_id: str, members: Sequence[str]) -> CommitPlan:
    """Plan the commit of a run's changes as they are in the saved files now.

    Each change is applied to the last commit's version of the file, and to the index's.

    :param private: directory of the journal and the store.
    :param members: the runs whose changes belong to the commit.
    :raises InvalidInput: the run's changes cannot be separated from others, or there are none to commit.
    :raises WorkspaceError: there is no repository, or git cannot read it.
    """
    import asyncio

    from tideate_core.engine import RunRollback

    if root is None:
        raise InvalidInput("no project is open, so there is no repository to commit to")
    plan = await RunRollback(root, private).plan(members)
    return await asyncio.to_thread(_plan, root, private, run_id, plan)


def commit_run(plan: CommitPlan, message: str, *, edit: bool) -> str:
    """Commit a plan; return the id of the commit; blocking.

    :param edit: open the message in the person's editor, on the terminal.
    :raises WorkspaceError: git, a hook or the editor refused; nothing was committed.
    """
    from tideate_core.git import PersonsCommit

    scratch = project_state(plan.base.root) / "commits"
    make_private_directory(scratch)
    wanted = PersonsCommit(message, plan.tree, plan.index, edit=edit, hooks=plan.hooks)
    return plan.base.commit(wanted, scratch)


def message_of(reader: Reader, run: str) -> str:
    """Return a commit message: the title of the run's prompt, and the summary of its plan.

    After a landing, return the messages of the program's own commits.
    """
    if message := last_result_value(reader.steps(run), "commit_message"):
        return f"{str(message).strip()}\n"
    details = read_details(reader, run)
    title = title_of(details.run.prompt) or details.run.name
    plan = details.plan or {}
    body = str(plan.get("objective") or plan.get("summary") or "").strip()
    lines = (_wrapped(line) for line in body[:_LONGEST].splitlines())
    return f"{title}\n\n" + "\n".join(lines) + "\n" if body else f"{title}\n"


def _wrapped(line: str) -> str:
    return textwrap.fill(visible(line), _WIDTH, break_long_words=False, break_on_hyphens=False)


def _plan(root: Path, private: Path, run_id: str, plan: RollbackPlan) -> CommitPlan:
    from tideate_core.git import CommitBase

    run, short = Reader(private).run(run_id), run_id[:8]
    if not run.ended and not run.resumable:
        raise InvalidInput(f"run {short} has not ended; commit its changes after its end")
    if plan.reasons:
        why = ", ".join(f"{label(path)} ({reason})" for path, reason in plan.reasons.items())
        raise InvalidInput(f"the changes of run {short} cannot be separated from yours: {why}; {_BY_HAND}")
    difference = plan.difference
    if not difference.files and not difference.modes:
        raise InvalidInput(
            f"the saved files have no change of run {short}; save them (`:w`), unless the run was rolled back"
        )
    base = CommitBase(root)
    merging = _Merging(base, difference, {new: old for old, new in plan.moved.items()})
    tree, index = merging.entries()
    if not tree:
        raise InvalidInput(f"the last commit already has the changes of run {short}")
    hooks, notes = _programs(root, base)
    message = message_of(Reader(private), run_id)
    return CommitPlan(run, message, base, tree, index, (*merging.notes, *notes), hooks)


def _programs(root: Path, base: CommitBase) -> tuple[Path | None, list[str]]:
    """Return the directory of trusted hooks, and notes about programs that will not run.

    A hook of the person often runs one of the repository, so both need trust.
    """
    # here, because the MCP SDK is slow to import
    from tideate_core.mcp.servers import repository_programs

    programs = repository_programs(root)
    if programs is None or programs.trusted:
        return None if programs is None else programs.folder, []
    # the person's own settings of signing need no trust
    waiting = replace(programs, signing=programs.signing and base.configures_signing).labels()
    return None, [f"{', '.join(waiting)} will not run: {programs.why}"] if waiting else []


class _Merging:
    """Applies a run's changes to the files of the last commit and of the index.

    :param difference: from the current files to those without the run.
    :param sources: new path → old path of moved files.
    """

    def __init__(self, base: CommitBase, difference: Difference, sources: Mapping[str, str]) -> None:
        self._base = base
        self._files = {path: (without, now) for path, (now, without) in difference.files.items()}
        self._modes = {path: now for path, (now, _) in difference.modes.items()}
        self._sources = sources
        paths = sorted({*self._files, *self._modes, *sources.values()})
        if nested := base.nested(paths):
            named = ", ".join(map(label, nested))
            raise InvalidInput(f"{named}: another repository within this one has it; commit it there")
        if filtered := base.filtered(paths):
            named = ", ".join(map(label, filtered))
            raise InvalidInput(
                f"{named}: a filter of the repository's own configuration converts it; {_BY_HAND}"
            )
        self._committed, self._staged = base.committed(paths), base.staged(paths)
        new = [path for path in paths if path not in self._committed and path not in self._staged]
        self._ignored = base.ignored(new) if new else set()
        self.notes = [f"{label(path)} is left out: git ignores it" for path in sorted(self._ignored)]

    def entries(self) -> tuple[dict[str, NewEntry | None], dict[str, NewEntry | None]]:
        """Return the entries that change in the commit and in the index.

        :raises InvalidInput: a change cannot be separated from others.
        """
        tree: dict[str, NewEntry | None] = {}
        index: dict[str, NewEntry | None] = {}
        for path in sorted({*self._files, *self._modes} - self._ignored):
            committed, staged = self._committed.get(path), self._staged.get(path)
            new = self._entry(path, self._committed, "the last commit")
            if new == committed:
                continue
            tree[path] = new
            index[path] = new if staged == committed else self._entry(path, self._staged, "the index")
        return tree, index

    def _entry(self, path: str, there: Mapping[str, NewEntry], where: str) -> NewEntry | None:
        from tideate_core.git import NewEntry

        source = self._sources.get(path, path)
        old = there.get(source)
        if path not in self._files:
            return old and NewEntry("100755" if self._modes[path] & 0o100 else "100644", old.id)
        without, now = self._files[path]
        if source != path:
            without = self._files[source][0]
        if now.state.kind == "absent":
            if old != self._committed.get(path):
                raise InvalidInput(
                    f"{label(path)}: the run deleted this file, which has other staged changes; {_BY_HAND}"
                )
            return None
        mode = self._mode(path, without, now, old)
        after = self._id(path, now)
        if old is None:
            if without.state.kind == "absent" or where == "the index":
                return NewEntry(mode, after)
            raise InvalidInput(f"{label(path)} was not in {where} before the run; {_BY_HAND}")
        if old.id in (after, self._id(source, without)):
            return NewEntry(mode, after)
        merged = None if now.state.kind == "link" else self._merged(without, now, self._base.read(old.id))
        if merged is None:
            raise InvalidInput(
                f"{label(path)}: the run changed lines that differ from {where}; commit or stash your own "
                f"changes of these lines first, or {_BY_HAND}"
            )
        return NewEntry(mode, self._base.blob_id(path, merged))

    def _id(self, path: str, image: FileImage) -> str:
        if image.state.kind == "absent":
            return ""
        return self._base.blob_id(path, image.data, link=image.state.kind == "link")

    def _mode(self, path: str, without: FileImage, now: FileImage, old: NewEntry | None) -> str:
        if now.state.kind == "link":
            return "120000"
        kept = without.state.mode if path not in self._modes else None
        if old is not None and old.mode.startswith("100") and kept == now.state.mode:
            return old.mode
        return "100755" if now.state.mode & 0o100 else "100644"

    def _merged(self, without: FileImage, now: FileImage, there: bytes) -> bytes | None:
        """Apply a run's change to another version of its file, which may have other line ends."""
        from tideate_core.errors import NotText
        from tideate_core.workspace import Document, merge_text

        try:
            document = Document.decode(there)
            merged = merge_text(
                Document.decode(without.data).text, Document.decode(now.data).text, document.text
            )
            return None if merged is None else document.encode(merged)
        except NotText:
            return None
