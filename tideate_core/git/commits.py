"""Commit files as the person from a temporary index; the person's index keeps all other changes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import WorkspaceError
from tideate_core.git.layout import find_repository
from tideate_core.git.persons import NOBODY, read_settings
from tideate_core.git.program import (
    HARDENED,
    SAFE_OPTIONS,
    UNSIGNED,
    config_options,
    reasons_first,
    run_as_person,
    run_git,
)
from tideate_core.git.settings import Settings, identity_variables, setting_variables
from tideate_core.project import real_path
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.git.program import GitOutput, Repository

_ENTRY: Final = re.compile(
    r"(?P<mode>\d+) (?:blob |commit )?(?P<id>[0-9a-f]{40,64})(?: (?P<stage>\d))?\t(?P<path>.*)", re.DOTALL
)
_UNDER_WAY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_GONE: Final = "0 " + "0" * 40
_WHO: Final = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_LONGEST: Final = 600
"""Characters of git's output in an error."""


class NewEntry(NamedTuple):
    """Mode and blob of a path in a commit or an index."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class PersonsCommit:
    """A commit to make."""

    message: str
    tree: Mapping[str, NewEntry | None]
    """Changed entries of the commit by path; None: removed."""
    index: Mapping[str, NewEntry | None]
    """Changed entries of the person's index after the commit."""
    edit: bool = False
    """Open the message in the person's editor."""
    hooks: Path | None = None
    """Directory of the repository's hooks if the person trusts its programs; None: no hooks, filters or
    signing programs of the repository run."""


