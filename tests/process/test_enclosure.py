"""Programs in an enclosure that attack the project, the home directory, the machine and their holder."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.snapshots.trees import looked_at
from tideate_core.process import (
    Bind,
    Enclosure,
    EscapeReport,
    Hide,
    Namespaces,
    Overlay,
    Shade,
    enclosure_support,
    namespace_holder,
)
from tideate_core.process.namespace_holder import RESERVE, Disk
from tideate_core.process.namespaces import HOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER: Final = str(Path(__file__).with_name("enclosed.py"))
NOBODY: Final = 65534
SECRET: Final = "a secret of the person"
LANDLOCK: Final = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 12)


def users() -> list[tuple[str, list[str]]]:
    """Return users that can run tideate here, with the command that starts their Python."""
    found = [(f"uid {os.getuid()}", [sys.executable])]
    if os.getuid() == 0 and (change := shutil.which("setpriv")):
        starts = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import tomllib']))"
        as_nobody = [change, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for python in (sys.executable, "/usr/bin/python3"):
            command = [*as_nobody, python, "-c", starts]
            if not subprocess.run(command, capture_output=True, check=False).returncode:
                found.append(("an ordinary user", [*as_nobody, python]))
                break
    return found


USERS: Final = users()


@dataclass(frozen=True)
class Ended:
    """End of a program in an enclosure."""

    status: int
    said: str
    failed: str
    report: dict[str, Any]
    notices: list[str]


class Machine:
    """A home with a project and secrets, a directory outside of it, and a user."""

    def __init__(self, top: Path, python: list[str]) -> None:
        self.top, self.home, self.outside = top, top / "home", top / "outside"
        self.project, self.own, self.place = self.home / "project", self.home / ".agent", top / "state"
        self._python = python
        for directory in (
            self.project / ".git/hooks",
            self.own,
            self.outside,
            self.home / ".ssh",
            self.place,
        ):
            directory.mkdir(parents=True)
        (self.project / "main.py").write_text("print(1)\n")
        (self.project / ".git/config").write_text("[core]\n")
        (self.home / ".ssh/id").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        (self.home / ".bashrc").write_text("# the person's\n")
        (self.outside / "file").write_text("outside\n")
        (self.project / "linked").symlink_to(self.outside / "file")
        os.link(self.outside / "file", self.project / "hard")
        if python != [sys.executable]:
            for path in (top, *top.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    @property
    def upper(self) -> Path:
        """Changes of the project."""
        return self.place / "upper"

    def run(self, code: str, **rules: Any) -> Ended:
        """Run Python code in an enclosure with names for the places; `rules` as in `Rules`.

        `without` names a private directory that is not private in there.
        """
        names = ("home", "outside", "project", "own")
        begin = PRELUDE + "".join(f"{name} = {str(getattr(self, name))!r}\n" for name in names)
        values = {
            "home": str(self.home),
            "project": str(self.project),
            "place": str(self.place),
            "writable": [str(self.own)],
            "hidden": [str(self.home / name) for name in (".ssh", ".netrc", ".missing")],
            "rules": {"without": tempfile.gettempdir(), **rules},
            "code": begin + code,
        }
        done = subprocess.run(
            [*self._python, DRIVER, json.dumps(values)],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.returncode == 0, done.stderr
        return Ended(**json.loads(done.stdout))


PRELUDE: Final = """
import ctypes, fcntl, glob, os, signal, socket, subprocess, sys, termios, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(*arguments):
    do, *rest = arguments
    try:
        print("did", do(*rest))
    except OSError as error:
        print("refused", error.strerror)
def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def write(path, text="by the agent"):
    with open(path, "w") as file:
        file.write(text)
def read(path):
    with open(path) as file:
        return file.read()
