#!/usr/bin/python3 -IS
"""Hold namespaces with their mounts: ``python -I -S namespace_holder.py``, with a plan on standard input.

Creates a user, a mount and a pid namespace and mounts a plan there: one line of JSON, see `namespaces.py`.
The holder is a child of the program and the first process in the pid namespace: processes inside cannot stop
or kill it, and the kernel kills all of them with it, including those in nested namespaces. It prints
`mounted PID NOTICE…` and waits for the end of its standard input, inherited from the process that started
the program; then the other processes have some time to end. User and group ids stay the same inside. A
failure is printed as `ERRNO WHAT`.

With rules, `enter.py` starts processes here without capabilities, and at the end the holder prints a report
as JSON. The program imports nothing of this package, because it has to start within milliseconds.
"""

from __future__ import annotations

import binascii
import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MNT_DETACH = 2
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""Numbers of system calls, the same on all machines but Alpha."""
OPEN_TREE_CLONE = 1
MOVE_MOUNT_BOTH_EMPTY_PATH = 0x4 | 0x40
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
EVERYBODY = b"0 0 4294967295"
"""Identity map of all ids; only the superuser may write it."""
GRACE = 3.0
"""Seconds; guards give programs two seconds to end."""
POLL = 0.02
OWN_PID_MAX, LOWEST_PID_MAX = (6, 14), 301
"""First version of Linux in which a pid namespace has its own maximum of processes."""
LOOK = 2.0
"""Seconds between two looks at the running programs."""
LOOK_AT_DISK = 0.25
"""Seconds between two looks at the free space, which are cheap."""
COUNT_AGAIN, SHARE = 60.0, 50
"""Seconds until the changes are counted again, and their multiple of the time that counting takes."""
MOST_COUNTED, BETWEEN = 2_000_000, 1_000
"""Maximum number of files whose sizes are counted, and between two checks for the holder's end."""
RESERVE, RESERVED_FILES = 1 << 30, 10_000
"""Bytes and files that a program leaves free on the disk; at most half of what is free at its start."""
LONGEST = 200
"""Maximum bytes of a command in a report."""
MOST_NAMED, MOST_SEEN, MOST_LONGEST = 50, 1_000, 5
MOST_KEPT = 1 << 24
"""Bytes of a file that is kept."""
MOST_FILES, MOST_SHADED = 1_000_000, 100_000
"""Maximum number of files and directories of a file system in memory, and of discarded changes."""
MAPS = ("uid_map", "gid_map")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
OF_THE_SYSTEM = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Parts of /proc that the superuser may write even without capabilities."""
ORIGIN = "user.overlay.origin"
PINNED = 100
"""Descriptor of the first overlay: programs inside may move the directories above it."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Create the namespaces, then wait for the holder and all other processes to end."""
    line = sys.stdin.buffer.readline()
    if not line:
        return  # no plan: it was started in vain
    plan = json.loads(line)
    doing = "user namespaces are not available here"
    told, tell = os.pipe()
    try:
        _unshare(plan["rules"])
        doing = "processes cannot be started in a pid namespace here"
        holder = os.fork()
    except OSError as error:
        _say(f"{error.errno} {doing}")
        return
    if holder:
        os.write(tell, b"%d" % holder)  # the holder has pid 1 inside and cannot report its outer pid
        os.close(0)
        os.waitpid(holder, 0)
    else:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.close(tell)
        if pid := os.read(told, 16):  # empty if the parent was killed
            _hold(int(pid), plan["mounts"], plan["rules"])


def _hold(pid: int, mounts: list[dict[str, Any]], rules: dict[str, Any] | None) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphaned processes inside become its children
    view = View(mounts)
    try:
        view.make()
        if rules is not None:
            _limit(rules)
    except OSError as error:
        _say(f"{error.errno} {view.doing} here")
        return
    _say(" ".join(["mounted", str(pid), *view.notices]))
    if rules is None:
        sys.stdin.buffer.read()
        _await_others()
        return
    watched, disk, next_look = Watched(), Disk(view.uppers, rules["disk"]), 0.0
    while not select.select([0], [], [], LOOK_AT_DISK)[0]:
        if disk.is_full():
            _signal_others(signal.SIGKILL)
        if time.monotonic() >= next_look:
            watched.look()
            next_look = time.monotonic() + LOOK
    report = watched.end()
    _say(json.dumps({**report, "full": disk.full, **view.thrown_away()}))


