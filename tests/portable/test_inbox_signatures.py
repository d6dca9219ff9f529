"""Signed runs and answers: which keys count, and where their names may come from."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.portable.inbox_bench import RUN, office
from tideate_core.config import load_config
from tideate_core.errors import ConfigError, RefusedRef, WorkspaceError
from tideate_core.git import read_signature
from tideate_core.portable import inbox_git
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tests.portable.inbox_bench import Desk, Office

__all__ = ["office"]

YES = Decision(True)
ANSWER_REF = f"refs/tideate/answers/{RUN}/1"


def ran(*command: str | Path, cwd: Path | None = None, given: bytes = b"") -> str:
    """Run a program that must succeed; return its output."""
    return subprocess.run(command, cwd=cwd, input=given, capture_output=True, check=True).stdout.decode()


class Keys:
    """SSH keys, and the person's git configuration."""

    def __init__(self, place: Path, config: Path) -> None:
        self._place = place
        self._config = config

    def make(self, name: str) -> str:
        """Make a key; return its fingerprint."""
        path = self._place / name
        ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path)
        return ran("ssh-keygen", "-lf", path).split()[1]

    def sign_with(self, name: str, *more: str) -> None:
        """Sign as the person with a key from now on."""
        key = self._place / name
        lines = [
            "[gpg]",
            "format = ssh",
            "[user]",
            f"signingKey = {key}",
            "[commit]",
            "gpgSign = true",
            *more,
        ]
        self._config.write_text("\n".join(lines) + "\n")

    def sign_never(self, *more: str) -> None:
        self._config.write_text("\n".join(more) + "\n")

    def signers(self, **names: str) -> list[str]:
        """Return the settings of a list of signers, by key name."""
        lines = [f"{mail} {(self._place / f'{name}.pub').read_text()}" for name, mail in names.items()]
        (self._place / "signers").write_text("".join(lines))
        return ['[gpg "ssh"]', f"allowedSignersFile = {self._place / 'signers'}"]


@pytest.fixture
def keys(office: Office, tmp_path: Path) -> Keys:
    (tmp_path / "keys").mkdir()
    return Keys(tmp_path / "keys", tmp_path / "home" / ".gitconfig")


async def answer(desk: Desk) -> None:
    inbox, _, asked = await desk.see()
    assert await inbox.send("origin", asked, YES) is None


async def counted(desk: Desk, *allow: str) -> bool:
    """Tell whether the answer counts for somebody who allows these signers."""
    inbox, refs, asked = await desk.see()
    inbox = await desk.inbox(allow=[*allow])
    try:
        return await inbox.answer(refs, asked) is not None
    except RefusedRef as error:
        assert "no valid signature" in str(error)
        return False


async def test_an_answer_counts_with_a_signature_of_an_allowed_key(office: Office, keys: Keys) -> None:
    ana, eve = keys.make("ana"), keys.make("eve")
    await office.desk("Ci").publish()
    keys.sign_with("ana")
    await answer(office.desk("Ana"))
    keys.sign_never()
    ci = office.desk("Ci")
    assert await counted(ci, ana)
    assert await counted(ci, eve, ana)
    assert await counted(ci)
    assert not await counted(ci, eve)
    # the name in a commit is anyone's choice
    assert not await counted(ci, "ana@example.org")


async def test_an_unsigned_answer_does_not_count(office: Office, keys: Keys) -> None:
    ana = keys.make("ana")
    await office.desk("Ci").publish()
    await answer(office.desk("Ana"))
    assert not await counted(office.desk("Ci"), ana)


async def test_an_address_counts_if_the_persons_own_list_gives_it_to_the_key(
    office: Office, keys: Keys
) -> None:
    keys.make("ana")
    keys.make("eve")
    await office.desk("Ci").publish()
    keys.sign_with("eve")  # with Ana's name and address
    await answer(office.desk("Ana"))
    keys.sign_never(*keys.signers(ana="ana@example.org", eve="eve@example.org"))
    ci = office.desk("Ci")
    assert not await counted(ci, "ana@example.org")
    assert await counted(ci, "eve@example.org")
    assert await counted(ci, "Eve@Example.org")