@dataclass(slots=True)
class CommitBase:
    """The last commit and the index of the repository of a project; all methods block.

    :param root: the project.
    :raises WorkspaceError: there is no repository, git cannot read it, or a merge is under way.
    """

    root: Path
    head: str = ""
    """The id of the last commit; empty before the first."""
    repository: Repository = field(init=False)
    _prefix: str = field(init=False)
    """Prefix of the project's paths in the repository."""
    _variables: dict[str, str] = field(init=False)
    _settings: Settings = field(init=False)
    _unwritten: dict[str, tuple[tuple[str, ...], bytes]] = field(init=False, default_factory=dict)
    """Options of `git hash-object` and content of blobs that are not stored yet, by id."""

    def __post_init__(self) -> None:
        place = real_path(self.root)
        self.repository = find_repository(place)
        below = place.relative_to(self.repository.top).as_posix()
        self._prefix = "" if below == "." else f"{below}/"
        self._variables = identity_variables()
        self._settings = read_settings(self.repository, self.repository.top, self._variables)
        self._variables |= setting_variables(self._settings.neutralized_filters())
        for name in _UNDER_WAY:
            if os.path.lexists(self.repository.git_dir / name):
                raise WorkspaceError("a merge, rebase or cherry-pick is under way; finish it with git first")
        self.head = self._head()

    def committed(self, paths: Sequence[str]) -> dict[str, NewEntry]:
        """Return the entries of files in the last commit."""
        if not self.head or not paths:
            return {}
        return self._entries("ls-tree", "-r", "-z", "--full-tree", self.head, "--", *self._names(paths))

    def staged(self, paths: Sequence[str]) -> dict[str, NewEntry]:
        """Return the entries of files in the index.

        :raises WorkspaceError: a file has an unresolved conflict.
        """
        return (
            self._entries("ls-files", "-s", "-z", "--full-name", "--", *self._names(paths)) if paths else {}
        )

    def ignored(self, paths: Sequence[str]) -> set[str]:
        """Return the untracked files that git ignores."""
        options = ("--others", "--ignored", "--exclude-standard", "-z", "--full-name")
        found = self._ask("ls-files", *options, "--", *self._names(paths)).out
        return {self._path(name) for name in os.fsdecode(found).split("\0") if name}

    def filtered(self, paths: Sequence[str]) -> list[str]:
        """Return the files that a filter of the repository's own configuration converts."""
        foreign = self._settings.foreign_filters()
        if not foreign or not paths:
            return []
        found = self._ask("check-attr", "-z", "filter", "--", *self._names(paths)).out
        fields = os.fsdecode(found).split("\0")
        return [
            self._path(name)
            for name, value in zip(fields[::3], fields[2::3], strict=False)
            if value in foreign
        ]

    def nested(self, paths: Sequence[str]) -> list[str]:
        """Return the files that belong to another repository: a submodule, or one within this one."""
        above = {path: [f"{self._prefix}{one}" for one in _parents(path)] for path in paths}
        names = sorted({name for found in above.values() for name in found})
        own = {name for name in names if os.path.lexists(self.repository.top / name / ".git")}
        if self.head and names:
            listed = os.fsdecode(self._ask("ls-tree", "-z", "--full-tree", self.head, "--", *names).out)
            own |= {line.partition("\t")[2] for line in listed.split("\0") if line.startswith("160000")}
        return [path for path, found in above.items() if not own.isdisjoint(found)]

    @property
    def configures_signing(self) -> bool:
        """True if the repository's own configuration has settings of signing."""
        return self._settings.configures_signing

    def read(self, blob: str) -> bytes:
        """Return the content of a blob."""
        return self._ask("cat-file", "blob", blob).out

    def blob_id(self, path: str, data: bytes, *, link: bool = False) -> str:
        """Return the id of a file as git would store it, with its line ends and the person's filters.

        `commit` stores it: without a commit, the repository stays unchanged.
        """
        arguments = ("--stdin",) if link else ("--stdin", f"--path={self._prefix}{path}")
        found = self._ask("hash-object", *arguments, given=data).out.decode().strip()
        self._unwritten[found] = (arguments, data)
        return found

    def commit(self, wanted: PersonsCommit, scratch: Path) -> str:
        """Commit and update the person's index; return the id of the commit.

        :param scratch: a private directory for temporary files.
        :raises WorkspaceError: git, a hook or the editor refused, and the index is unchanged; or the index
            could not be updated after the commit.
        """
        if os.path.lexists(lock := self.repository.git_dir / "index.lock"):
            raise WorkspaceError(
                f"another git command is under way; wait for it, or remove {label(str(lock))}"
            )
        if self._head() != self.head:
            raise WorkspaceError("the branch has a new commit since; try again")
        for arguments, data in self._unwritten.values():
            self._ask("hash-object", "-w", *arguments, given=data)
        with tempfile.TemporaryDirectory(prefix="commit-", dir=scratch) as directory:
            index, message = Path(directory, "index"), Path(directory, "message")
            message.write_text(wanted.message, encoding="utf-8")
            own = {"GIT_INDEX_FILE": str(index)}
            if (theirs := self.repository.git_dir / "index").exists():
                shutil.copyfile(theirs, index)  # it knows which files are unchanged
            self._ask("read-tree", *(("--reset", self.head) if self.head else ("--empty",)), variables=own)
            self._ask("update-index", "-z", "--index-info", given=self._info(wanted.tree), variables=own)
            self._commit(wanted, message, own)
        made = self._head()
        if made == self.head:
            raise WorkspaceError("git made no commit")
        self._update_index(wanted, made)
        return made

    def commit_apart(self, wanted: PersonsCommit, scratch: Path, at: int) -> str:
        """Make a commit on top of the last one that no ref names; return its id.

        HEAD and the person's index stay. No hook runs.

        :param scratch: a private directory for temporary files.
        :param at: its time, in seconds since the epoch: a repetition makes the same commit.
        :raises WorkspaceError: git cannot make or sign it.
        """
        for arguments, data in self._unwritten.values():
            self._ask("hash-object", "-w", *arguments, given=data)
        with tempfile.TemporaryDirectory(prefix="commit-", dir=scratch) as directory:
            own = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
            self._ask("read-tree", *((self.head,) if self.head else ("--empty",)), variables=own)
            self._ask("update-index", "-z", "--index-info", given=self._info(wanted.tree), variables=own)
            # a partial clone lacks the blobs of other files on purpose
            tree = self._ask("write-tree", "--missing-ok", variables=own).out.decode().strip()
            message = Path(directory, "message")
            message.write_text(wanted.message, encoding="utf-8")
            return self._commit_tree(tree, message, at, trusted=wanted.hooks is not None)

    def _commit_tree(self, tree: str, message: Path, at: int, *, trusted: bool) -> str:
        settings, variables = self._settings, dict(self._variables)
        signs = settings.is_set("commit.gpgsign")
        if not trusted:
            variables |= setting_variables(settings.neutralized_programs())
            signs = (settings.person.get("commit.gpgsign") or ("",))[-1].lower() in ("true", "yes", "on", "1")
        if self._run("var", "GIT_COMMITTER_IDENT").status:
            variables |= {
                f"{who}{what}": one
                for who in _WHO
                for what, one in zip(("NAME", "EMAIL"), NOBODY, strict=True)
            }
        variables |= {f"{who}DATE": f"@{at} +0000" for who in _WHO}
        parents = ("-p", self.head) if self.head else ()
        status, said = run_as_person(
            self.repository,
            *("commit-tree", *(("-S",) if signs else ()), *parents, "-F", str(message), tree),
            options=SAFE_OPTIONS,
            variables=variables,
            terminal=False,
        )
        if status:
            raise WorkspaceError(f"nothing was committed: {said.strip()[:_LONGEST]}")
        return said.split()[-1]

    def _update_index(self, wanted: PersonsCommit, made: str) -> None:
        """Update the person's index; a hook may have changed the committed files."""
        paths = list(wanted.tree)
        found = self._entries("ls-tree", "-r", "-z", "--full-tree", made, "--", *self._names(paths))
        index = {
            path: found.get(path) if entry == wanted.tree.get(path, entry) else entry
            for path, entry in wanted.index.items()
        }
        try:
            self._ask("update-index", "-z", "--index-info", given=self._info(index))
        except WorkspaceError as error:
            files = shlex.join(self._names(paths))
            raise WorkspaceError(
                f"{made[:8]} is committed, but the index has the files as before; run `git reset -- {files}` "
                f"in {label(str(self.repository.top))}: {error}"
            ) from error

    def _head(self) -> str:
        found = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return "" if found.status else found.out.decode().strip()

    def _commit(self, wanted: PersonsCommit, message: Path, own: Mapping[str, str]) -> None:
        settings = self._settings
        variables = {**own, **{name: value for name, value in os.environ.items() if name.startswith(_WHO)}}
        if wanted.hooks is None:
            options = SAFE_OPTIONS
            variables |= setting_variables(settings.neutralized_programs())
        else:
            options = config_options("core.fsmonitor=false", f"core.hooksPath={wanted.hooks}")
        variables["GIT_EDITOR"] = _editor(settings) if wanted.edit else ":"
        edit = "--edit" if wanted.edit else "--cleanup=whitespace"
        if wanted.edit and any(line.startswith("#") for line in wanted.message.splitlines()):
            options = (*options, *config_options("core.commentChar=auto"))
        status, said = run_as_person(
            self.repository,
            *("commit", "--quiet", "--file", str(message), edit),
            options=(*options, *config_options("gc.auto=0", "maintenance.auto=false")),
            variables=variables,
            terminal=wanted.edit,
        )
        if status:
            why = said.strip()[:_LONGEST] or "git or the editor ended with an error"
            raise WorkspaceError(f"nothing was committed: {why}")

    def _info(self, entries: Mapping[str, NewEntry | None]) -> bytes:
        lines = (
            f"{_GONE if entry is None else f'{entry.mode} {entry.id}'}\t{self._prefix}{path}\0"
            for path, entry in entries.items()
        )
        return "".join(lines).encode(errors="surrogateescape")

    def _entries(self, *arguments: str) -> dict[str, NewEntry]:
        found = {}
        for line in filter(None, os.fsdecode(self._ask(*arguments).out).split("\0")):
            match = _ENTRY.fullmatch(line)
            if match is None or match["stage"] not in (None, "0"):
                raise WorkspaceError(
                    f"{line.partition(chr(9))[2]} has an unresolved conflict; resolve it first"
                )
            found[self._path(match["path"])] = NewEntry(match["mode"], match["id"])
        return found

    def _names(self, paths: Iterable[str]) -> list[str]:
        return [f"{self._prefix}{path}" for path in paths]

    def _path(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def _ask(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> GitOutput:
        answer = self._run(*arguments, given=given, variables=variables)
        if answer.status:
            said = "; ".join(reasons_first(answer.said))[:_LONGEST]
            raise WorkspaceError(f"`git {arguments[0]}` failed: {said}")
        return answer

    def _run(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> GitOutput:
        return run_git(
            self.repository,
            *arguments,
            cwd=self.repository.top,
            given=given,
            options=(*HARDENED, *UNSIGNED),
            variables={**self._variables, **(variables or {})},
        )


def _parents(path: str) -> list[str]:
    """Return the directories above a relative path."""
    return [str(one) for one in PurePosixPath(path).parents[:-1]]


def _editor(settings: Settings) -> str:
    """Return the person's editor in git's order; the repository's own setting is foreign and ignored."""
    own = (os.environ.get("GIT_EDITOR"), *settings.person.get("core.editor", ())[-1:])
    return next(filter(None, (*own, os.environ.get("VISUAL"), os.environ.get("EDITOR"))), "vi")
