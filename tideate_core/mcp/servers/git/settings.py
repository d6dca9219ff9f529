"""A repository's own configuration, and the settings that keep git from running what it names.

The person's configuration, of the user and of the system, is theirs and stays as it is; what comes with the
repository (`.git/config`, that of a worktree, and what either includes) may come from anybody.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.git import SAFE_OPTIONS, git_environment
from tideate_core.mcp.servers.git.program import failure, query
from tideate_core.project import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.git import Repository as RepositoryLayout

__all__ = ["HARDENED", "Settings", "SettingsReader", "base_environment"]


def _options(*settings: str) -> tuple[str, ...]:
    return tuple(option for setting in settings for option in ("-c", setting))


HARDENED: Final = (
    *SAFE_OPTIONS,
    *_options("submodule.recurse=false", "core.editor=:"),
    *_options("sequence.editor=:", "core.pager=cat", "credential.helper=", "core.sshCommand=:"),
    *_options("core.alternateRefsCommand=:", "log.showSignature=false", "log.showRoot=true"),
    *_options("diff.orderFile=/dev/null", "gc.auto=0", "maintenance.auto=false"),
    *_options("status.submoduleSummary=false", "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8"),
    *_options("user.useConfigOnly=true", "core.quotePath=false", "advice.addEmbeddedRepo=false"),
    *_options("core.preferSymlinkRefs=false", "color.ui=false"),
)
"""Options behind the program's name in every command."""

UNSIGNED: Final = _options("commit.gpgSign=false", "tag.gpgSign=false", "gpg.program=false")

_WHO: Final = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
)
"""Author and committer, as CI and containers set them; none of them leads git elsewhere."""
_LOCAL: Final = frozenset({"local", "worktree"})
_SIGNING: Final = ("commit.gpgsign", "user.signingkey", "gpg.")
_LFS_PROGRAMS: Final = ("lfs.extension.", "lfs.customtransfer.", "lfs.standalonetransferagent")
"""Programs that git-lfs runs by the repository's own configuration."""
_FILTER_KEYS: Final = ("clean", "smudge", "process", "required")


@dataclass(frozen=True, slots=True)
class Settings:
    """A repository's configuration, read once."""

    local: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Settings that come with the repository, by key; sections and variables in lower case."""
    person: Mapping[str, tuple[str, ...]] = field(repr=False)
    cacheable: bool
    """Nothing is included, so that two files say all."""

    def value(self, key: str) -> str | None:
        """Return what counts of a key; the repository's own counts before the person's."""
        values = self.local.get(key) or self.person.get(key)
        return values[-1] if values else None

    def is_set(self, key: str) -> bool:
        """Tell whether a boolean is true."""
        return (self.value(key) or "").lower() in ("true", "yes", "on", "1")

    def neutralized_filters(self) -> dict[str, str]:
        """Return the settings that make every filter of the repository's own what the person has for it."""
        found: dict[str, str] = {}
        for key in self.local:
            if (parts := _filter_key(key)) is not None:
                found[key] = self._persons(key, parts[1])
        if any(key.startswith(_LFS_PROGRAMS) for key in self.local):
            for name in _FILTER_KEYS:
                found[f"filter.lfs.{name}"] = "false" if name == "required" else ""
        return found

    def foreign_filters(self) -> frozenset[str]:
        """Return the filters that are not the person's own, or would run what the repository names."""
        names = {parts[0] for key in self.local if (parts := _filter_key(key)) is not None}
        if any(key.startswith(_LFS_PROGRAMS) for key in self.local):
            names.add("lfs")
            return frozenset(names)
        return frozenset(names - self.persons_filters())

    def persons_filters(self) -> frozenset[str]:
        return frozenset(parts[0] for key in self.person if (parts := _filter_key(key)) is not None)

    def _persons(self, key: str, name: str) -> str:
        values = self.person.get(key)
        return values[-1] if values else ("false" if name == "required" else "")

    def signing(self) -> list[str]:
        """Return what signing would use, one setting a line."""
        return sorted(
            f"{where} {key}={value!r}"
            for where, found in (("local", self.local), ("person", self.person))
            for key, values in found.items()
            if key.startswith(_SIGNING)
            for value in values
        )

    def filters(self) -> list[str]:
        """Return the repository's own filters, one setting a line."""
        return sorted(
            f"{key}={value!r}"
            for key, values in self.local.items()
            if key.startswith(("filter.", *_LFS_PROGRAMS))
            for value in values
        )


class SettingsReader:
    """Reader of repositories' configurations, cached until their files change.

    :param git: absolute path of the program.
    """

    def __init__(self, git: str, root: Path) -> None:
        self._git = git
        self._root = root
        self._known: dict[Path, tuple[object, Settings]] = {}

    async def read(self, layout: RepositoryLayout) -> Settings:
        """Return the configuration.

        :raises ToolError: it cannot be read, or says that the repository's files are elsewhere.
        """
        state = _files_state(layout)
        known = self._known.get(layout.git_dir)
        if known is not None and known[0] == state:
            return known[1]
        settings = await self._query(layout)
        _refuse_other_worktree(settings, layout)
        if settings.cacheable:
            self._known[layout.git_dir] = (state, settings)
        return settings

    async def _query(self, layout: RepositoryLayout) -> Settings:
        argv = [self._git, *HARDENED, "config", "--list", "--show-scope", "-z"]
        answer = await query(argv, cwd=layout.top, environment=base_environment(layout))
        if answer.status or not answer.whole:
            raise failure("config", answer.said, answer.status, self._root)
        return _parse(answer.out)


def base_environment(layout: RepositoryLayout) -> dict[str, str]:
    """Return git's environment: the repository is the one that was found, and no other above it."""
    return {
        **git_environment(),
        **{name: os.environ[name] for name in _WHO if name in os.environ},
        **layout.variables(),
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_PAGER": "cat",
        "GIT_SSH_COMMAND": ":",
        "GIT_ASKPASS": ":",
    }


def with_settings(environment: dict[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that sets these for git; unlike `-c`, a name may hold any character."""
    found = {**environment, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found


def _files_state(layout: RepositoryLayout) -> object:
    own = (layout.common_dir / "config", layout.git_dir / "config.worktree")
    return tuple(_file_state(path) for path in (*own, *_of_person()))


def _of_person() -> tuple[Path, ...]:
    """Return where a person's settings are, which may be made while the server runs."""
    home = Path.home()
    return home / ".gitconfig", Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"


def _file_state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _parse(pathspec_file: bytes) -> Settings:
    fields = os.fsdecode(pathspec_file).split("\0")
    local: dict[str, list[str]] = {}
    person: dict[str, list[str]] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope == "command":
            continue
        key, mark, value = entry.partition("\n")
        (local if scope in _LOCAL else person).setdefault(key, []).append(value if mark else "true")
    return Settings(_frozen(local), _frozen(person), not any(key.startswith("include") for key in local))


def _frozen(found: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in found.items()}


def _filter_key(key: str) -> tuple[str, str] | None:
    """Return the filter's name and the variable."""
    if not key.startswith("filter.") or key.count(".") < 2:
        return None
    name, _, variable = key.removeprefix("filter.").rpartition(".")
    return name, variable


def _refuse_other_worktree(settings: Settings, layout: RepositoryLayout) -> None:
    for worktree in settings.local.get("core.worktree", ()):
        if real_path(layout.git_dir / worktree) != layout.top:
            raise ToolError(
                "the repository's files are elsewhere (core.worktree), so it is neither read nor written; "
                "`git config --unset core.worktree` makes them the ones at its top"
            )