def _say(words: str) -> None:
    try:
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)  # the reader is gone


class View:
    """The mounts of a plan."""

    def __init__(self, mounts: list[dict[str, Any]]) -> None:
        self.notices: list[str] = []
        self.uppers: list[int] = []
        """Upper layers of overlays on the disk."""
        self.doing = "mounts cannot be made private"
        self._mounts = mounts
        self._opened: list[list[int]] = []
        self._shades: list[tuple[str, int, list[str]]] = []
        self._hidden: list[int] = []
        self._made: set[str] = set()
        """Places made for mounts."""

    def make(self) -> None:
        """Mount all.

        Sources are opened before the first mount: later ones may cover them or make them read-only.

        :raises OSError: a mount failed; see `doing`.
        """
        _check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        for step in ("open", "mount"):
            for number, one in enumerate(self._mounts):
                self.doing = f"the mount {one['mount']} cannot be made"
                if step == "open":
                    self._opened.append(list(getattr(self, f"_open_{one['mount']}", _nothing)(one)))
                else:
                    getattr(self, f"_mount_{one['mount']}")(one, self._opened[number])
        if overlay := next((one["place"] for one in self._mounts if one["mount"] == "overlay"), None):
            os.dup2(os.open(overlay, os.O_PATH | os.O_DIRECTORY), PINNED)
        for place in self._hidden:  # now places of visible paths in them are made
            _set_attributes(place, "", ATTR_RDONLY, 0)
            os.close(place)

    def _open_overlay(self, one: dict[str, Any]) -> Iterator[int]:
        # mounted and unmounted again: below a read-only mount, the upper layer cannot be written
        layers = [*one["lowers"], one["upper"], one["work"]]
        opened = [os.open(layer, os.O_PATH | os.O_DIRECTORY) for layer in layers]
        self.uppers.append(os.dup(opened[-2]))
        _mount_overlay(one["place"], opened)
        yield _clone(one["place"])
        _check(libc.umount2(os.fsencode(one["place"]), MNT_DETACH))

    def _open_bind(self, one: dict[str, Any]) -> Iterator[int]:
        yield _clone(one["source"])

    def _open_shade(self, one: dict[str, Any]) -> Iterator[int]:
        yield os.open(one["place"], os.O_PATH | os.O_DIRECTORY)
        for place in (one["place"], *_kept_there(one)):
            yield _clone(place)

    def _open_dev(self, _: dict[str, Any]) -> Iterator[int]:
        yield from (_clone(f"/dev/{name}") for name in DEVICES)

    def _mount_overlay(self, one: dict[str, Any], opened: list[int]) -> None:
        self._attach(opened[0], one["place"])

    def _mount_bind(self, one: dict[str, Any], opened: list[int]) -> None:
        # without devices: the superuser may use them even without capabilities
        _set_attributes(opened[0], "", ATTR_NODEV | ATTR_NOSUID | (0 if one["writable"] else ATTR_RDONLY))
        self._attach(opened[0], one["place"], directory=os.path.isdir(f"/proc/self/fd/{opened[0]}"))

    def _mount_tmpfs(self, one: dict[str, Any], _: list[int]) -> None:
        self._make_place(one["place"])
        _mount_memory(one["place"], one["size"], one["mode"])

    def _mount_hide(self, one: dict[str, Any], _: list[int]) -> None:
        if os.path.isdir(one["place"]):
            _mount_memory(one["place"], 1 << 20, 0o755)
            self._hidden.append(os.open(one["place"], os.O_PATH))
        elif os.path.exists(one["place"]):
            self._attach(_clone("/dev/null"), one["place"])

    def _mount_readonly(self, _: dict[str, Any], __: list[int]) -> None:
        _set_attributes(AT_FDCWD, "/", ATTR_RDONLY | ATTR_NODEV | ATTR_NOSUID)

    def _mount_shade(self, one: dict[str, Any], opened: list[int]) -> None:
        place = one["place"]
        self._make_place(place)
        _mount_memory(place, one["size"], 0o700, MOST_SHADED)
        for name in ("upper", "work"):
            os.mkdir(f"{place}/{name}")
        status = os.stat(opened[0])
        os.chmod(f"{place}/upper", status.st_mode & 0o7777)
        layers = [os.open(f"{place}/{name}", os.O_PATH | os.O_DIRECTORY) for name in ("upper", "work")]
        upper = os.dup(layers[0])
        try:
            _mount_overlay(place, [opened[0], *layers])
        except OSError:  # an old system, or another file system is mounted below it
            os.close(upper)
            _check(libc.umount2(os.fsencode(place), MNT_DETACH))
            _set_attributes(opened[1], "", ATTR_RDONLY | ATTR_NODEV | ATTR_NOSUID)
            self._attach(opened[1], place)
            for tree, file in zip(opened[2:], _kept_there(one), strict=True):
                _set_attributes(tree, "", ATTR_NODEV | ATTR_NOSUID)
                self._attach(tree, file, directory=False)
            self.notices.append("unshaded")
        else:
            for tree in opened[1:]:
                os.close(tree)
            self._shades.append((place, upper, one["kept"]))

    def _mount_proc(self, _: dict[str, Any], __: list[int]) -> None:
        # containers may hide parts of /proc: then it keeps showing all processes, which guards detect
        if libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None):
            self.notices.append("processes")

    def _mount_dev(self, one: dict[str, Any], opened: list[int]) -> None:
        _mount_memory("/dev", 1 << 20, 0o755)
        for name, node in zip(DEVICES, opened, strict=True):
            self._attach(node, f"/dev/{name}", directory=False)
        for name, target in LINKS.items():
            os.symlink(target, f"/dev/{name}")
        for name in ("pts", "shm"):
            os.mkdir(f"/dev/{name}")
        options = b"newinstance,ptmxmode=0666,mode=620"
        _check(libc.mount(b"devpts", b"/dev/pts", b"devpts", MS_NOSUID | MS_NOEXEC, options))
        _set_attributes(AT_FDCWD, "/dev", ATTR_RDONLY | ATTR_NOSUID, 0)
        _mount_memory("/dev/shm", one["size"], 0o1777)  # noqa: S108 it is private

    def _attach(self, tree: int, place: str, *, directory: bool = True) -> None:
        """Mount a clone and close it."""
        self._make_place(place, directory=directory)
        _move(tree, place)

    def _make_place(self, place: str, *, directory: bool = True) -> None:
        """Create a missing place for a mount, for example in a directory that an earlier mount covers."""
        if os.path.exists(place):
            return
        above = os.path.dirname(place)
        if directory:
            os.makedirs(place)
        else:
            os.makedirs(above, exist_ok=True)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._made.add(place)

    def thrown_away(self) -> dict[str, Any]:
        """Return the kept files, the number of changes in shades, and the first with a mark for deletions."""
        found = 0
        named: list[tuple[str, bool]] = []
        kept: dict[str, str] = {}
        for place, upper, names in self._shades:
            for name in names:
                if (content := _content(f"/proc/self/fd/{upper}/{name}")) is not None:
                    kept[f"{place}/{name}"] = content
            for path, deleted in _changed(f"/proc/self/fd/{upper}"):
                if (whole := f"{place}/{path}") not in self._made and whole not in kept:
                    found += 1
                    if len(named) < MOST_NAMED:
                        named.append((whole, deleted))
        return {"outside": found, "named": named, "kept": kept}


