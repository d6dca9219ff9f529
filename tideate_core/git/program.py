"""Start git processes bound to one repository, without programs that it configures; capture output."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tideate_core.errors import WorkspaceError
from tideate_core.util.programs import find_on_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


Terminal: TypeAlias = Literal["background", "none", "shared"]
"""Relation of git to the terminal: in a process group of its own; without any; or with it, to ask for a
password."""
_STARTS: Final[Mapping[Terminal, Mapping[str, Any]]] = {
    "background": {"process_group": 0},
    "none": {"start_new_session": True},
    "shared": {},
}


def config_options(*settings: str) -> tuple[str, ...]:
    """Return the command-line options of git for settings such as `core.pager=cat`."""
    return tuple(word for setting in settings for word in ("-c", setting))


SAFE_OPTIONS: Final = (
    *config_options("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never"),
    *config_options("core.untrackedCache=false", "safe.bareRepository=explicit"),
    *("--no-pager", "--literal-pathspecs"),
)
"""Options before every git command. A diff needs more of them, against external diff programs."""
UNSIGNED: Final = config_options("commit.gpgSign=false", "tag.gpgSign=false", "gpg.program=false")
HARDENED: Final = (
    *SAFE_OPTIONS,
    # reading never writes: git would note in the index which files it found unchanged
    *config_options("diff.autoRefreshIndex=false", "diff.orderFile=/dev/null", "submodule.recurse=false"),
    *config_options("core.editor=:", "sequence.editor=:", "core.pager=cat", "credential.helper="),
    *config_options("core.sshCommand=:", "core.alternateRefsCommand=:", "core.preferSymlinkRefs=false"),
    *config_options("core.quotePath=false", "core.warnAmbiguousRefs=true", "color.ui=false"),
    *config_options("log.showSignature=false", "log.showRoot=true", "gc.auto=0", "maintenance.auto=false"),
    *config_options("status.submoduleSummary=false", "blame.ignoreRevsFile=", "user.useConfigOnly=true"),
    *config_options("i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8"),
    *config_options("advice.addEmbeddedRepo=false"),
)
"""Options before a command in a project's own repository, with stable output for parsing."""
EXCLUDE_PRIVATE: Final = ("-x", ".tideate")
"""Options that keep `ls-files` out of `.tideate`: a pipe named `.gitignore` there would block it forever."""

READ_BY_NAME: Final = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
"""Files of a work tree that git opens by name."""
WAITS: Final = "{name} is a pipe or a device, which would block git: remove it"

_OVERRIDES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # a partial clone must not fetch missing objects or start a transport: older versions of git ignore the
    # first variable; the second overrides the protocols that the repository allows
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # read the objects themselves, not their replacements from refs/replace or a graft file
    "GIT_NO_REPLACE_OBJECTS": "1",
    # no file can be below this one; git would print a hint if it could open the graft file
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    "LC_ALL": "C",
}
PATIENCE: Final = 60.0
"""Seconds until git times out."""
HOOKS_PATIENCE: Final = 600.0
"""Seconds until git times out if it runs hooks."""
LARGEST: Final = 16 << 20
"""Bytes of output after which git is killed."""
_SILENT: Final = 1.0
"""Seconds after which the work tree is searched for pipes that block git."""
_CHUNK: Final = 1 << 16
_POLLS: Final = 50
"""Polls for the exit of a program that closed its output, before a thread waits for it."""
_REASON: Final = re.compile("(?:fatal|error): (?!failed to push some refs)")
_SAID: Final = 1 << 16
"""Bytes kept of standard error."""
_LIMITED: Final = ("/bin/sh", "-c", 'ulimit -c 0 2>/dev/null; ulimit -f "$0" 2>/dev/null; exec "$@"')
BLOCK: Final = 512
"""Bytes of a block of `ulimit -f`."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Directories of a repository that git may open."""

    top: Path
    """The work tree."""
    git_dir: Path
    """The directory of this worktree's HEAD and index."""
    common_dir: Path
    """The directory that all worktrees share: objects, branches and configuration."""

    def variables(self) -> Mapping[str, str]:
        """Return the variables that bind git to this repository; it searches no parent directory."""
        above = str(self.top.parent)
        found = {"GIT_CEILING_DIRECTORIES": above, "GIT_WORK_TREE": str(self.top)}
        # `:` separates ceilings, so no ceiling can contain it
        return found if ":" not in above else {**found, "GIT_DIR": str(self.git_dir)}