"""


@pytest.fixture(params=[python for _, python in USERS], ids=[name for name, _ in USERS])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    # not below `tmp_path`, which other users cannot enter
    top = Path(tempfile.mkdtemp(prefix="tideate-enclosure-"))
    try:
        yield Machine(top, request.param)
    finally:
        shutil.rmtree(top)


REFUSED: Final = {
    "an absolute path": "for path in (f'{outside}/file', '/etc/made', '/made'): attempt(write, path)",
    "a path with ..": "attempt(write, '../../outside/file'); attempt(write, f'{own}/../../outside/made')",
    "a link that was there": "attempt(write, 'linked'); attempt(write, f'{project}/linked')",
    "a link planted in the project": "os.symlink(outside, 'way'); attempt(write, 'way/file')",
    "a link planted in a directory of its own": (
        "os.symlink(outside, f'{own}/way'); attempt(write, f'{own}/way/x')"
    ),
    "a hard link to a file outside": (
        "attempt(os.link, f'{outside}/file', 'x'); attempt(os.link, f'{outside}/file', f'{own}/x')"
        "; attempt(os.link, f'{home}/.bashrc', f'{own}/x')"
    ),
    "a move": (
        "attempt(os.rename, f'{outside}/file', 'x'); attempt(os.rename, 'main.py', f'{outside}/main.py')"
    ),
    "modes": "attempt(os.chmod, f'{outside}/file', 0o777); attempt(os.utime, f'{outside}/file')",
    "removal": "attempt(os.unlink, f'{outside}/file'); attempt(os.rmdir, f'{home}/.ssh')",
    "settings of the system": (
        "attempt(write, '/proc/sys/kernel/core_pattern', '|/x'); attempt(write, '/proc/sysrq-trigger', 'h')"
    ),
    "devices": (
        "for path in (f'{own}/disk', '/dev/disk', 'disk'):\n"
        "    attempt(os.mknod, path, 0o60600, os.makedev(254, 0))"
    ),
    "unmounting": (
        "flags = (0, 2)\n"
        "for place in (home, project, f'{home}/.ssh', f'{home}/.netrc', '/', '/dev'):\n"
        "    for flag in flags:\n"
        "        attempt(lambda: checked(libc.umount2(place.encode(), flag)))"
    ),
    "the first process": (
        "attempt(os.listdir, '/proc/1/root/'); attempt(os.readlink, '/proc/1/cwd')\n"
        "attempt(open, '/proc/1/mem'); attempt(open, '/proc/1/environ')\n"
        "for name in os.listdir('/proc/1/fd'): attempt(os.readlink, f'/proc/1/fd/{name}')\n"
        "attempt(lambda: checked(libc.ptrace(16, 1, 0, 0)))"
    ),
    "nested namespaces": (
        "def nest():\n"
        "    uid = os.geteuid()\n"
        "    checked(libc.unshare(0x10020000))\n"
        "    write('/proc/self/setgroups', 'deny'); write('/proc/self/uid_map', f'{uid} {uid} 1')\n"
        "try: nest()\nexcept OSError: print('refused to nest')\n"
        "for place in (home, project, f'{home}/.ssh', '/', '/dev'):\n"
        "    attempt(lambda: checked(libc.umount2(place.encode(), 2)))\n"
        "attempt(lambda: checked(libc.mount(None, b'/', None, 0x1020, None)))\n"
        "attempt(write, f'{outside}/file'); attempt(os.listdir, '/proc/1/root/')"
    ),
    "control groups": "attempt(lambda: checked(libc.unshare(0x12020000)))",
    "privileges": (
        "for call in (lambda: os.setuid(0 if os.getuid() else 1), lambda: os.chown('main.py', 1, 1)):\n"
        "    attempt(call)\n"
        "attempt(os.chroot, '/tmp'); attempt(lambda: checked(libc.setns(os.open('/proc/self/ns/mnt', 0), 0)))"
    ),
}
"""Code that prints only refusals."""


def all_of(codes: dict[str, str]) -> str:
    """Return code that runs each in a process of its own."""
    return (
        f"for name, code in {codes!r}.items():\n"
        "    print('#', name, flush=True)\n"
        "    if not os.fork():\n"
        "        exec(code)\n"
        "        sys.stdout.flush(); os._exit(0)\n"
        "    if status := os.wait()[1]: print('failed with', status)"
    )


def without(path: Path, found: dict[bytes, Any]) -> dict[bytes, Any]:
    return {name: node for name, node in found.items() if not name.startswith(os.fsencode(path.name))}


@pytest.mark.attack
def test_attacks_are_refused_and_change_nothing(machine: Machine) -> None:
    before = [without(machine.own, looked_at(one, ())) for one in (machine.home, machine.outside)]
    ended = machine.run(all_of(REFUSED))
    names = [line[2:] for line in ended.said.splitlines() if line.startswith("#")]
    assert (ended.failed, names) == ("", list(REFUSED))
    assert not [line for line in ended.said.splitlines() if not line.startswith(("#", "refused"))]
    assert [without(machine.own, looked_at(one, ())) for one in (machine.home, machine.outside)] == before


KEPT_INSIDE: Final = {
    "a hard link that was there": "write('hard')",
    "hooks and settings of git": (
        "write('.git/hooks/post-checkout'); write('.git/config', '[core]\\nfsmonitor = x\\n')"
    ),
    "removal of the repository": "import shutil; shutil.rmtree('.git')",
    "modes": "os.chmod('main.py', 0o4777); os.chmod('.', 0o777)",
    "files of the home directory": (
        "write(f'{home}/.bashrc'); os.unlink(f'{home}/.bashrc')\n"
        "os.mkdir(f'{home}/bin'); write(f'{home}/bin/ls')"
    ),
    "files over secrets": "attempt(write, f'{home}/.netrc'); attempt(write, f'{home}/.ssh/authorized_keys')",
    "many files": "for n in range(500): write(f'file{n}')",
    "large files": (
        "os.truncate(os.open('large', os.O_CREAT | os.O_WRONLY), 1 << 26); write('x', 'x' * (1 << 22))"
    ),
}
"""Code that succeeds."""


@pytest.mark.attack
def test_changes_stay_inside(machine: Machine) -> None:
    before = [looked_at(one, ()) for one in (machine.home, machine.outside)]
    ended = machine.run(all_of(KEPT_INSIDE))
    assert (ended.failed, ended.said.count("#")) == ("", len(KEPT_INSIDE))
    assert "failed with" not in ended.said
    assert [looked_at(one, ()) for one in (machine.home, machine.outside)] == before


@pytest.mark.slow
@pytest.mark.attack
def test_a_million_files_and_two_gigabytes_stay_inside(machine: Machine) -> None:
    before = looked_at(machine.home, ())
    ended = machine.run(
        "count = 0\n"
        "for n in range(1000):\n"
        "    os.mkdir(f'd{n}')\n"
        "    for m in range(50): os.mknod(f'd{n}/{m}'); count += 1\n"
        "with open('large', 'wb') as file:\n"
        "    for _ in range(2048): file.write(b'x' * (1 << 20))\n"
        "print(count)\n"
        "def fill():\n"
        "    for n in range(1_000_000): os.mknod(f'{home}/{n}')\n"
        "attempt(fill)"
    )
    assert ended.said == "50000\nrefused No space left on device\n"
    assert (machine.upper / "large").stat().st_size == 1 << 31
    assert ended.report["outside"] > 50_000
    assert looked_at(machine.home, ()) == before


def test_only_the_directories_of_its_own_keep_changes_and_others_are_reported(machine: Machine) -> None:
    ended = machine.run(
        "write('made'); write(f'{own}/made'); write(f'{home}/.bashrc'); os.unlink(f'{home}/.bashrc')\n"
        "os.makedirs(f'{home}/.cache/deep'); write(f'{home}/.profile')"
    )
    assert (machine.upper / "made").read_text() == (machine.own / "made").read_text() == "by the agent"
    named = {one["path"].removeprefix(f"{machine.home}/"): one["deleted"] for one in ended.report["named"]}
    assert named == {".bashrc": True, ".cache/deep": False, ".profile": False}
    assert ended.report["outside"] == len(named)


def test_secrets_are_not_there(machine: Machine) -> None:
    ended = machine.run(
        "print(os.listdir(f'{home}/.ssh'), repr(read(f'{home}/.netrc')), read(f'{home}/.bashrc'))"
    )
    assert ended.said == "[] '' # the person's\n\n"


def test_it_has_no_rights_and_little_of_dev_and_its_own_processes(machine: Machine) -> None:
    ended = machine.run(
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "print([status[name].strip() for name in ('CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs')])\n"
        "print(sorted(set(os.listdir('/dev')) - {'fd', 'stdin', 'stdout', 'stderr'}))\n"
        "print(len([name for name in os.listdir('/proc') if name.isdigit()]), os.getsid(0) == os.getpid())\n"
        "print(os.listdir('/run/user'), os.listdir('/dev/shm'))"
    )
    none = "0" * 16
    assert ended.said.splitlines() == [
        str([none, none, none, none, "1"]),
        str(["full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"]),
        "2 True",
        f"[{str(machine.top.stat().st_uid)!r}] []",
    ]


def test_the_directories_for_temporary_files_are_its_own(machine: Machine) -> None:
    """The project is in one of them, and is there all the same."""
    ended = machine.run(
        "print(sorted(os.listdir('.')), os.path.exists(outside), os.listdir(f'{home}/..'))\n"
        "write('/tmp/made'); write('/var/tmp/made'); write('/dev/shm/made')",
        without="",
    )
    assert ended.failed == ""
    assert ended.said == f"{['.git', 'hard', 'linked', 'main.py']} False ['home']\n"
    assert not any(Path(place, "made").exists() for place in ("/tmp", "/var/tmp", "/dev/shm"))


@pytest.mark.slow
@pytest.mark.attack
def test_nothing_lives_on(machine: Machine) -> None:
    lock = machine.own / "lock"
    ended = machine.run(
        "told, tell = os.pipe()\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, 1)\n"
        "    libc.unshare(0x30020000)\n"
        "    if os.fork(): os._exit(0)\n"
        f"    fcntl.flock(os.open({str(lock)!r}, os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)\n"
        "    os.write(tell, b'x'); os.closerange(0, 3)\n"
        "    while True: signal.pause()\n"
        "os.read(told, 1)\n"
        "for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL): os.kill(1, number)"
    )
    assert ended.status == 0
    assert len(ended.report["ended"]) >= 1
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.attack
def test_processes_are_limited(machine: Machine) -> None:
    """Older systems have no such limit for the superuser."""
    ended = machine.run(
        "count = 0\n"
        "try:\n"
        "    while count < 1000:\n"
        "        if not os.fork(): os.closerange(0, 3); signal.pause()\n"
        "        count += 1\n"
        "except OSError as error: print(error.strerror)\n"
        "print(count < 400 or os.uname().release < '6.14')",
        processes=400,
    )
    assert ended.said == "Resource temporarily unavailable\nTrue\n"


class Space:
    """Free space of a file system."""

    def __init__(self, free: int, files: int = 1 << 20) -> None:
        self.f_frsize, self.f_bavail, self.f_favail, self.f_files = 1, free, files, files


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (Space(10 << 30), ""),
        (Space(RESERVE - 1), "hardly any free space"),
        (Space(10 << 30, 99), "hardly any free space"),
    ],
)
def test_programs_leave_some_of_the_disk_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: Space, words: str
) -> None:
    held = os.open(tmp_path, os.O_PATH)
    monkeypatch.setattr(os, "fstatvfs", lambda _: Space(10 << 30))
    disk = Disk([held], 1 << 30)
    assert not disk.is_full()
    monkeypatch.setattr(os, "fstatvfs", lambda _: later)
    assert disk.is_full() is bool(words)
    assert words in disk.full
    os.close(held)


def test_files_are_counted_only_when_they_may_exceed_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []

    def count(uppers: list[int]) -> int:
        counted.append(uppers)
        return 100

    monkeypatch.setattr(namespace_holder, "_disk_use", count)
    held = os.open(tmp_path, os.O_PATH)
    free = 10 << 30
    monkeypatch.setattr(os, "fstatvfs", lambda _: Space(free))
    disk = Disk([held], 1000)
    assert [disk.is_full() for _ in range(3)] == [False] * 3
    assert len(counted) == 1
    free -= 899
    assert (disk.is_full(), len(counted)) == (False, 1)
    free -= 1
    assert (disk.is_full(), len(counted)) == (False, 2)
    os.close(held)


@pytest.mark.attack
@pytest.mark.parametrize("network", ["on", "loopback", "off"] if LANDLOCK else ["loopback", "off"])
def test_no_socket_of_the_person_can_be_reached(machine: Machine, network: str) -> None:
    listening = []
    for address in (
        f"\0tideate-{machine.top.name}",
        str(machine.outside / "socket"),
        str(machine.home / "socket"),
    ):
        listening.append(one := socket.socket(socket.AF_UNIX))
        one.bind(address)
        one.listen()
        if not address.startswith("\0"):
            os.chmod(address, 0o777)  # noqa: PTH101 it is enough
    ended = machine.run(
        "def reach(address): socket.socket(socket.AF_UNIX).connect(address)\n"
        f"attempt(reach, '\\0tideate-{machine.top.name}')\n"
        "attempt(reach, f'{outside}/socket'); attempt(reach, f'{home}/socket')\n",
        network=network,
    )
    for one in listening:
        one.close()
    assert [line.split()[0] for line in ended.said.splitlines()] == ["refused"] * 3


@pytest.mark.parametrize(("network", "words"), [("on", "did"), ("loopback", "refused"), ("off", "refused")])
def test_the_network_is_the_one_of_the_rules(machine: Machine, network: str, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = machine.run(
            f"attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 5))\n"
            "def own():\n"
            "    server = socket.create_server(('127.0.0.1', 0))\n"
            "    socket.create_connection(server.getsockname(), 5)\n"
            "attempt(own)",
            network=network,
        )
    first, second = (line.split()[0] for line in ended.said.splitlines())
    assert (first, second) == (words, "refused" if network == "off" else "did")


def test_the_limits_of_the_machine_stay(machine: Machine) -> None:
    names = ("kernel/pid_max", "kernel/core_pattern")
    before = [Path("/proc/sys", name).read_text() for name in names]
    machine.run("", processes=400)
    assert [Path("/proc/sys", name).read_text() for name in names] == before


@pytest.mark.attack
def test_a_device_that_was_there_cannot_be_opened(machine: Machine) -> None:
    try:
        os.mknod(machine.own / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:  # then nobody can plant one
        return
    assert machine.run("attempt(open, f'{own}/device', 'rb')").said.startswith("refused")


def places(plan: Any, kind: type[Hide | Shade]) -> list[Path]:
    return [one.place for one in plan if isinstance(one, kind)]


def test_a_project_is_neither_hidden_nor_shared(tmp_path: Path) -> None:
    project = tmp_path / ".ssh/project"
    (project / "cache").mkdir(parents=True)
    copy = Overlay(project, (project,), tmp_path / "upper", tmp_path / "work")
    inside = Enclosure(tmp_path, (tmp_path / ".ssh", project / "cache"), (tmp_path / ".ssh", project / "x"))
    plan = inside.mounts([copy])
    assert [place for place in places(plan, Hide) if place.is_relative_to(tmp_path)] == [project / "x"]
    assert [one.place for one in plan if isinstance(one, Bind) and one.writable] == [tmp_path / ".ssh"]
    assert plan.index(copy) > plan.index(next(one for one in plan if isinstance(one, Bind)))


def test_a_link_that_a_program_planted_makes_nothing_writable_or_visible(tmp_path: Path) -> None:
    for name in (".ssh", ".agent", "project"):
        (tmp_path / name).mkdir()
    (tmp_path / ".agent/cache").symlink_to(tmp_path / ".ssh")
    planted = tmp_path / ".agent/cache"
    inside = Enclosure(tmp_path, (tmp_path / ".agent", planted), (tmp_path / ".ssh",), (planted,))
    bound = [one.place for one in inside.mounts([]) if isinstance(one, Bind)]
    assert [place for place in bound if place.is_relative_to(tmp_path)] == [tmp_path / ".agent"]


def test_a_visible_path_is_there_in_a_hidden_directory(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    for name in ("known", "key"):
        (tmp_path / "secrets" / name).write_text(name)
    (tmp_path / "project").mkdir()
    inside = Enclosure(tmp_path, hidden=(tmp_path / "secrets",), visible=(tmp_path / "secrets/known",))
    held = Namespaces.hold(inside.mounts([]), inside.rules)
    try:
        seen = held.view(tmp_path / "secrets")
        assert [path.name for path in seen.iterdir()] == ["known"]
        assert (seen / "known").read_text() == "known"
    finally:
        held.close()


def test_a_home_that_cannot_be_shaded_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlay cannot have a file system below its lower directory that hides a part of it."""
    program = Path(__file__).parents[2] / "tideate_core/process/namespace_holder.py"
    broken = tmp_path / "holder.py"
    broken.write_text(program.read_text().replace(',userxattr"', ',nosuchoption"'))
    monkeypatch.setattr("tideate_core.process.namespaces.HOLDER", str(broken))
    held = Namespaces.hold(Enclosure(tmp_path).mounts([]), Enclosure(tmp_path).rules)
    try:
        assert held.notices == ("unshaded",)
        with pytest.raises(OSError, match="Read-only file system"):
            held.view(tmp_path / "made").touch()
    finally:
        held.close()
    assert not (tmp_path / "made").exists()