def _nothing(_: dict[str, Any]) -> tuple[int, ...]:
    return ()


def _kept_there(shade: dict[str, Any]) -> list[str]:
    paths = [f"{shade['place']}/{name}" for name in shade["kept"]]
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]


def _content(path: str) -> str | None:
    """Return a regular file's content in Base64; None for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_KEPT:
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return binascii.b2a_base64(file.read(), newline=False).decode()


def _changed(upper: str) -> Iterator[tuple[str, bool]]:
    """Yield files, links, empty new directories and deletions in an upper layer."""
    pending = [""]
    while pending:
        directory = pending.pop()
        try:
            entries = sorted(os.scandir(f"{upper}/{directory}"), key=lambda entry: entry.name)
        except OSError:  # a path may be too long
            yield directory, False
            continue
        if not entries and directory and not _has(f"{upper}/{directory}", ORIGIN):
            yield directory, False
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            else:
                status = entry.stat(follow_symlinks=False)
                yield path, stat.S_ISCHR(status.st_mode) and not status.st_rdev


def _has(path: str, attribute: str) -> bool:
    try:
        os.getxattr(path, attribute, follow_symlinks=False)
    except OSError:
        return False
    return True


class Disk:
    """Space that programs take on the disk.

    A count of all files is slow. It is done only after the free space shrank so far that the programs may be
    over their limit, and from time to time.

    :param uppers: descriptors of the upper layers.
    :param most: bytes that the layers may take.
    """

    def __init__(self, uppers: list[int], most: int) -> None:
        self.full = ""
        """Reason why the programs must end."""
        self._uppers = uppers
        self._most = most
        self._left = 0
        self._due = 0.0
        self._before, files = self._free()
        self._reserve = min(RESERVE, self._before // 2), min(RESERVED_FILES, files // 2)

    def is_full(self) -> bool:
        """Return whether the programs must end."""
        if not self._uppers:
            return False
        free, files = self._free()
        if free < self._reserve[0] or files < self._reserve[1]:
            self.full = "the disk has hardly any free space"
            return True
        if self._before - free < self._left and time.monotonic() < self._due:
            return False
        return self._is_over(free)

    def _is_over(self, free: int) -> bool:
        begun = time.monotonic()
        used = _disk_use(self._uppers)
        now = time.monotonic()
        self._due = now + max(COUNT_AGAIN, (now - begun) * SHARE)
        self._before, self._left = free, max(self._most - used, self._most // SHARE)
        if used <= self._most:
            return False
        self.full = f"its changes took more than {self._most >> 20:,} MiB on the disk"
        return True

    def _free(self) -> tuple[int, int]:
        """Return free bytes and files; some file systems have no limit of files."""
        if not self._uppers:
            return 0, 0
        status = os.fstatvfs(self._uppers[0])
        return status.f_bavail * status.f_frsize, status.f_favail if status.f_files else RESERVED_FILES


def _disk_use(uppers: list[int]) -> int:
    """Return the bytes of layers on the disk; fewer if the holder has to end meanwhile."""
    pending = [f"/proc/self/fd/{upper}" for upper in uppers]
    used = counted = 0
    while pending and counted < MOST_COUNTED:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:  # or it was removed
            for entry in entries:
                counted += 1
                if not counted % BETWEEN and select.select([0], [], [], 0)[0]:
                    return used
                with contextlib.suppress(OSError):
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return used


class Watched:
    """Processes in the namespace, seen by regular looks."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[str, float]] = {}
        """Command and seconds of life by pid and start."""
        self._ticks = os.sysconf("SC_CLK_TCK")

    def look(self) -> list[str]:
        """Record the running processes; return their commands."""
        if os.readlink("/proc/self") != "1":
            return []  # all processes of the machine
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or name == "1":
                continue
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, *fields = file.read().rpartition(b") ")[2].split()
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    command = file.read(LONGEST).rstrip(b"\0").replace(b"\0", b" ")
            except OSError:
                continue  # it ended
            if state in b"ZX" or not command:
                continue
            started = int(fields[18])
            found.append(os.fsdecode(command))
            self._seen[int(name), started] = (found[-1], now - started / self._ticks)
            if len(self._seen) > MOST_SEEN:
                del self._seen[min(self._seen, key=lambda key: self._seen[key][1])]
        return found

    def end(self) -> dict[str, Any]:
        """End all other processes; return the longest-running and the remaining ones."""
        lived = self.look()
        for number in (signal.SIGTERM, signal.SIGCONT):
            _signal_others(number)
        _await_others()
        _signal_others(signal.SIGKILL)
        _await_others()  # before the changes are read
        longest = sorted(self._seen.values(), key=lambda one: -one[1])[:MOST_LONGEST]
        return {
            "ran": [(command, round(seconds, 1)) for command, seconds in longest],
            "ended": lived[:MOST_NAMED],
        }


