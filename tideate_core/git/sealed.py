"""Commits that carry a few files: write, sign, read within limits, and verify them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import struct
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RefusedRef, WorkspaceError
from tideate_core.git.persons import NOBODY, words_of
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.git.persons import PersonsGit

LARGEST_COMMIT: Final = 1 << 16
"""Bytes of the commit object itself."""
LARGEST_TREE: Final = 1 << 16
"""Bytes of the list of its files."""
_ENTRY: Final = re.compile(
    r"(?P<mode>\d+) (?P<kind>\w+) (?P<id>[0-9a-f]+) +(?P<size>\d+|-)\t(?P<name>.*)", re.DOTALL
)
_SSH: Final = re.compile(r"-----BEGIN SSH SIGNATURE-----(.*?)-----END SSH SIGNATURE-----", re.DOTALL)
_IDENTITY: Final = re.compile(r"^committer (?P<who>[^<\n]*<[^>\n]*>) (?P<at>\d{1,12}) ", re.MULTILINE)
_FIELDS: Final = "%G?%x00%GF%x00%GP%x00%GS"
_OF_SIGNER: Final = re.compile(r"<([^<>]+)>\s*$")


@dataclass(frozen=True, slots=True)
class SealedCommit:
    """A commit of exchanged files."""

    id: str
    by: str
    """Name and address of its committer, which anyone can choose."""
    at: int
    """Seconds since the epoch, as its committer says."""
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Signature:
    """A valid signature."""

    keys: frozenset[str]
    """Fingerprints as in `[inbox] allow`."""
    addresses: frozenset[str] = frozenset()
    """Addresses that the person's own lists of keys give to the key."""

    def counts(self, allowed: Sequence[str]) -> bool:
        """Tell whether it is from one of these keys or addresses."""
        return any(one in self.keys or one.lower() in self.addresses for one in allowed)


async def write_sealed(
    git: PersonsGit, files: Mapping[str, bytes], message: str, *, sign: bool, parent: str = ""
) -> str:
    """Write a commit; return its id.

    :param parent: the commit that it replaces, if a remote may refuse unrelated commits; by default none.
    :param sign: sign even if the person's settings do not ask for it.
    :raises WorkspaceError: git cannot write or sign it.
    """
    entries = []
    for name, data in sorted(files.items()):
        blob = (await git.ask("hash-object", "-w", "--stdin", given=data)).decode().strip()
        entries.append(f"100644 blob {blob}\t{name}\0")
    tree = (await git.ask("mktree", "-z", given="".join(entries).encode())).decode().strip()
    who = await identity(git)
    signs = sign or await _signs(git)
    done = await git.run(
        *("commit-tree", *(("-S",) if signs else ()), *(("-p", parent) if parent else ()), tree),
        given=message.encode(),
        # the bytes of git's answer, in any locale
        settings=dict(
            zip(("user.name", "user.email"), (os.fsdecode(one.encode()) for one in who), strict=True)
        ),
    )
    if done.status:
        raise WorkspaceError(f"git cannot {'sign' if signs else 'make'} a commit: {words_of(done.said)}")
    return done.out.decode().strip()


async def identity(git: PersonsGit) -> tuple[str, str]:
    """Return the committer: name and address."""
    found = await git.run("var", "GIT_COMMITTER_IDENT", settings={"user.useConfigOnly": "true"})
    match = re.match(r"(?P<name>[^<]*?) *<(?P<mail>[^>]*)>", found.out.decode("utf-8", "replace"))
    return NOBODY if found.status or match is None else (match["name"], match["mail"])


async def _signs(git: PersonsGit) -> bool:
    found = await git.run("config", "--type=bool", "--get", "commit.gpgSign")
    return found.out.strip() == b"true"


async def read_sealed(
    git: PersonsGit, commit: str, limits: Mapping[str, int], wanted: Sequence[str], *, parents: int = 0
) -> SealedCommit:
    """Read a commit of exchanged files.

    :param limits: bytes of each file that it may have, by name.
    :param wanted: the files to read, which it must have.
    :param parents: most parents that it may have; they are not read.
    :raises RefusedRef: it is something else, has other entries, or is too large.
    """
    header = await _object(git, commit, "commit", LARGEST_COMMIT)
    text = header.partition(b"\n\n")[0].decode("utf-8", "replace")
    who = _IDENTITY.search(text)
    if who is None or text.count("\nparent ") > parents:
        raise RefusedRef(f"{commit[:12]} is not a commit that tideate made")
    tree = text.partition("\n")[0].removeprefix("tree ")
    await _check_object(git, tree, "tree", LARGEST_TREE)
    files = {}
    entries = await _entries(git, tree, limits)
    for name in wanted:
        if name not in entries:
            raise RefusedRef(f"{commit[:12]} has no file {label(name)}")
        files[name] = await git.ask("cat-file", "blob", entries[name], largest=limits[name] + 1)
    return SealedCommit(commit, who["who"].strip(), int(who["at"]), files)


