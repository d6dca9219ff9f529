"""Reviews of random trees: rejected changes are reverted or named, and a rollback undoes everything.

The oracle is a tree of its own, a dictionary of paths: it knows nothing of journals, hunks on disk or moves.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.workspace.test_metadata import ACL, acl
from tideate_core.engine import review_and_apply, review_written
from tideate_core.errors import InvalidInput, OutsideRoot, WorkspaceError
from tideate_core.workflows import MISSING, Decision, Declined
from tideate_core.workspace import (
    ABSENT,
    Difference,
    FileChange,
    FileImage,
    Workspace,
    changes_between,
    file_or_link,
    find_moves,
    make_patch,
    patched_images,
    read_image_nofollow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LISTED = b"access control list"
LINES = [b"%d\n" % number for number in range(12)]
CONTENTS = [
    *(b"", b"\n", b"a", b"a\n", b"a\nb", b"\xef\xbb\xbfa\r\nb\r\n", b"\x89PNG\0\xff", b"\0", b"caf\xe9\n"),
    *(b"a\rb\rc\r", b"a\r\nb\nc\r\n", b"a\x0b\nb\xc2\x85c\xe2\x80\xa8\x0c\n"),
    b"".join(LINES),
    b"".join(LINES).replace(b"2\n", b"two\n").replace(b"9\n", b""),
    b"".join(LINES).replace(b"5\n", b"5\r\n").replace(b"11\n", b"eleven"),
    b"".join(LINES).replace(b"0\n", b"0\r\n").replace(b"7\n", b"7\n7.5\n"),
    b"".join(LINES).replace(b"\n", b"\r\n"),
]


@dataclass(frozen=True)
class Node:
    """A file, link or directory of the oracle."""

    kind: str
    data: bytes = b""
    mode: int = 0
    note: bytes = b""
    """Value of an attribute; LISTED: the file has an access control list."""
    linked: bool = False
    """The file has another name, outside of the project; a write makes it a file of its own."""


Tree = dict[str, Node]


def put(tree: Tree, path: str, node: Node) -> None:
    """Set a path's content, replacing anything above or below it."""
    for other in list(tree):
        if other.startswith(f"{path}/") and node.kind != "directory":
            del tree[other]
        if path.startswith(f"{other}/") and tree[other].kind != "directory":
            del tree[other]
    parts = path.split("/")[:-1]
    for end in range(1, len(parts) + 1):
        tree.setdefault("/".join(parts[:end]), Node("directory", mode=0o755))
    tree[path] = node


paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
nodes = st.one_of(
    st.builds(
        Node,
        st.just("file"),
        st.sampled_from(CONTENTS),
        st.sampled_from([0o644, 0o600, 0o755, 0o4755]),
        st.sampled_from([b"", b"", b"note", b"\0\xff", LISTED]),
        st.sampled_from([False, False, True]),
    ),
    st.builds(Node, st.just("link"), st.sampled_from([b"a", b"/", b"../b", b"nowhere"])),
    st.builds(
        Node, st.just("directory"), mode=st.sampled_from([0o755, 0o750]), note=st.sampled_from([b"", b"note"])
    ),
)
entries = st.lists(st.tuples(paths, nodes), max_size=7)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees, the second made of the first by random changes."""
    then: Tree = {}
    for path, node in draw(entries):
        put(then, path, node)
    now = dict(then)
    for path in list(then):
        if path in now and draw(st.booleans()):
            for other in [other for other in now if other == path or other.startswith(f"{path}/")]:
                del now[other]
            if draw(st.booleans()):
                put(now, path, draw(nodes))
    for path, node in draw(entries):
        put(now, path, node)
    return then, now


def lay(root: Path, tree: Tree) -> None:
    for path, node in sorted(tree.items()):
        place = root / path
        if node.kind == "directory":
            place.mkdir()
        elif node.kind == "link":
            place.symlink_to(os.fsdecode(node.data))
        else:
            place.write_bytes(node.data)
            if node.linked:
                outside(root).mkdir(exist_ok=True)
                (outside(root) / path.replace("/", "-")).hardlink_to(place)
        if node.note and has_attributes(root):
            listed = node.note == LISTED
            os.setxattr(place, ACL if listed else "user.note", acl(named=6, mask=7) if listed else node.note)
        if node.kind != "link":
            place.chmod(node.mode)


def outside(root: Path) -> Path:
    """Return the directory of the other names of hard links."""
    return root.parent / "outside"


def other_names(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in outside(root).glob("*")}


def has_attributes(root: Path) -> bool:
    try:
        os.setxattr(root, "user.tried", b"x")
        os.setxattr(root, ACL, acl(named=7, mask=7))
    except (AttributeError, OSError):
        return False
    return True


def seen(root: Path) -> Tree:
    """Return the tree that stands on disk."""
    found: Tree = {}
    for top, directories, files in os.walk(root):
        for name in [*directories, *files]:
            place = Path(top, name)
            mode = stat.S_IMODE(place.lstat().st_mode)
            path = place.relative_to(root).as_posix()
            if place.is_symlink():
                found[path] = Node("link", os.fsencode(place.readlink()))
            elif place.is_dir():
                found[path] = Node("directory", mode=mode, note=noted(place))
            else:
                found[path] = Node("file", place.read_bytes(), mode, noted(place))
    return found


def noted(place: Path) -> bytes:
    names = os.listxattr(place) if hasattr(os, "listxattr") else []
    if ACL in names:
        return LISTED if os.getxattr(place, ACL)[12:20] == acl(named=6, mask=7)[12:20] else b"another list"
    return os.getxattr(place, "user.note") if "user.note" in names else b""


def leaves(tree: Tree) -> Tree:
    return {path: node for path, node in tree.items() if node.kind != "directory"}


def image(tree: Tree, path: str) -> FileImage:
    node = tree.get(path)
    if node is None or node.kind == "directory":
        return FileImage(ABSENT)
    return FileImage.of_link(node.data) if node.kind == "link" else FileImage.of_file(node.data, node.mode)


def difference(then: Tree, now: Tree) -> Difference:
    found = Difference()
    for path in sorted({*leaves(then), *leaves(now)}):
        images = image(then, path), image(now, path)
        if not images[0].state.holds_same_as(images[1].state):
            found.files[path] = images
        modes = images[0].state.mode, images[1].state.mode
        if images[0].state.kind == images[1].state.kind == "file" and modes[0] != modes[1]:
            found.modes[path] = modes
    return found


def moved(found: Difference) -> dict[str, str]:
    gone = {path: then for path, (then, now) in found.files.items() if now.state == ABSENT}
    came = {path: now for path, (then, now) in found.files.items() if then.state == ABSENT}
    same = find_moves(gone, came).items()
    return {n: o for n, o in same if came[n].state.kind == gone[o].state.kind}


def left_over(data: bytes, change: FileChange, rejected: set[int]) -> bytes:
    """Return a text with its rejected hunks restored byte for byte."""
    if rejected == set(range(len(change.hunks))):
        return b""
    lines = (change.before or "").split("\n")
    result: list[str] = []
    at = 0
    for number, hunk in enumerate(change.hunks):
        result += [*lines[at : hunk.start], *(hunk.old if number in rejected else hunk.new)]
        at = hunk.start + len(hunk.old)
    text = "\n".join([*result, *lines[at:]])
    if change.exact:
        return text.encode()
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    newline = "\r\n" if b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n") else "\n"
    ends = newline if data.endswith(b"\n") and text else ""
    return bom + (text.replace("\n", newline) + ends).encode()


def wanted_after(then: Tree, now: Tree, changes: list[FileChange], rejected: list[set[int]]) -> Tree:
    """Return the files and links that a review is to leave."""
    wanted = leaves(now)
    for change, numbers in zip(changes, rejected, strict=True):
        if not numbers:
            continue
        source, target = change.path, change.move_to or change.path
        if change.is_of_mode:
            if source in wanted:
                wanted[source] = Node("file", wanted[source].data, then[source].mode, wanted[source].note)
            continue
        before = leaves(then).get(source)
        present = leaves(now).get(target)
        if target != source:
            wanted.pop(target, None)
        if before is None:
            wanted.pop(source, None)
            continue
        data = before.data
        if not change.whole and present is not None:
            data = left_over(present.data, change, numbers) or before.data
        mode, note = before.mode, b""
        if present is not None and present.kind == before.kind == "file":
            # what replaces or moves a file has its attributes; a moved one's own mode comes back
            note = present.note
            mode = before.mode if target != source else wanted.get(source, present).mode
        wanted[source] = Node(before.kind, data, mode, note)
    return wanted


def fits(tree: Tree) -> bool:
    """Tell whether no path is below a file or a link."""
    return not any(other != path and other.startswith(f"{path}/") for path in tree for other in tree)


class Person:
    """A step of a run with a person who rejects some hunks."""

    execution_id = "review"
    refuses_executed = demonstration = False
    revisions = attempt = 0

    def __init__(self, workspace: Workspace, data: st.DataObject) -> None:
        self.workspace = workspace
        self.rejected: list[set[int]] = []
        self.notices: list[str] = []
        self._data = data

    async def confirm(self, _kind: str, _message: str, *, payload: dict[str, Any], **_: Any) -> Decision:
        files: list[dict[str, Any]] = []
        self.rejected.clear()
        for file in payload["files"]:
            whole = file["action"] != "modify" or file.get("whole")
            count = 1 if whole else len(file["hunks"])
            chosen = self._data.draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count))
            every = self._data.draw(st.booleans())
            self.rejected.append(set(range(count)) if every else chosen)
            files.append(
                {
                    "path": file["path"],
                    "accepted": sorted(set(range(count)) - self.rejected[-1]),
                    "rejected": sorted(self.rejected[-1]),
                }
            )
        return Decision(True, {"files": files})

    def notice(self, words: str, **_: Any) -> None:
        self.notices.append(words)

    def changed(self, *_: Any) -> None:
        pass

    def gate(self, *_: Any) -> None:
        pass

    def numbered(self, name: str) -> str:
        return name

    def recall(self, _key: str) -> Any:
        return MISSING

    async def remember(self, *_: Any) -> None:
        pass

    async def earlier(self) -> None:
        return None


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    where = Path(os.environ.get("TIDEATE_PROPERTY_TMP") or tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="tideate-review-", dir=where) as directory:
        yield Path(directory).resolve()


def project(base: Path, tree: Tree) -> tuple[Path, Workspace]:
    shutil.rmtree(base / "case", ignore_errors=True)
    root = base / "case" / "project"
    root.mkdir(parents=True)
    lay(root, tree)
    return root, Workspace(root, private=base / "case" / "private")


@given(pair=trees(), data=st.data())
def test_a_review_reverts_what_is_rejected_and_its_rollback_brings_it_back(
    base: Path, pair: tuple[Tree, Tree], data: st.DataObject
) -> None:
    then, now = pair
    root, workspace = project(base, now)
    start, others = seen(root), other_names(root)
    found = difference(then, now)
    # git, which finds moves, is not asked each time
    moves = moved(found) if data.draw(st.integers(0, 7)) == 0 else {}
    changes = changes_between(found, moves)
    if not changes:
        return
    person = Person(workspace, data)
    try:
        done = asyncio.run(review_written(person, changes, "since then"))  # type: ignore[arg-type]
    except WorkspaceError as error:
        assert seen(root) == start, error
        assert not fits(wanted_after(then, start, changes, person.rejected)), error
        return
    wanted = wanted_after(then, start, changes, person.rejected)
    after = leaves(seen(root))
    if done.left:
        assert not fits(wanted), done.left
        named = " ".join(done.left.values())
        assert all(path in done.left or path in named or after[path] == wanted.get(path) for path in after)
        for path in {*after, *wanted}:
            assert after.get(path) in (wanted.get(path), leaves(start).get(path))
    else:
        assert after == wanted
    if workspace.has_journal("review"):
        asyncio.run(workspace.rollback("review"))
    assert (seen(root), other_names(root)) == (start, others)


@given(pair=trees(), by_patch=st.integers(0, 3))
def test_changes_applied_lead_from_one_tree_to_the_other_and_back(
    base: Path, pair: tuple[Tree, Tree], by_patch: int
) -> None:
    then, now = pair
    root, workspace = project(base, then)
    start, others = seen(root), other_names(root)
    found = difference(then, now)
    patched = by_patch == 0 and bool(found.files) and take_from_patch(root, found)
    changes = changes_between(found, {})
    applied = asyncio.run(workspace.apply(changes, execution_id="run"))
    # a patch knows of a new file's mode only whether it is executed
    shown = 0o100 if patched else 0o7777
    result, goal = (
        {path: (node.kind, node.data, node.mode & shown) for path, node in leaves(tree).items()}
        for tree in (seen(root), now)
    )
    assert (result, other_names(root)) == (goal, others)
    if len(then) % 2:
        asyncio.run(workspace.revert(applied))
    elif changes:
        asyncio.run(workspace.rollback("run"))
    assert (seen(root), other_names(root)) == (start, others)


@settings(max_examples=settings().max_examples // 2)  # each starts git
@given(pair=trees(), data=st.data())
def test_what_a_review_accepts_of_a_patch_is_landed_and_rolled_back(
    base: Path, pair: tuple[Tree, Tree], data: st.DataObject
) -> None:
    then, now = pair
    root, workspace = project(base, then)
    start, others = seen(root), other_names(root)
    found = difference(then, now)
    found.modes.clear()
    if not found.files or not take_from_patch(root, found):
        return
    changes = changes_between(found, {})
    person = Person(workspace, data)
    try:
        asyncio.run(review_and_apply(person, changes))  # type: ignore[arg-type]
    except (WorkspaceError, Declined):
        assert (seen(root), other_names(root)) == (start, others)
        return
    after = leaves(seen(root))
    for change, rejected in zip(changes, person.rejected, strict=True):
        count = 1 if change.whole or change.action != "modify" else len(change.hunks)
        if len(rejected) == count:
            assert after.get(change.path) == leaves(start).get(change.path)
        elif not rejected:
            wanted = found.files[change.path][1]
            assert (after[change.path].data if change.path in after else b"") == wanted.data
    untouched = leaves(start).keys() - {change.path for change in changes}
    assert [path for path in untouched if after.get(path) != start[path]] == []
    asyncio.run(workspace.rollback("review"))
    assert (seen(root), other_names(root)) == (start, others)


def take_from_patch(root: Path, found: Difference) -> bool:
    """Take the images after it from a patch; false where git cannot apply it, which is refused."""
    before = {path: images[0] for path, images in found.files.items()}
    after = {path: images[1] for path, images in found.files.items()}
    patch = make_patch(before, after)
    if not patch:
        return False
    try:
        _, made, left = patched_images(patch, lambda path: read_below(root, path))
    except (InvalidInput, OutsideRoot) as error:
        # git follows no link, even if the patch removes it
        assert any(image.state.kind == "link" for image in before.values())
        assert "symbolic link" in str(error) or isinstance(error, OutsideRoot)
        return False
    assert not left
    assert {path: one.data for path, one in made.items() if path in after} == {
        path: one.data for path, one in after.items() if path in made
    }
    found.files.update({path: (before[path], one) for path, one in made.items() if path in before})
    return True


def read_below(root: Path, path: str) -> FileImage:
    return file_or_link(read_image_nofollow(root / path))
