"""Create patches from file images and apply patches to images, with git in temporary directories."""

from __future__ import annotations

import base64
import os
import re
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput, OutsideRoot, WorkspaceError
from tideate_core.git import (
    SAFE_OPTIONS,
    config_options,
    empty_repository,
    parse_name_status,
    run_git,
    without_repository,
)
from tideate_core.project import real_path
from tideate_core.util.escaping import label
from tideate_core.workspace.file_images import FileImage, file_or_link, read_image, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tideate_core.git import GitOutput, Repository


LARGEST_RESULT: Final = 32 << 20
"""Bytes of one resulting file."""
LARGEST_RESULTS: Final = 128 << 20
"""Bytes of all resulting files."""
_BINARY: Final = b"GIT binary patch"
_HUNK: Final = re.compile(rb"(literal|delta) (\d{1,18})\r?")
_HUNK_LIKE: Final = re.compile(rb"(?:literal|delta) [ \t+-]*\d")
"""A number that git would read; other lines are of a message between two patches."""
"""Head of a binary hunk as git writes it; git also reads other forms of the number."""
_SIZES: Final = 20
"""Most bytes of the two sizes at the start of a delta."""


def refuse_large_results(patch: bytes, copied: Iterable[int] = ()) -> None:
    """Reject a patch with results too large to review.

    The size of a text is bounded by its source and the patch, so only binary hunks and copies count.

    :param copied: bytes of each file that the patch copies, once for each copy.
    :raises InvalidInput: one file or all files together are too large.
    """
    total = 0
    for size in (*_binary_sizes(patch), *copied):
        if size > LARGEST_RESULT:
            raise InvalidInput(
                f"the patch makes a file of {size >> 20} MiB, and files of more than "
                f"{LARGEST_RESULT >> 20} MiB are not reviewed; apply it with `git apply`"
            )
        total += size
    if total > LARGEST_RESULTS:
        raise InvalidInput(
            f"the patch makes files of {total >> 20} MiB together, and more than "
            f"{LARGEST_RESULTS >> 20} MiB are not reviewed; split it, or apply it with `git apply`"
        )


def _binary_sizes(patch: bytes) -> Iterator[int]:
    """Yield the size of each binary result.

    :raises InvalidInput: a size is not written as git writes it.
    """
    at = patch.find(_BINARY)
    while at >= 0:
        # up to the next file; no content line starts with these words
        end = patch.find(b"\ndiff --git ", at)
        lines = patch[at : None if end < 0 else end].split(b"\n")
        for number, line in enumerate(lines):
            if not _HUNK_LIKE.match(line):
                continue
            found = _HUNK.fullmatch(line)
            if found is None:
                raise InvalidInput("the patch has a binary hunk with an odd size; apply it with `git apply`")
            size = int(found[2])
            yield size
            if found[1] == b"delta" and size <= LARGEST_RESULT:
                yield _result_of_delta(lines, number + 1)
        at = patch.find(_BINARY, end) if end >= 0 else -1


