"""git with the person's settings, in a private bare repository, to exchange refs with remotes.

The person's settings count as in the project, with their conditional includes. Of the settings of the
project's own repository only addresses, names and headers count. Others start programs, or send credentials
elsewhere, and need trust. Hooks never run.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from tideate_core.errors import WorkspaceError
from tideate_core.git.layout import find_repository
from tideate_core.git.program import (
    Repository,
    config_options,
    query_git,
    quoted_path,
    reasons_first,
    run_git,
)
from tideate_core.git.settings import (
    HARMLESS,
    OF_REMOTE,
    REMOTE_PROGRAMS,
    TRANSFERS,
    Settings,
    parse_settings,
    setting_pairs,
)
from tideate_core.project import real_path
from tideate_core.util.addresses import without_user
from tideate_core.util.escaping import label
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.git.program import GitOutput, Terminal

PATIENCE: Final = 600.0
"""Seconds until a transfer times out."""
LARGEST: Final = 64 << 20
"""Bytes of output of one command."""
NOBODY: Final = ("tideate", "tideate@localhost")
"""Identity of a commit if git has none, as in a container."""
_COMPLETE: Final = "complete"
"""Empty file of a repository that was created to the end."""
REMOTE: Final = "inbox"
"""Name of the remote within a command: names of a configuration cannot be options."""
_OPTIONS: Final = (
    "--no-pager",
    *config_options(
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"
    ),
    *config_options("core.alternateRefsCommand=", "core.filesRefLockTimeout=10000", "color.ui=false"),
    *config_options(
        "push.gpgSign=false", "push.pushOption=", "transfer.bundleURI=false", "log.showSignature=false"
    ),
    *config_options(
        "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", "core.logAllRefUpdates=false"
    ),
)
_INHERITED: Final = re.compile(
    "GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|PROXY_COMMAND|TERMINAL_PROMPT|(?:SSL|HTTP|CONFIG|CURL)_.*"
    "|(?:AUTHOR|COMMITTER)_.*)"
)
_REWRITE: Final = re.compile(r"url\.(?P<new>.*)\.(?P<kind>(?:push)?insteadof)", re.DOTALL)
_PROTOCOLS: Final = ("file", "git", "http", "https", "ssh")
_ALLOWED: Final = re.compile(r"protocol\.(?P<name>[\w+.-]+)\.allow")
_LOGIN: Final = re.compile(
    "terminal prompts disabled|Authentication failed|Permission denied|could not read (?:Username|Password)"
)
HOW_TO_LOG_IN: Final = "log in with a credential helper, an ssh agent or a token, as for `git push`"


@dataclass(frozen=True, slots=True)
class _Bare(Repository):
    def variables(self) -> Mapping[str, str]:
        return {"GIT_DIR": str(self.git_dir)}


@dataclass(frozen=True, slots=True)
class PersonsGit:
    """A bare repository with the person's settings for the remotes of a project."""

    place: Path
    """The bare repository."""
    top: Path
    """Work tree of the project, the base of relative addresses."""
    project: Repository
    settings: Settings
    trusted: bool
    """The person trusts the programs that the project's repository configures."""
    own: Settings
    """Settings that git reads in the bare repository by itself."""
    objects: Path | None = None
    """Objects that the bare repository borrows."""
    ignored: tuple[str, ...] = field(default=(), compare=False)
    """Settings of the project's repository that wait for trust."""

    @property
    def remotes(self) -> list[str]:
        """Names of the project's remotes, `origin` first."""
        found = {match["name"] for match in self._remote_keys() if match["key"] == "url"}
        return sorted(found, key=lambda name: (name != "origin", name))

    def addresses(self, remote: str) -> list[str]:
        """Return the addresses of a remote, or the name itself if it is an address.

        :raises WorkspaceError: no remote has this name.
        """
        if found := self._values(f"remote.{remote}.url"):
            return found
        if "/" in remote or ":" in remote:
            local = Path(os.path.expanduser(remote))  # noqa: PTH111 never raises
            return [str(local.absolute())] if local.exists() else [remote]
        known = ", ".join(self.remotes)
        others = f"there is {label(known)}" if known else "`git remote add` adds one"
        raise WorkspaceError(f"there is no remote {label(remote)}; {others}")

    def effective_addresses(self, remote: str) -> set[str]:
        """Return all addresses that git may use for a remote, as given and as settings rewrite them."""
        given = {*self.addresses(remote), *self._values(f"remote.{remote}.pushurl")}
        rewritten = {
            new + one[len(old) :] for one in given for new, old in self._rules() if one.startswith(old)
        }
        return given | rewritten

    def _rules(self, *kinds: str) -> Iterator[tuple[str, str]]:
        """Yield new and old beginnings of addresses that settings rewrite.

        :param kinds: `insteadof` or `pushinsteadof`; by default both.
        """
        for key in {**self.settings.person, **self.settings.local}:
            if (match := _REWRITE.fullmatch(key)) and (not kinds or match["kind"] in kinds):
                yield from ((match["new"], old) for old in self._values(key))

    async def run(
        self,
        *arguments: str,
        remote: str | None = None,
        given: bytes = b"",
        largest: int = LARGEST,
        patience: float = PATIENCE,
        terminal: Terminal = "none",
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        largest_file: int | None = None,
        person_only: bool = False,
    ) -> GitOutput:
        """Run git; cancelling ends it with all that it started.

        :param remote: the remote that the command names `REMOTE`.
        :param settings: more settings, which win.
        :param variables: more environment variables.
        :param largest_file: bytes of each file that git writes.
        :param person_only: no setting of the project's repository counts, trusted or not.
        :raises WorkspaceError: git cannot be started or times out.
        """
        pairs = [*self._pairs(person_only=person_only), *(self._remote_pairs(remote) if remote else ())]
        more = (f"{key}={value}" for key, value in (settings or {}).items())
        return await query_git(
            _Bare(self.place, self.place, self.place),
            *arguments,
            # a relative name in the person's settings must not mean a file of an untrusted project
            cwd=self.top if self.trusted and not person_only else self.place,
            given=given,
            options=(*_OPTIONS, *config_options(*more)),
            variables={**self._variables(pairs, terminal), **(variables or {})},
            largest=largest,
            largest_file=largest_file,
            patience=patience,
            terminal=terminal,
        )

    async def ask(self, *arguments: str, given: bytes = b"", largest: int = LARGEST) -> bytes:
        """Return the output of a command without a remote, which must succeed.

        :raises WorkspaceError: it fails.
        """
        done = await self.run(*arguments, given=given, largest=largest)
        if done.status or not done.whole:
            raise WorkspaceError(f"`git {arguments[0]}` failed: {words_of(done.said)}")
        return done.out

    def _pairs(self, *, person_only: bool) -> Iterator[tuple[str, str]]:
        for key, values in self.settings.person.items():
            if key.startswith(TRANSFERS):
                yield from ((key, value) for value in _missing(key, values, self.own.person.get(key, ())))
        for key, values in () if person_only else self.settings.local.items():
            if HARMLESS.fullmatch(key) or (self.trusted and key.startswith(TRANSFERS)):
                yield from ((key, value) for value in values)

    def _remote_pairs(self, remote: str) -> Iterator[tuple[str, str]]:
        url, push = self._place_of(remote)
        yield f"remote.{REMOTE}.url", url
        if push:
            yield f"remote.{REMOTE}.pushurl", push
        for key in REMOTE_PROGRAMS:
            yield from ((f"remote.{REMOTE}.{key}", one) for one in self._values(f"remote.{remote}.{key}"))

    def _place_of(self, remote: str) -> tuple[str, str]:
        """Return the addresses to read from and to push to: the same place, as a mirror may lag behind it.

        The second is empty if git has to find it by its own rules.
        """
        address = self.addresses(remote)[0]
        if push := self._values(f"remote.{remote}.pushurl"):
            return self._absolute(push[0]), self._absolute(push[0])
        found = [(old, new) for new, old in self._rules("pushinsteadof") if address.startswith(old)]
        if not found:
            return self._absolute(address), ""
        old, new = max(found, key=lambda rule: len(rule[0]))
        rewritten = new + address[len(old) :]
        if any(rewritten.startswith(old) for _, old in self._rules("insteadof")):
            return self._absolute(address), ""  # given as an address, git would rewrite it once more
        return rewritten, rewritten

    def _absolute(self, address: str) -> str:
        path = local_path(address)
        if path is None or "://" in address or any(address.startswith(old) for _, old in self._rules()):
            return address
        return str(self.top / path)

    def _values(self, key: str) -> list[str]:
        local = () if key.endswith(REMOTE_PROGRAMS) and not self.trusted else self.settings.local.get(key, ())
        return [*self.settings.person.get(key, ()), *local]

    def _remote_keys(self) -> Iterator[re.Match[str]]:
        keys = {**self.settings.person, **self.settings.local}
        return (match for key in keys if (match := OF_REMOTE.fullmatch(key)))

    def _variables(self, pairs: list[tuple[str, str]], terminal: Terminal) -> dict[str, str]:
        own = _persons_variables()
        allowed = [
            match["name"]
            for key, values in self.settings.person.items()
            if (match := _ALLOWED.fullmatch(key)) and values[-1] in ("always", "user")
        ]
        found = {"GIT_ALLOW_PROTOCOL": ":".join(dict.fromkeys((*_PROTOCOLS, *allowed)))}
        if terminal == "shared" and "GIT_TERMINAL_PROMPT" not in own:
            found["GIT_TERMINAL_PROMPT"] = "1"
        if self.objects is not None:
            found["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = quoted_path(self.objects)
            if (shallow := self.project.common_dir / "shallow").is_file():
                found["GIT_SHALLOW_FILE"] = str(shallow)
        return {**own, **found, **setting_pairs([*pairs, *_inherited_pairs()])}


def open_persons_git(root: Path, place: Path, *, trusted: bool = False) -> PersonsGit:
    """Open, or create, the bare repository of a project; blocking.

    :param place: its private directory.
    :param trusted: the programs that the project's repository configures may run.
    :raises WorkspaceError: the project has no repository, or git cannot read it.
    """
    project = find_repository(real_path(root))
    settings = read_settings(project, project.top, _persons_variables())
    _make(place, settings)
    own = read_settings(_Bare(place, place, place), place, _persons_variables())
    waiting = () if trusted else tuple(line.partition("=")[0] for line in settings.transfers())
    return PersonsGit(place, project.top, project, settings, trusted, own, ignored=waiting)


async def persons_git(root: Path, place: Path, *, trusted: bool = False) -> PersonsGit:
    """Open, or create, the bare repository of a project; see `open_persons_git`."""
    return await asyncio.to_thread(open_persons_git, root, place, trusted=trusted)


def words_of(said: str) -> str:
    """Return git's own words for an error, reasons first, without hints, progress and users of addresses."""
    words = without_user("; ".join(reasons_first(said)))[:600]
    return f"{words}; {HOW_TO_LOG_IN}" if _LOGIN.search(said) else words or "git gave no reason"


def local_path(address: str) -> Path | None:
    """Return the directory of an address on this machine; None for others, as git tells them apart."""
    if "://" in address:
        parts = urlsplit(address)
        return Path(unquote(parts.path)) if parts.scheme == "file" else None
    before, colon, _ = address.partition(":")
    return None if colon and "/" not in before else Path(os.path.expanduser(address))  # noqa: PTH111


def read_settings(repository: Repository, cwd: Path, variables: Mapping[str, str]) -> Settings:
    """Return the settings in effect in a repository; blocking.

    :raises WorkspaceError: git refuses the repository, as one of another owner or of a newer format.
    """
    # of a refused repository, `git config` lists only the person's settings, and succeeds
    for words in (("rev-parse", "--git-dir"), ("config", "--list", "--show-scope", "-z")):
        done = run_git(repository, *words, cwd=cwd, variables=variables)
        if done.status:
            raise WorkspaceError(f"git cannot read the repository: {words_of(done.said)}")
    return parse_settings(done.out)


def _make(place: Path, settings: Settings) -> None:
    """Create the bare repository; an interrupted creation is repeated. Other processes may do the same."""
    if (place / _COMPLETE).exists():
        return
    make_private_directory(place.parent)
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        if not (place / _COMPLETE).exists():
            shutil.rmtree(place, ignore_errors=True)
            _initialize(place, settings)
    finally:
        os.close(directory)


def _initialize(place: Path, settings: Settings) -> None:
    format_ = settings.value("extensions.objectformat") or "sha1"
    done = run_git(
        _Bare(place.parent, place, place),
        *("init", "--quiet", "--bare", "--template=", f"--object-format={format_}", "--initial-branch=none"),
        str(place),
        cwd=place.parent,
    )
    if done.status:
        raise WorkspaceError(f"git cannot create a repository: {words_of(done.said)}")
    place.chmod(0o700)
    (place / _COMPLETE).touch()


def _missing(key: str, values: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values to add so that a setting has them; an empty one first clears a list."""
    if values[: len(known)] == known:
        return values[len(known) :]
    return ("", *values) if key.endswith((".helper", ".extraheader")) else values


def _persons_variables() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if _INHERITED.fullmatch(key)}


def _inherited_pairs() -> list[tuple[str, str]]:
    """Return the settings that the environment gives, as of a CI job."""
    count = os.environ.get("GIT_CONFIG_COUNT", "0")
    numbers = range(int(count)) if count.isascii() and count.isdigit() else ()
    names = [(f"GIT_CONFIG_KEY_{at}", f"GIT_CONFIG_VALUE_{at}") for at in numbers]
    return [
        (os.environ[key], os.environ[value])
        for key, value in names
        if key in os.environ and value in os.environ
    ]
