"""Edits as a patch that `git apply` takes: byte for byte, with modes, links, binary files and moves."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.workspace.files import snapshot
from tideate_core.workspace.git import SAFE, environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tideate_core.workspace.files import FileImage

__all__ = ["patch_of", "states_of"]

PATIENCE: Final = 60.0
"""Seconds that git gets for each of its three steps."""
_MODES: Final = {"file": "100644", "link": "120000"}
_DIFF: Final = (
    *("diff-tree", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--src-prefix=a/", "--dst-prefix=b/", "refs/heads/a", "refs/heads/b"),
)


def states_of(root: Path, paths: Iterable[str]) -> dict[str, FileImage]:
    """Read what stands at paths below a root; blocking.

    :raises OSError: something stands there and cannot be read.
    """
    return {path: snapshot(root / path) for path in paths}


def patch_of(before: Mapping[str, FileImage], after: Mapping[str, FileImage]) -> bytes:
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
            [*SAFE, "-c", f"core.attributesFile={os.devnull}", *arguments],
            cwd=place,
            env={**environment(), **own, "GIT_DIR": str(place)},
            input=given,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise WorkspaceError("no patch can be made of the edits without git; install it") from error
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"git made no patch of the edits within {PATIENCE:.0f} s") from error
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
