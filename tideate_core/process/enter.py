"""Run a program in another process's namespaces: ``python -I -S enter.py PID DIRECTORY PROGRAM ARGV…``.

A program with a slash is a path relative to the directory; any other is looked up in PATH, both as seen in
the namespaces. Entering needs a process without threads, hence this separate one. Only its child is in the
pid namespace: the process itself forwards signals and ends as the child does, and the child ends with it.

If the other process cannot gain privileges, such as the holder of an enclosure, the program cannot either.
It loses all capabilities, gets the same limits, and leads a session of its own. The session takes the
terminal on standard input, unless another session has it. With PID 0, the program only leads such a session.
This file imports nothing of this package: it must start within milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

NEW_USER, NEW_PIDS, NEW_NET, NEW_IPC, NEW_MOUNTS = 0x10000000, 0x20000000, 0x40000000, 0x08000000, 0x00020000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAP_SYS_ADMIN = 21
MOST_CAPABILITIES = 64
CAPABILITIES_VERSION = 0x20080522
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
"""Numbers of system calls, the same on all machines but Alpha."""
LANDLOCK_SCOPES = 6
"""Version of Landlock that confines abstract sockets."""
SCOPE_ABSTRACT_UNIX_SOCKET = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}
"""Number of the system call, by machine."""
KEYCTL_JOIN_SESSION_KEYRING = 1
NOT_RUN = 127
"""Exit status for a program that cannot be run, as in a shell."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals ignored by Python, which the program would inherit."""

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

libc = ctypes.CDLL(None, use_errno=True)


def enter(process: int) -> int:
    """Fork a child in the namespaces of another process of this user.

    :returns: its pid; 0 in the child.
    :raises OSError: the process is gone, or the system does not allow it.
    """
    other = os.pidfd_open(process)
    enclosed = _may_gain_nothing(process)
    limits = _limits(process) if enclosed else {}
    kinds = NEW_MOUNTS | (NEW_IPC if enclosed else 0)
    if not os.path.samestat(os.stat(f"/proc/{process}/ns/net"), os.stat("/proc/self/ns/net")):
        kinds |= NEW_NET
    # in this order: entering the first namespace gives the right to enter the others
    _check(libc.setns(other, NEW_USER))
    _check(libc.setns(other, NEW_PIDS))
    child = os.fork()
    if not child:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _check(libc.setns(other, kinds))
        os.close(other)
        if enclosed:
            _enclose(limits)
        else:
            # root would keep this capability there and could unmount file systems
            libc.prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
    return child


def _may_gain_nothing(process: int) -> bool:
    with open(f"/proc/{process}/status", "rb") as file:
        return b"\nNoNewPrivs:\t1\n" in file.read()


def _limits(process: int) -> dict[int, tuple[int, int]]:
    import resource

    return {resource.RLIMIT_NPROC: resource.prlimit(process, resource.RLIMIT_NPROC)}


def _enclose(limits: dict[int, tuple[int, int]]) -> None:
    """Drop all capabilities and raise no limit again."""
    import resource

    for kind, limit in limits.items():
        resource.setrlimit(kind, limit)
    # other processes inside must not open this process's files before the program runs
    _check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    for capability in range(MOST_CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for capabilities that the system lacks
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _check(libc.capset((ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()))
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if keyctl := KEYCTL.get(os.uname().machine):
        libc.syscall(keyctl, KEYCTL_JOIN_SESSION_KEYRING, None)  # fails if the system has no keyrings
    _confine_abstract_sockets()
    lead_session()


def _confine_abstract_sockets() -> None:
    """Forbid connections to abstract sockets of other programs, which a mount namespace does not hide."""
    if not has_landlock_scopes():
        return
    scopes = (ctypes.c_uint64 * 3)(0, 0, SCOPE_ABSTRACT_UNIX_SOCKET)
    rules = libc.syscall(LANDLOCK_CREATE_RULESET, scopes, ctypes.sizeof(scopes), 0)
    _check(int(rules < 0))
    _check(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    os.close(rules)


def has_landlock_scopes() -> bool:
    """Return whether the system can confine abstract sockets."""
    version: int = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    return version >= LANDLOCK_SCOPES


def lead_session() -> None:
    """Leave the terminal of the session; take the one on standard input unless another session has it."""
    import fcntl
    import termios

    if os.getsid(0) != os.getpid():
        os.setsid()
    if os.isatty(0):
        try:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        except OSError:
            return


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _end_like(child: int) -> None:
    """Wait for the child's end and end in the same way; only the child keeps its streams and socket open."""
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: _pass_on(child, number))
    os.closerange(0, 256)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    import resource

    ended_by = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own core is enough
    if ended_by != signal.SIGKILL:
        signal.signal(ended_by, signal.SIG_DFL)
    os.kill(os.getpid(), ended_by)
    os._exit(128 + ended_by)


def _pass_on(child: int, number: int) -> None:
    """Send a signal to the child, and to its group if it leads one."""
    for send in (os.killpg, os.kill):
        try:
            return send(child, number)
        except ProcessLookupError:
            continue  # it leads no group, or has ended
    return None


def main() -> None:
    """Replace this process by the given program in the namespaces of the given process."""
    try:
        process = int(sys.argv[1])
        if process and (child := enter(process)):
            _end_like(child)
        if not process:
            lead_session()
        os.chdir(sys.argv[2])
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606 argv and no shell
    except OSError as error:
        sys.stderr.write(f"{sys.argv[3]} cannot be run: {error.strerror}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