def _signal_others(number: int) -> bool:
    """Send a signal to all other processes in the namespace; return whether there are any."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return False
    return True


def _await_others() -> None:
    """Wait for all other processes to end; their guards end them."""
    end = time.monotonic() + GRACE
    while _signal_others(0) and time.monotonic() < end:
        time.sleep(POLL)


def _limit(rules: dict[str, Any]) -> None:
    """Set limits of this process. `enter.py` copies them."""
    import resource

    if rules["network"] == "loopback":
        _bring_up_loopback()
    most = rules["processes"]
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    # the superuser has no such limit; an older system has one maximum of pids for all namespaces
    if tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= OWN_PID_MAX:
        with contextlib.suppress(OSError):
            _write("/proc/sys/kernel/pid_max", b"%d" % max(most, LOWEST_PID_MAX))
    # with a namespace of control groups, a program could end others in the user's groups
    with contextlib.suppress(OSError):
        _write("/proc/sys/user/max_cgroup_namespaces", b"0")
    if not os.geteuid():
        for name in OF_THE_SYSTEM:
            if os.path.exists(f"/proc/{name}"):
                tree = _clone(f"/proc/{name}")
                _set_attributes(tree, "", ATTR_RDONLY)
                _move(tree, f"/proc/{name}")
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _bring_up_loopback() -> None:
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _unshare(rules: dict[str, Any] | None) -> None:
    """Enter new namespaces, with the same user and group ids."""
    uid, gid = os.geteuid(), os.getegid()
    ours, theirs = os.pipe()
    here = os.getpid()
    child = os.fork()
    if not child:  # outside of the new namespace, where the superuser has its rights
        os.close(theirs)
        os.read(ours, 1)
        os._exit(_map_everybody(here))
    more = 0 if rules is None else CLONE_NEWIPC | (CLONE_NEWNET if rules["network"] != "on" else 0)
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | more))
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    if status:
        if not uid:
            raise OSError(
                errno.EPERM, "files of the superuser's projects may belong to users that the namespace lacks"
            )
        _write("/proc/self/setgroups", b"deny")
        _write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
        _write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))


def _map_everybody(process: int) -> int:
    try:
        for name in MAPS:
            _write(f"/proc/{process}/{name}", EVERYBODY)
    except OSError:
        return 1
    return 0


def _mount_overlay(place: str, layers: list[int]) -> None:
    """Mount an overlay of lower layers, an upper layer and a work directory, and close their descriptors."""
    # by descriptor: a path may contain characters that end an option
    *lowers, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in layers)
    options = f"lowerdir={':'.join(lowers)},upperdir={upper},workdir={work},userxattr"
    result = libc.mount(b"overlay", os.fsencode(place), b"overlay", 0, options.encode())
    number = ctypes.get_errno()
    for descriptor in layers:
        os.close(descriptor)
    _check(result, number)


def _mount_memory(place: str, size: int, mode: int, files: int = MOST_FILES) -> None:
    options = f"size={size},mode={mode:o},nr_inodes={files}"
    _check(libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", MS_NOSUID | MS_NODEV, options.encode()))


def _clone(path: str) -> int:
    """Return the descriptor of an unattached copy of a mount, with the mounts below it."""
    flags = OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    tree: int = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)
    _check(int(tree < 0))
    return tree


def _move(tree: int, place: str) -> None:
    """Attach the copy of a mount and close its descriptor."""
    target = os.open(place, os.O_PATH)
    _check(libc.syscall(MOVE_MOUNT, tree, b"", target, b"", MOVE_MOUNT_BOTH_EMPTY_PATH))
    os.close(target)
    os.close(tree)


def _set_attributes(descriptor: int, path: str, attributes: int, flags: int = AT_RECURSIVE) -> None:
    wanted = (ctypes.c_uint64 * 4)(attributes)
    flags |= 0 if path else AT_EMPTY_PATH
    _check(libc.syscall(MOUNT_SETATTR, descriptor, os.fsencode(path), flags, wanted, ctypes.sizeof(wanted)))


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def _check(result: int, number: int | None = None) -> None:
    if result:
        number = ctypes.get_errno() if number is None else number
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