def test_an_emptied_directory_is_private_and_writable(tmp_path: Path) -> None:
    own, emptied = tmp_path / ".agent", tmp_path / ".agent/control"
    emptied.mkdir(parents=True)
    (emptied / "socket").write_text("leads outside")
    inside = Enclosure(tmp_path, (own,), emptied=(emptied,))
    held = Namespaces.hold(inside.mounts([]), inside.rules)
    try:
        seen = held.view(emptied)
        assert list(seen.iterdir()) == []
        (seen / "pid").write_text("1")
    finally:
        held.close()
    assert [path.name for path in emptied.iterdir()] == ["socket"]


def test_a_report_names_changes_and_programs() -> None:
    report = EscapeReport.of(
        {"outside": 3, "named": [["/a", False], ["/b", True]], "ran": [], "ended": ["sleep 9"]}
    )
    assert report.lines == [
        "discarded changes outside of the project: /a, /b (deleted) and 1 more",
        "ended programs that were still running: sleep 9",
    ]
    assert EscapeReport.of({}).lines == []


def test_the_home_is_shaded_unless_it_is_everything(tmp_path: Path) -> None:
    assert places(Enclosure(tmp_path).mounts([]), Shade) == [tmp_path]
    assert places(Enclosure(Path("/")).mounts([]), Shade) == []