async def _entries(git: PersonsGit, tree: str, limits: Mapping[str, int]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in (await git.ask("ls-tree", "-z", "-l", tree)).decode("utf-8", "replace").split("\0"):
        if not line:
            continue
        match = _ENTRY.fullmatch(line)
        if (
            match is None
            or match["mode"] != "100644"
            or match["kind"] != "blob"
            or match["name"] not in limits
        ):
            raise RefusedRef(f"the published commit has an entry that is not tideate's: {label(line[-200:])}")
        if int(match["size"]) > limits[match["name"]]:
            raise RefusedRef(
                f"the published file {match['name']} is too large ({int(match['size']):,} bytes)"
            )
        found[match["name"]] = match["id"]
    return found


async def _check_object(git: PersonsGit, name: str, kind: str, largest: int) -> None:
    told = (await git.ask("cat-file", "--batch-check", given=f"{name}\n".encode())).decode().split()
    if told[1:] == ["missing"]:
        raise RefusedRef(
            f"{label(name[:12])} was not fetched: with all that came before it, it is larger than "
            "`[inbox] max_fetch_mib` in your own config.toml"
        )
    if len(told) != 3 or told[1] != kind or int(told[2]) > largest:
        raise RefusedRef(f"{label(name[:12])} is not a {kind}, or is too large")


async def _object(git: PersonsGit, name: str, kind: str, largest: int) -> bytes:
    await _check_object(git, name, kind, largest)
    return await git.ask("cat-file", kind, name)


async def read_signature(git: PersonsGit, commit: str) -> Signature | None:
    """Return a commit's valid signature; None without one.

    Only the person's own settings and keys count, never those of the project's repository.

    :raises RefusedRef: it is not a commit, or is too large.
    """
    text = (await _object(git, commit, "commit", LARGEST_COMMIT)).decode("utf-8", "replace")
    header = text.partition("\n\n")[0].replace("\n ", "\n")
    if "\ngpgsig" not in header:
        return None
    if (armour := _SSH.search(header)) is not None:
        return await _ssh_signature(git, commit, armour[1])
    state, *keys, signer = await _verified(git, commit, {})
    if state not in ("G", "U"):
        return None
    address = _OF_SIGNER.search(signer)
    # anyone can make a key with any name: it counts if the person's keyring vouches for it
    named = {address[1].lower()} if address and state == "G" else set()
    return Signature(frozenset(f"0x{key}" for key in keys if key), frozenset(named))


async def _ssh_signature(git: PersonsGit, commit: str, armour: str) -> Signature | None:
    """Verify a signature by the key that it names, then look for addresses of this key."""
    key = _ssh_key(armour)
    if key is None:
        return None
    fingerprint = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    kind = key[4 : 4 + struct.unpack(">I", key[:4])[0]].decode("ascii", "replace")
    with tempfile.NamedTemporaryFile("w", prefix="tideate-signers-") as signers:
        signers.write(f'* namespaces="git" {kind} {base64.b64encode(key).decode()}\n')
        signers.flush()
        state, *_ = await _verified(git, commit, {"gpg.ssh.allowedSignersFile": signers.name})
    if state != "G":
        return None
    state, *_, signer = await _verified(git, commit, {})
    named = {one.strip().lower() for one in signer.split(",")} if state == "G" else set[str]()
    return Signature(frozenset({f"SHA256:{fingerprint}"}), frozenset(named - {""}))


async def _verified(git: PersonsGit, commit: str, settings: Mapping[str, str]) -> list[str]:
    """Return git's verdict, the fingerprints of key and primary key, and the signer."""
    done = await git.run(
        "show", "--no-patch", f"--format={_FIELDS}", commit, settings=settings, person_only=True
    )
    fields = done.out.decode("utf-8", "replace").rstrip("\n").split("\0")
    return fields if done.status == 0 and len(fields) == 4 else ["N", "", "", ""]


def _ssh_key(armour: str) -> bytes | None:
    """Return the public key in an SSH signature; see PROTOCOL.sshsig of OpenSSH."""
    try:
        data = base64.b64decode("".join(armour.split()), validate=True)
        if data[:6] != b"SSHSIG":
            return None
        (length,) = struct.unpack(">I", data[10:14])
        key = data[14 : 14 + length]
        (kind,) = struct.unpack(">I", key[:4])
    except (ValueError, struct.error):  # not Base64, not even ASCII, or too short
        return None
    return key if len(key) == length and re.fullmatch(rb"[a-z0-9@.-]+", key[4 : 4 + kind]) else None