async def test_keys_and_programs_of_the_repository_never_count(
    office: Office, keys: Keys, tmp_path: Path
) -> None:
    keys.make("ana")
    keys.make("eve")
    await office.desk("Ci").publish()
    keys.sign_with("eve")
    await answer(office.desk("Eve"))
    keys.sign_never()
    ci = office.desk("Ci")
    keys.signers(eve="ana@example.org")
    liar = tmp_path / "liar"
    liar.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\necho Good\\"git\\" signature\nexit 0\n')
    liar.chmod(0o755)
    ci.git("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "keys" / "signers"))
    ci.git("config", "gpg.ssh.program", str(liar))
    ci.git("config", "gpg.program", str(liar))
    ci.git("config", "gpg.format", "ssh")
    assert not await counted(ci, "ana@example.org")
    assert not (tmp_path / "ran").exists()


async def test_a_list_of_signers_in_the_project_never_counts(office: Office, keys: Keys) -> None:
    """git itself reads a relative name in the person's settings from the work tree."""
    keys.make("eve")
    await office.desk("Ci").publish()
    keys.sign_with("eve")
    await answer(office.desk("Eve"))
    keys.signers(eve="ana@example.org")
    ci = office.desk("Ci")
    (ci.root / "signers").write_bytes((office.place / "keys" / "signers").read_bytes())
    keys.sign_never('[gpg "ssh"]', "allowedSignersFile = signers")
    assert not await counted(ci, "ana@example.org")


async def test_a_revoked_key_does_not_count(office: Office, keys: Keys, tmp_path: Path) -> None:
    ana = keys.make("ana")
    await office.desk("Ci").publish()
    keys.sign_with("ana")
    await answer(office.desk("Ana"))
    revoked = tmp_path / "keys" / "ana.pub"
    keys.sign_never('[gpg "ssh"]', f"revocationFile = {revoked}")
    assert not await counted(office.desk("Ci"), ana)


async def test_a_signature_of_another_commit_does_not_count(office: Office, keys: Keys) -> None:
    ana = keys.make("ana")
    ci = office.desk("Ci")
    await ci.publish()
    keys.sign_with("ana")
    await answer(office.desk("Ana"))
    keys.sign_never()
    raw = ran("git", "cat-file", "commit", ANSWER_REF, cwd=office.remote).encode()
    changed = raw.replace(b"Answer 1", b"Answer 2")
    hash_object = ("git", "hash-object", "-t", "commit", "-w", "--stdin")
    moved = ran(*hash_object, cwd=office.remote, given=changed).strip()
    ran("git", "update-ref", ANSWER_REF, moved, cwd=office.remote)
    assert not await counted(ci, ana)


async def test_a_run_is_continued_only_with_an_allowed_signature(office: Office, keys: Keys) -> None:
    job, eve = keys.make("job"), keys.make("eve")
    keys.sign_with("job")
    await office.desk("Ci").publish()
    keys.sign_never()
    desk = office.desk("Next")
    _, refs, _ = await desk.see()
    inbox = await desk.inbox(allow=[job])
    asked = await inbox.question(refs)
    assert asked.signed
    await inbox.check_run(refs, asked)
    inbox = await desk.inbox(allow=[eve])
    asked = await inbox.question(refs)
    assert not asked.signed
    with pytest.raises(RefusedRef, match="no valid signature"):
        await inbox.check_run(refs, asked, again=True)


async def test_sign_signs_without_gpgsign_and_a_missing_key_is_an_error(office: Office, keys: Keys) -> None:
    keys.make("ana")
    keys.sign_with("ana", "[commit]", "gpgSign = false")
    ci = office.desk("Ci")
    ci.config = ci.config.model_copy(update={"sign": True})
    made = await ci.publish()
    assert await read_signature(await inbox_git(ci.root, ci.private), made.commit) is not None
    keys.sign_with("nosuch")
    with pytest.raises(WorkspaceError, match="git cannot sign a commit"):
        await answer(office.desk("Ana"))
    assert ANSWER_REF not in office.refs()


@pytest.mark.slow
async def test_openpgp_keys_count_by_fingerprint_and_by_a_vouched_address(
    office: Office, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    gpg = ("gpg", "--batch", "--quiet", "--passphrase", "")
    ran(*gpg, "--quick-gen-key", "Ana <ana@example.org>", "ed25519", "sign")
    listed = ran("gpg", "--list-keys", "--with-colons")
    (finger,) = [line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr")]
    keys.sign_never("[user]", f"signingKey = {finger}", "[commit]", "gpgSign = true")
    await office.desk("Ci").publish()
    await answer(office.desk("Ana"))
    keys.sign_never()
    ci = office.desk("Ci")
    assert await counted(ci, f"0x{finger}")
    assert await counted(ci, "ana@example.org")
    assert not await counted(ci, f"0x{'0' * 40}")
    # known, and not vouched for
    ran("gpg", "--batch", "--import-ownertrust", given=f"{finger}:2:\n".encode())
    assert await counted(ci, f"0x{finger}")
    assert not await counted(ci, "ana@example.org")
    ran("gpgconf", "--kill", "all")


@pytest.mark.parametrize(
    "signer", ["SHA256:short", "0x1234ABCD", "0xabcdefabcdefabcdefabcdefabcdefabcdefabcd", "ana"]
)
def test_a_signer_that_anyone_could_imitate_is_refused(
    tmp_path: Path, signer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tideate").mkdir()
    (tmp_path / "tideate" / "config.toml").write_text(f'[inbox]\nallow = ["{signer}"]\n')
    with pytest.raises(ConfigError, match="is no signer"):
        load_config(None)


def test_a_project_cannot_set_the_allowed_signers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / ".tideate").mkdir()
    (tmp_path / ".tideate" / "config.toml").write_text('[inbox]\nallow = ["eve@example.org"]\nsign = true\n')
    loaded = load_config(tmp_path, as_trusted=True)
    assert (loaded.config.inbox.allow, loaded.config.inbox.sign) == ([], False)
    assert "only your own configuration can set it" in loaded.notices[0]
    with pytest.raises(ConfigError, match="inbox: set it in"):
        load_config(None, {"inbox": {"sign": True}})