def test_the_support_names_each_promise_that_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for said, words in (
        (
            "mounted 1 unshaded processes",
            "directories of their own; your home .* is read-only .*; agents see",
        ),
        (
            "1 user namespaces are not available here",
            "a real copy at another path; .*here.*AppArmor profile",
        ),
    ):
        (tmp_path / "holder.py").write_text(f"print({said.replace(' 1 ', f' {os.getpid()} ')!r})\n")
        setting = tmp_path / "kernel/apparmor_restrict_unprivileged_userns"
        setting.parent.mkdir(exist_ok=True)
        setting.write_text("1\n")
        monkeypatch.setattr("tideate_core.process.namespaces.HOLDER", str(tmp_path / "holder.py"))
        monkeypatch.setattr("tideate_core.process.namespaces.SETTINGS", tmp_path)
        monkeypatch.setattr("signal.pidfd_send_signal", lambda *_: None)
        monkeypatch.setattr("tideate_core.process.namespaces._END_WITHIN", 0.1)
        assert re.search(words, enclosure_support().words)


def test_an_installed_holder_is_used_if_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "namespace-holder"
    monkeypatch.setattr("tideate_core.process.namespaces.INSTALLED", installed)
    for content, used in ((Path(HOLDER).read_bytes(), True), (b"another version", False)):
        installed.write_bytes(content)
        installed.chmod(0o755)
        held = Namespaces.hold([])
        command = Path(f"/proc/{held.pid}/cmdline").read_bytes()
        held.close()
        assert (os.fsencode(installed) in command) is used