@dataclass(frozen=True, slots=True)
class _Nowhere(Repository):
    """A directory outside every repository, for git."""

    def variables(self) -> Mapping[str, str]:
        return {"GIT_DIR": os.devnull}


def without_repository(place: Path) -> Repository:
    """Return a stand-in that keeps git from finding any repository."""
    return _Nowhere(place, place, place)


@dataclass(frozen=True, slots=True)
class GitOutput:
    """Exit status and output of git."""

    status: int
    out: bytes
    said: str
    """Standard error."""
    whole: bool
    """False if the output was cut at the limit."""


def git_environment(repository: Repository | None = None) -> dict[str, str]:
    """Return the environment for git, without inherited `GIT_*` variables.

    :param repository: the repository to bind git to.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | _OVERRIDES | (dict(repository.variables()) if repository else {})


def quoted_path(path: Path) -> str:
    """Quote a path for git, as an entry of a list that `:` or line ends separate."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def alternates_line(objects: Path) -> bytes:
    """Return the line of a file `info/alternates` for a directory of objects."""
    # unquoted if possible: `find_repository` rejects quoted lines, because it cannot read them
    path = str(objects)
    return os.fsencode(quoted_path(objects) if "\n" in path else path) + b"\n"


def reasons_first(said: str) -> list[str]:
    """Return the lines of git's standard error without hints, the reasons of a failure first."""
    lines = (line.removeprefix("remote: ").strip() for line in said.splitlines())
    kept = [line for line in lines if line and not line.startswith("hint:")]
    return sorted(kept, key=lambda line: _REASON.match(line) is None)


def find_git() -> str:
    """Return the path of git from PATH; relative entries are ignored, as the working directory is untrusted.

    :raises WorkspaceError: git is not installed.
    """
    found = find_on_path("git", os.environ)
    if found is None:
        raise WorkspaceError("git cannot be run: git is not installed, or no directory of PATH has it")
    return str(found)


def start_git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    options: Sequence[str] = SAFE_OPTIONS,
    variables: Mapping[str, str] | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    terminal: Terminal = "background",
    largest_file: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start git in its own process group, with a pipe for its output.

    :param variables: further environment variables.
    :param largest_file: bytes of each file that git, and what it starts, may write.
    :param terminal: see `Terminal`; `shared` keeps git in the caller's process group.
    :raises WorkspaceError: git cannot be started.
    """
    limit = () if largest_file is None else (*_LIMITED, str(largest_file // BLOCK))
    try:
        return subprocess.Popen(  # noqa: S603 a list; the shell gets no text of others
            [*limit, find_git(), *options, *arguments],
            cwd=cwd,
            env={**git_environment(repository), **(variables or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            **_STARTS[terminal],
        )
    except OSError as error:
        hint = ": name fewer files at once" if error.errno == errno.E2BIG else ""
        raise WorkspaceError(f"git cannot be run ({error.strerror}){hint}") from error


def run_git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    given: bytes = b"",
    options: Sequence[str] = SAFE_OPTIONS,
    variables: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> GitOutput:
    """Run git until it exits; blocking.

    :raises WorkspaceError: git cannot be started or times out.
    """

    with _input(given) as stdin:
        process = start_git(
            repository,
            *arguments,
            cwd=cwd,
            options=options,
            variables=variables,
            stdin=stdin,
            stderr=subprocess.PIPE,
        )
    try:
        out, said = finish(process, repository.top, patience)
    finally:
        _kill(process)
    return GitOutput(process.returncode, out, said.decode("utf-8", "replace"), whole=True)


def run_as_person(
    repository: Repository,
    *arguments: str,
    options: Sequence[str],
    variables: Mapping[str, str],
    terminal: bool,
) -> tuple[int, str]:
    """Run git with the person's own environment and settings; return exit status and output; blocking.

    :param options: options before the command that replace `SAFE_OPTIONS`.
    :param terminal: git uses the terminal, and no output is returned.
    :raises WorkspaceError: git cannot be started or times out.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 a list and no shell
            [find_git(), *options, *arguments],
            cwd=repository.top,
            env={**kept, **repository.variables(), **variables},
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=2 if terminal else subprocess.PIPE,
            stderr=None if terminal else subprocess.STDOUT,
            timeout=None if terminal else HOOKS_PATIENCE,
            check=False,
        )
    except OSError as error:
        raise WorkspaceError(f"git cannot be run ({error.strerror})") from error
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"git did not end within {HOOKS_PATIENCE:g} s") from error
    return done.returncode, (done.stdout or b"").decode("utf-8", "replace")


