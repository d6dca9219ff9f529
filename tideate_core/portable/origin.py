"""Origin of a bundle: project, checked-out commit, and the files that the run read and wrote."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import EventName
from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.git import find_repository, run_git
from tideate_core.portable.bundle_format import Origin, Record, SeenFile, blob_name
from tideate_core.project import real_path
from tideate_core.workspace import Root, name_problem, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.store import RunRows

GIT_WITHIN: Final = 5.0
"""Maximum seconds for one git command."""
MOST_SEEN: Final = 2_000
"""Maximum number of listed files."""
LARGEST_SEEN: Final = 32 << 20
"""Maximum bytes of a compared file."""
_NAMES: Final = ("path", "file", "paths", "files")
"""Arguments of tools that name files."""


def find_origin(root: Path, version: str, at: int) -> Origin:
    """Return the origin of a new bundle; blocking.

    :param at: milliseconds since the epoch.
    """
    head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    first = _git(root, "rev-list", "--max-parents=0", "HEAD") if head else []
    name = real_path(root).name.encode("utf-8", "replace").decode()
    return Origin(
        project=name or "project",
        first_commit=min(first) if first else None,
        base=head[0] if head else None,
        made_at=max(0, at),
        version=version,
    )


def has_commit(root: Path, commit: str) -> bool:
    """Tell whether a project's repository has a commit; blocking."""
    return bool(_git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"))


def _git(root: Path, *arguments: str) -> list[str]:
    """Return the words that git prints; none without a repository, a commit or git."""
    try:
        done = run_git(find_repository(real_path(root)), *arguments, cwd=root, patience=GIT_WITHIN)
    except WorkspaceError:
        return []
    return [] if done.status else done.out.decode("ascii", "replace").split()


def seen_files(root: Path, rows: Sequence[RunRows], journal: Sequence[Record]) -> list[SeenFile]:
    """Return the files that a run wrote and read, with their current content; blocking."""
    place = Root(root)
    written = dict.fromkeys(file.path for record in journal for file in record.files)
    read = dict.fromkeys(name for one in rows for name in _read_names(one, place))
    names = [*written, *(name for name in read if name not in written)][:MOST_SEEN]
    return [
        SeenFile(path=name, digest=content_digest(place, name), written=name in written)
        for name in names
        if not name_problem(name) and _is_utf8(name)
    ]


def content_digest(root: Root, name: str) -> str | None:
    """Return the digest of a file's content; None if there is none, or it is very large."""
    try:
        image = read_image_nofollow(root.resolve(name), LARGEST_SEEN)
    except (OSError, WorkspaceError):
        return None
    return blob_name(image.data) if image.state.kind == "file" else None


def _read_names(rows: RunRows, root: Root) -> Iterator[str]:
    context = rows.run["request"].get("context") or {}
    buffer = context.get("buffer")
    if isinstance(buffer, dict) and isinstance(buffer.get("path"), str):
        yield from _relative(buffer["path"], root)
    for row in rows.tables["workflow_events"]:
        arguments = row["data"].get("arguments")
        if row["name"] == EventName.TOOL_CALLED.value and isinstance(arguments, dict):
            for text in _texts(arguments):
                yield from _relative(text, root)


def _texts(arguments: dict[str, Any]) -> Iterator[str]:
    for name in _NAMES:
        value = arguments.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                yield one


def _relative(text: str, root: Root) -> Iterator[str]:
    try:
        path = root.resolve(text) if text else None
        if path is not None and path.is_file():
            yield str(PurePosixPath(root.relative(path)))
    except (OutsideRoot, OSError, ValueError):
        return  # a model may give any text


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
