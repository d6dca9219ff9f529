"""Run git so that nothing a repository configures is run; make patches with it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.workspace.files import read_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tideate_core.workspace.files import FileImage

__all__ = ["EXCLUDE_PRIVATE", "SAFE_GIT", "git_environment", "make_patch", "read_images"]

SAFE_GIT: Final = (
    "git",
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"),
    *("-c", "core.untrackedCache=false", "--no-pager", "--literal-pathspecs"),
)
"""Beginning of every command. A diff has programs of its own, which its options keep from being run."""

EXCLUDE_PRIVATE: Final = ("-x", ".tideate")
"""For `ls-files`, which then does not look in there: a pipe called `.gitignore` would hold it up for ever."""

_OVERRIDES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # a repository of which a part is missing must not fetch it, nor start what fetches: not every git knows
    # the first, and the second counts before what the repository allows itself
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}

_TIMEOUT: Final = 60.0
"""Seconds that git gets for each of its three steps."""
_MODES: Final = {"file": "100644", "link": "120000"}
_DIFF: Final = (
    *("diff-tree", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--src-prefix=a/", "--dst-prefix=b/", "refs/heads/a", "refs/heads/b"),
)


def git_environment() -> dict[str, str]:
    """Return the environment for git: no variable of ours leads it elsewhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | _OVERRIDES


def read_images(root: Path, paths: Iterable[str]) -> dict[str, FileImage]:
    """Read what stands at paths below a root; blocking.

    :raises OSError: something stands there and cannot be read.
    """
    return {path: read_image(root / path) for path in paths}


def make_patch(before: Mapping[str, FileImage], after: Mapping[str, FileImage]) -> bytes:
    """Return the patch that leads from one to the other, empty where they are the same; blocking.

    git compares them in an empty repository of its own: neither filters nor attributes of a project or a
    person have a say.

    :raises WorkspaceError: git is not there or failed.
    """
    with tempfile.TemporaryDirectory(prefix="tideate-patch-") as folder:
        place = Path(folder)
        _git(place, "init", "--quiet", "--bare", "--template=", ".")
        told = b"".join([*_commit(b"refs/heads/a", before), *_commit(b"refs/heads/b", after)])
        _git(place, "fast-import", "--quiet", given=told)
        return _git(place, *_DIFF)


def _git(place: Path, *arguments: str, given: bytes = b"") -> bytes:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    try:
        done = subprocess.run(  # noqa: S603 fixed words
            [*SAFE_GIT, "-c", f"core.attributesFile={os.devnull}", *arguments],
            cwd=place,
            env={**git_environment(), **own, "GIT_DIR": str(place)},
            input=given,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except FileNotFoundError as error:
        raise WorkspaceError("no patch can be made of the edits without git; install it") from error
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"git made no patch of the edits within {_TIMEOUT:.0f} s") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise WorkspaceError(f"no patch could be made of the edits; git {arguments[0]}: {said}")
    return done.stdout


def _commit(ref: bytes, states: Mapping[str, FileImage]) -> Iterator[bytes]:
    """Yield what `git fast-import` makes a commit of."""
    yield b"commit %s\ncommitter a <a> 0 +0000\ndata 0\n" % ref
    for path, found in states.items():
        kind = found.state.kind
        if kind not in _MODES:
            continue
        mode = "100755" if found.state.mode & 0o100 else _MODES[kind]
        yield b"M %s inline %s\n" % (mode.encode(), _quoted(path))
        yield b"data %d\n%s\n" % (len(found.data), found.data)


def _quoted(path: str) -> bytes:
    special = {ord('"'): rb"\"", ord("\\"): rb"\\", ord("\n"): rb"\n"}
    return b'"%s"' % b"".join(special.get(byte, bytes([byte])) for byte in os.fsencode(path))