def _result_of_delta(lines: Sequence[bytes], start: int) -> int:
    """Return the size that a delta declares for its result; 0 if git cannot read it either."""
    packed = None
    head = b""
    try:
        for number in range(start, len(lines)):
            line = lines[number].rstrip(b"\r")
            if not line or len(head) >= _SIZES:
                break
            # the first letter encodes the bytes of the line; empty blocks may come first
            count = line[0] - (64 if line[0] < 97 else 70)
            data = base64.b85decode(line[1:])[: max(count, 0)]
            packed = packed or zlib.decompressobj()  # created late: it is slow, and there may be no data
            head += packed.decompress(data, _SIZES - len(head))
    except (ValueError, zlib.error):
        return 0
    _, middle = _number_at(head, 0)
    result, end = _number_at(head, middle)
    if max(middle, end - middle) > _SIZES // 2:  # git writes shorter numbers; this hides the second size
        raise InvalidInput("the patch has a binary hunk with an odd size; apply it with `git apply`")
    return result


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    """Decode a little-endian base-128 number; return it and its end."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if not byte & 0x80:
            break
    return value, at


_UNPREFIXED: Final = re.compile(
    rb'^(?:diff --git (?:(\S.*) \1$|(?!"?[abciow12]/))'
    rb'|--- (?:([^\t\n]+).*\n\+\+\+ \2(?:\t.*)?$|(?!"?[abciow12]/|/dev/null).*\n\+\+\+ ))',
    re.MULTILINE,
)
"""A patch without `a/` and `b/` prefixes, or `i/`, `w/` and other pairs that git may write."""
REJECTED: Final = ".rej"
"""Suffix of the file to which git writes rejected hunks."""
_MOST_SAID: Final = 600
"""Characters of git's error output."""
_ESCAPES: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_EXTENDED_HEADER: Final = (
    *(b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ", b"copy ", b"rename "),
    *(b"similarity index ", b"dissimilarity index ", b"index "),
)
"""Prefixes of the lines between a `diff --git` line and the first hunk."""
_MODES: Final = {"file": "100644", "link": "120000"}
_DIFF: Final = (
    *("diff-tree", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--src-prefix=a/", "--dst-prefix=b/", "refs/heads/a", "refs/heads/b"),
)


def read_images(root: Path, paths: Iterable[str]) -> dict[str, FileImage]:
    """Read the images of paths below a root; blocking.

    :raises OSError: a path exists and cannot be read.
    """
    return {path: read_image(root / path) for path in paths}


def make_patch(before: Mapping[str, FileImage], after: Mapping[str, FileImage]) -> bytes:
    """Return the patch between two sets of images, empty if they are equal; blocking.

    git compares them in an empty repository, so that no filters or attributes of the project or user apply.

    :raises WorkspaceError: git is not installed or failed.
    """
    with _compared(before, after) as repository:
        return _git(repository, *_DIFF)


def find_moves(before: Mapping[str, FileImage], after: Mapping[str, FileImage]) -> dict[str, str]:
    """Detect moved files like `git diff -M`: new path → old path; blocking.

    :param before: removed files, as they were.
    :param after: new files.
    :raises WorkspaceError: git is not installed or failed.
    """
    if not before or not after:
        return {}
    with _compared(before, after) as repository:
        named = ("diff-tree", "-r", "-M", "--name-status", "-z", "refs/heads/a", "refs/heads/b")
        changed = parse_name_status(_git(repository, *named))
        return {names[1]: names[0] for kind, names in changed if kind == "R"}


@contextmanager
def _compared(before: Mapping[str, FileImage], after: Mapping[str, FileImage]) -> Iterator[Repository]:
    with empty_repository() as repository:
        told = b"".join([*_commit(b"refs/heads/a", before), *_commit(b"refs/heads/b", after)])
        _git(repository, "fast-import", "--quiet", given=told)
        yield repository


def _git(repository: Repository, *arguments: str, given: bytes = b"") -> bytes:
    done = _run(repository, *arguments, given=given)
    if done.status:
        raise WorkspaceError(f"no patch could be made of the edits; git {arguments[0]}: {done.said.strip()}")
    return done.out


def _run(repository: Repository, *arguments: str, given: bytes) -> GitOutput:
    """Run git without configuration of the project or the user.

    :raises WorkspaceError: git is not installed or does not answer.
    """
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    attributes = config_options(f"core.attributesFile={os.devnull}")
    return run_git(
        repository,
        *arguments,
        cwd=repository.top,
        given=given,
        options=(*SAFE_OPTIONS, *attributes),
        variables=own,
    )


def patched_images(
    patch: bytes, read: Callable[[str], FileImage]
) -> tuple[dict[str, FileImage], dict[str, FileImage], dict[str, str]]:
    """Return the images of a patch's files before and after it, and the rejected parts by path; blocking.

    git applies the patch to copies in a directory of its own, outside of any repository. Nothing else is
    written.

    :param read: returns the image of a path as the patch names it.
    :raises InvalidInput: it is not a patch, no part of it applies, or a result is too large.
    :raises OutsideRoot: a copy would be outside of that directory.
    :raises WorkspaceError: git cannot be run, or the copies cannot be made.
    """
    try:
        return _patched_images(patch, read)
    except OSError as error:
        raise WorkspaceError(f"the patch cannot be tried on copies: {error.strerror}") from error


def _patched_images(
    patch: bytes, read: Callable[[str], FileImage]
) -> tuple[dict[str, FileImage], dict[str, FileImage], dict[str, str]]:
    said = ""
    refuse_large_results(patch)  # git would hold them in memory as well
    # only one level: with both, a part could apply to files of the same name elsewhere
    level = "-p0" if _UNPREFIXED.search(patch) else "-p1"
    for options in (("-p1",), ("-p0",), (level, "--reject")):  # with and without `a/` and `b/`
        with tempfile.TemporaryDirectory(prefix="tideate-patch-") as folder:
            place = Path(folder, "files")
            place.mkdir()
            apply = ("apply", *options, "--whitespace=nowarn", "--unidiff-zero")
            named, why = _names_in(place, patch, apply[:2])
            if why:
                said = "; ".join(dict.fromkeys(filter(None, (said, why))))
                continue
            sources = _sources(patch)
            before = {name: read(name) for name in dict.fromkeys([*named, *sources])}
            refuse_large_results(patch, (len(before[name].data) for name in sources))
            partly = "--reject" in options
            if partly and not _may_be_partly_applied(patch, before):
                break
            for name, image in before.items():
                _write_copy(place, name, image)
            laid = {name: _with_git_mode(_read_copy(place, name)) for name in before} if partly else {}
            applied = _run(without_repository(place), *apply, given=patch)
            if applied.status > partly:  # status 1: some hunks do not apply
                said = said or _error_lines(applied)
                continue
            after = {name: _with_git_mode(_read_copy(place, name)) for name in before}
            if after != laid:
                same = {name for name in named if after[name] == laid.get(name)}
                return before, after, _left_out(before, same, applied.said.encode()) if partly else {}
    raise InvalidInput(f"the patch does not apply: {said}")


def _names_in(place: Path, patch: bytes, apply: Sequence[str]) -> tuple[list[str], str]:
    """Return the paths in a patch, or the reason why it cannot be used."""
    listed = _run(without_repository(place), *apply, "--numstat", "-z", given=patch)
    if listed.status:
        return [], _error_lines(listed) or "git cannot read it"
    names = [os.fsdecode(one.split(b"\t", 2)[2]) for one in listed.out.split(b"\0") if one]
    odd = next(filter(_is_unsafe, [*names, *_sources(patch)]), None)
    return names, f"{label(odd)}: no plain path below the project" if odd else ""


def _may_be_partly_applied(patch: bytes, before: Mapping[str, FileImage]) -> bool:
    """Return whether git can write rejected hunks without touching links or other files of the patch."""
    names = {name.casefold() for name in before}
    taken = names.union(str(folder) for name in names for folder in PurePosixPath(name).parents)
    if any(f"{name}{REJECTED}" in taken for name in names):
        return False
    return b"120000" not in patch and all(image.state.kind != "link" for image in before.values())


def _left_out(names: Iterable[str], same: Collection[str], said: bytes) -> dict[str, str]:
    """Return the reason for each file that git did not change completely.

    :param same: unchanged files.
    :param said: output of git.
    """
    left: dict[str, str] = {}
    for name in names:
        # git replaces control characters, too
        told = re.escape(re.sub(rb"[\0-\x08\x0b-\x1f\x7f]", b"?", os.fsencode(name)))
        lines = [
            int(found) for found in re.findall(rb"^error: patch failed: %s:(\d+)$" % told, said, re.MULTILINE)
        ]
        why = re.search(rb"^error: %s: (.+)$" % told, said, re.MULTILINE)
        if lines:
            hunks, do = ("the hunk at line", "does") if len(lines) == 1 else ("the hunks at lines", "do")
            left[name] = f"{hunks} {', '.join(map(str, lines))} of the patch {do} not apply"
        elif why:
            left[name] = why[1].decode(errors="replace")[:_MOST_SAID]
        elif name in same:
            left[name] = "the patch changes nothing in it"
    return left


def _with_git_mode(image: FileImage) -> FileImage:
    """Reduce an image's mode to the executable bit."""
    if image.state.kind != "file":
        return image
    return FileImage.of_file(image.data, 0o111 if image.state.mode & 0o100 else 0)


def _error_lines(done: GitOutput) -> str:
    lines = done.said.splitlines()
    return "; ".join(line.removeprefix("error: ") for line in lines if line.startswith("error: "))[
        :_MOST_SAID
    ]


def _sources(patch: bytes) -> list[str]:
    """Return the paths that a patch moves or copies files from."""
    found: list[str] = []
    in_header = False
    for line in patch.split(b"\n"):
        in_header = line.startswith((b"diff --git ", *(_EXTENDED_HEADER if in_header else ())))
        if in_header and (source := re.fullmatch(rb"(?:rename|copy) from (.+?)\r?", line)):
            found.append(os.fsdecode(_unquoted(source[1])))
    return found


def _is_unsafe(name: str) -> bool:
    """Return whether a path is absolute or leads upwards; git only lists it and has not checked."""
    return "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/"))


def _unquoted(name: bytes) -> bytes:
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return re.sub(rb"\\([0-7]{3}|.)", _unescaped, name[1:-1])


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)


def _write_copy(place: Path, name: str, image: FileImage) -> None:
    """Write a copy of a file below a directory.

    :raises OutsideRoot: the copy would be elsewhere.
    """
    path = place / name
    if path.name == ".." or not real_path(path.parent).is_relative_to(real_path(place)):
        raise OutsideRoot(f"{label(name)} is not below the directory that it is copied to")
    if image.state.kind in _MODES:
        path.parent.mkdir(parents=True, exist_ok=True)
    if image.state.kind == "link":
        path.symlink_to(os.fsdecode(image.data))
    elif image.state.kind == "file":
        path.write_bytes(image.data)
        path.chmod(0o755 if image.state.mode & 0o100 else 0o644)


def _read_copy(place: Path, name: str) -> FileImage:
    """Read a copy; absent below a link or a file."""
    return file_or_link(read_image_nofollow(real_path(place) / name))


def _commit(ref: bytes, states: Mapping[str, FileImage]) -> Iterator[bytes]:
    """Yield the input of `git fast-import` for one commit."""
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
