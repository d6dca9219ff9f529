"""The inbox over ssh, to a server on loopback."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import SHORT
from tests.portable.inboxing import CI, LEAVING, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.portable.inboxing import Machine, Site

__all__ = ["site"]

pytestmark = pytest.mark.slow

PATH = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"


class Server:
    """An sshd of the tester's on loopback.

    :param place: for its keys.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self._place = place
        for name in ("host", "person"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        host = (place / "host.pub").read_text()
        (place / "known").write_text(f"[127.0.0.1]:{self._port} {host}")
        (place / "config").write_text(
            f"Port {self._port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nUsePAM no\nStrictModes no\n"
            f"AuthorizedKeysFile {place}/person.pub\nPidFile none\nPasswordAuthentication no\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # a container has no service that makes it
            Path("/run/sshd").chmod(0o755)
        sshd = shutil.which("sshd", path=PATH)
        assert sshd, "the Debian package openssh-server has it"
        self._process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", place / "config"], stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        while "Server listening" not in (line := self._process.stderr.readline()):
            assert line, "sshd has ended"

    def url(self, path: Path) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self._port}{path}"

    def login(self, machine: Machine, key: str = "person") -> None:
        """Give a machine a key."""
        options = (
            f"-i {self._place / key} -o IdentitiesOnly=yes -o UserKnownHostsFile={self._place / 'known'}"
        )
        machine.person(f'[core]\n\tsshCommand = "ssh -F none {options}"\n')

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "sshd")
    yield server
    server.stop()


def over_ssh(site: Site, sshd: Server, name: str) -> Machine:
    machine = site.machine(name)
    sshd.login(machine)
    machine.git("remote", "set-url", "origin", sshd.url(site.remote))
    return machine


def test_a_run_is_left_answered_and_continued_over_ssh(site: Site, sshd: Server) -> None:
    site.asks()
    ci, ana = over_ssh(site, sshd, CI), over_ssh(site, sshd, "Ana")
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run[:8], "--yes")
    ci.ok("resume", "--from", "origin", run, "--land", "branch")
    assert (ci.read("a.py"), ci.refs()) == (SHORT, [f"refs/heads/tideate/{run[:8]}"])


def test_an_unknown_key_and_a_missing_server_are_reported(site: Site, sshd: Server) -> None:
    """Nothing waits for a password: there is no terminal."""
    site.asks()
    ci = over_ssh(site, sshd, CI)
    (ci.home / ".gitconfig").unlink()
    sshd.login(ci, "host")
    done = ci.run(*LEAVING)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "log in with a credential helper, an ssh agent" in done.stderr
    sshd.stop()
    again = ci.run("inbox")
    assert again.returncode == 1
    assert "cannot be read" in again.stderr