def finish(process: subprocess.Popen[bytes], top: Path, patience: float) -> tuple[bytes, bytes]:
    """Wait for git to exit and return its output and standard error; blocking.

    :param top: the work tree.
    :raises WorkspaceError: git times out or waits for a pipe.
    """
    try:
        return process.communicate(timeout=min(_SILENT, patience))
    except subprocess.TimeoutExpired:
        refuse_pipes(top)
    try:
        return process.communicate(timeout=max(0.0, patience - _SILENT))
    except subprocess.TimeoutExpired:
        raise WorkspaceError(f"git did not answer within {patience:g} s") from None


def refuse_pipes(top: Path) -> None:
    """Reject a work tree with a pipe or device in place of a file that git opens by name; blocking."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", ".tideate")]
        for name in READ_BY_NAME.intersection(names):
            path = Path(folder, name)
            if is_pipe_or_device(path):
                from tideate_core.util.escaping import label  # here, because it takes milliseconds

                raise WorkspaceError(WAITS.format(name=label(str(path.relative_to(top)))))


def is_pipe_or_device(path: str | Path) -> bool:
    """Tell whether opening a path could block git; git skips sockets."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


async def query_git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    given: bytes = b"",
    options: Sequence[str] = SAFE_OPTIONS,
    variables: Mapping[str, str] | None = None,
    largest: int = LARGEST,
    patience: float = PATIENCE,
    terminal: Terminal = "background",
    largest_file: int | None = None,
) -> GitOutput:
    """Run git in the event loop until it exits or its output reaches a limit. Cancelling kills its group.

    :param given: standard input.
    :param largest: bytes of output after which git is killed.
    :param largest_file: bytes of each file that it may write.
    :raises WorkspaceError: git cannot be started or times out.
    """
    import asyncio  # here, because a guarded program must not wait for it

    with _input(given) as stdin:
        process = start_git(
            repository,
            *arguments,
            cwd=cwd,
            options=options,
            variables=variables,
            stdin=stdin,
            stderr=subprocess.PIPE,
            terminal=terminal,
            largest_file=largest_file,
        )
        reader = _Reader(process, largest)
    try:
        async with asyncio.timeout(patience):
            try:
                async with asyncio.timeout(_SILENT):
                    await reader.ended.wait()
            except TimeoutError:
                await asyncio.to_thread(refuse_pipes, repository.top)
                await reader.ended.wait()
            status = await reader.status() if reader.whole else 0
    except TimeoutError:
        raise WorkspaceError(f"git did not answer within {patience:g} s and was ended") from None
    finally:
        reader.close()
    return GitOutput(status, bytes(reader.out), reader.said.decode("utf-8", "replace"), reader.whole)


@contextlib.contextmanager
def _input(given: bytes) -> Iterator[IO[bytes] | int]:
    """Yield standard input as a file: a pipe could fill up before the output is read."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group if it still runs, and close the pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            else:  # it shares the terminal
                process.terminate()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


class _Reader:
    """Reader of both output streams in the event loop; a thread would take as long as starting git."""

    def __init__(self, process: subprocess.Popen[bytes], largest: int) -> None:
        import asyncio

        self.out = bytearray()
        self.said = bytearray()
        self.whole = True
        self.ended = asyncio.Event()
        self._process = process
        self._largest = largest
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, bytearray] = {}
        for pipe, into in ((process.stdout, self.out), (process.stderr, self.said)):
            assert pipe is not None  # noqa: S101 both were asked for
            os.set_blocking(pipe.fileno(), False)
            self._open[pipe.fileno()] = into
            self._loop.add_reader(pipe.fileno(), self._read, pipe.fileno())

    async def status(self) -> int:
        """Wait for a program that closed its output to exit; return its status."""
        import asyncio

        for _ in range(_POLLS):
            if (status := self._process.poll()) is not None:
                return status
            await asyncio.sleep(0)
        return await asyncio.to_thread(self._process.wait)

    def close(self) -> None:
        """Stop reading and kill the process group if it still runs."""
        for descriptor in self._open:
            self._loop.remove_reader(descriptor)
        _kill(self._process)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        into = self._open[descriptor]
        if not data:
            self._loop.remove_reader(descriptor)
            del self._open[descriptor]
            if not self._open:
                self.ended.set()
        elif into is self.out:
            into += data
            if len(into) > self._largest:
                self.whole = False
                self.ended.set()
        elif len(into) < _SAID:
            into += data
