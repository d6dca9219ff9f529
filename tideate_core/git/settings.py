"""Parse git settings of repository and person; variables for overrides, author and committer.

The person's own configuration, of user and system, is trusted and stays in effect. The repository's own
(`.git/config`, a worktree's, and their includes) is untrusted.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHO: Final = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
)
"""Variables of author and committer, as CI and containers set them; they are safe to inherit."""
_LOCAL: Final = frozenset({"local", "worktree"})
_SIGNING: Final = ("commit.gpgsign", "user.signingkey", "gpg.")
_COMMIT_PROGRAMS: Final = (*_SIGNING, "core.editor", "core.pager", "commit.verbose", "trailer.")
_DIFF_PROGRAMS: Final = (".textconv", ".command", "diff.external")
_USUAL: Final = {
    "commit.gpgsign": "false",
    "commit.verbose": "false",
    "gpg.format": "openpgp",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
}
"""Default values of git."""
_LFS_PROGRAMS: Final = ("lfs.extension.", "lfs.customtransfer.", "lfs.standalonetransferagent")
"""Settings for which git-lfs runs a program."""
TRANSFERS: Final = (
    *("author.", "commit.gpgsign", "committer.", "core.askpass", "core.gitproxy", "core.sshcommand"),
    *("credential.", "gpg.", "http.", "ssh.", "url.", "user."),
)
"""Settings that transfers and signatures use."""
HARMLESS: Final = re.compile(
    r"url\..*|user\.(?:name|email)|(?:author|committer)\..*|http\.(?:.*\.)?extraheader|credential\..*\.username",
    re.DOTALL,
)
"""Those of a repository's own that start no program and send no credentials elsewhere."""
OF_REMOTE: Final = re.compile(r"remote\.(?P<name>.+)\.(?P<key>url|pushurl|uploadpack|receivepack)", re.DOTALL)
REMOTE_PROGRAMS: Final = ("uploadpack", "receivepack")
_FILTER_KEYS: Final = ("clean", "smudge", "process", "required")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings in effect in a repository."""

    local: Mapping[str, tuple[str, ...]] = field(repr=False)
    """The repository's own values by key; sections and variables in lower case."""
    person: Mapping[str, tuple[str, ...]] = field(repr=False)

    def value(self, key: str) -> str | None:
        """Return the effective value of a key: the repository's own, else the person's."""
        values = self.local.get(key) or self.person.get(key)
        return values[-1] if values else None

    def is_set(self, key: str) -> bool:
        """Tell whether a boolean setting is true."""
        return (self.value(key) or "").lower() in ("true", "yes", "on", "1")

    def neutralized_filters(self) -> dict[str, str]:
        """Return overrides that replace the repository's own filters by the person's, or by none."""
        found: dict[str, str] = {}
        for key in self.local:
            if (parts := _filter_key(key)) is not None:
                nothing = "false" if parts[1] == "required" else ""
                found[key] = self.person.get(key, (nothing,))[-1]
        if any(key.startswith(_LFS_PROGRAMS) for key in self.local):
            for name in _FILTER_KEYS:
                found[f"filter.lfs.{name}"] = "false" if name == "required" else ""
        return found

    def foreign_filters(self) -> frozenset[str]:
        """Return the filters that would run a program configured by the repository."""
        names = {parts[0] for key in self.local if (parts := _filter_key(key)) is not None}
        if any(key.startswith(_LFS_PROGRAMS) for key in self.local):
            names.add("lfs")
            return frozenset(names)
        return frozenset(names - self.persons_filters())

    def persons_filters(self) -> frozenset[str]:
        return frozenset(parts[0] for key in self.person if (parts := _filter_key(key)) is not None)

    def neutralized_programs(self) -> dict[str, str]:
        """Return the settings that replace a repository's commit programs by the person's, or by none."""
        own = [key for key in self.local if key.startswith(_COMMIT_PROGRAMS) or key.endswith(_DIFF_PROGRAMS)]
        return {
            key: self.person.get(key, (_USUAL.get(key, ""),))[-1] for key in own
        } | self.neutralized_filters()

    @property
    def configures_signing(self) -> bool:
        """True if the repository has settings of its own that signing uses."""
        return any(key.startswith(_SIGNING) for key in self.local)

    def signing(self) -> list[str]:
        """Return the settings that signing uses, one a line."""
        return sorted(
            f"{where} {key}={value!r}"
            for where, found in (("local", self.local), ("person", self.person))
            for key, values in found.items()
            if key.startswith(_SIGNING)
            for value in values
        )

    def transfers(self, *, signing: bool = True) -> list[str]:
        """Return the repository's own settings of transfers and signatures that need trust, one a line.

        :param signing: include the settings that the method `signing` lists.
        """
        return sorted(
            f"{key}={value!r}"
            for key, values in self.local.items()
            if _needs_trust(key) and (signing or not key.startswith(_SIGNING))
            for value in values
        )

    def filters(self) -> list[str]:
        """Return the settings of the repository's own filters, one a line."""
        return sorted(
            f"{key}={value!r}"
            for key, values in self.local.items()
            if key.startswith(("filter.", *_LFS_PROGRAMS))
            for value in values
        )


def identity_variables() -> dict[str, str]:
    """Return variables for author and committer, and variables that disable interactive programs."""
    return {
        **{name: os.environ[name] for name in _WHO if name in os.environ},
        **dict.fromkeys(("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS"), ":"),
        "GIT_PAGER": "cat",
    }


def setting_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return variables that override settings; unlike `-c`, a key may have any characters."""
    return setting_pairs([*settings.items()])


def setting_pairs(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return variables that add settings in order; a key may be given several times."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found


def parse_settings(output: bytes) -> Settings:
    """Parse `git config --list --show-scope -z`."""
    fields = os.fsdecode(output).split("\0")
    local: dict[str, tuple[str, ...]] = {}
    person: dict[str, tuple[str, ...]] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope == "command":
            continue
        key, mark, value = entry.partition("\n")
        found = local if scope in _LOCAL else person
        found[key] = (*found.get(key, ()), value if mark else "true")
    return Settings(local, person)


def _needs_trust(key: str) -> bool:
    """Tell whether a setting of transfers starts a program, or sends credentials elsewhere."""
    match = OF_REMOTE.fullmatch(key)
    is_program = match is not None and match["key"] in REMOTE_PROGRAMS
    return is_program or (key.startswith(TRANSFERS) and HARMLESS.fullmatch(key) is None)


def _filter_key(key: str) -> tuple[str, str] | None:
    """Split the key of a filter setting into the filter's name and the variable; None for other keys."""
    if not key.startswith("filter.") or key.count(".") < 2:
        return None
    name, _, variable = key.removeprefix("filter.").rpartition(".")
    return name, variable
