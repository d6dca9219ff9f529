"""Owner, access control list and extended attributes of changed, moved or deleted files."""

from __future__ import annotations

import errno
import os
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.workspace.kinds import KINDS, lay_kinds
from tests.workspace.project import apply_changes, creating, deleting, edit, moving
from tideate_core.cli.files import write_output, write_text
from tideate_core.errors import WorkspaceError
from tideate_core.project import Documents
from tideate_core.workspace import FileWriter, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

ACL = "system.posix_acl_access"
NOBODY = 2**32 - 1
EDIT = edit("a.txt", "a\nb\nc", "a\nB\nc")


def acl(*, named: int, mask: int) -> bytes:
    """Return an access control list: user 1234 has `named`, the owning group nothing."""
    entries = ((1, 6, NOBODY), (2, named, 1234), (4, 0, NOBODY), (16, mask, NOBODY), (32, 0, NOBODY))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def metadata(path: Path) -> dict[str, Any]:
    found = {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}
    status = path.stat()
    return {**found, "mode": stat.S_IMODE(status.st_mode), "owner": (status.st_uid, status.st_gid)}


def text(path: Path) -> str:
    return path.read_text()


def set_plain(path: Path, mode: int) -> None:
    """Remove a file's list and attributes and set its mode."""
    for name in os.listxattr(path):
        os.removexattr(path, name)
    path.chmod(mode)


@pytest.fixture
def listed(root: Path) -> Path:
    """File with an access control list and an attribute."""
    path = root / "a.txt"
    path.write_text("a\nb\nc\n")
    path.chmod(0o640)
    os.setxattr(path, ACL, acl(named=6, mask=6))
    os.setxattr(path, "user.note", b"keep \0\xff")
    return path


async def test_an_edit_and_its_rollback_keep_them(workspace: Workspace, listed: Path) -> None:
    before = metadata(listed)
    await apply_changes(workspace, EDIT)
    assert (text(listed), metadata(listed)) == ("a\nB\nc\n", before)
    await workspace.rollback("run")
    assert (text(listed), metadata(listed)) == ("a\nb\nc\n", before)


@pytest.mark.parametrize("mode", [0o660, 0o600])
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda root: write_text(root / "d/a.txt", "new", replaces="old"), id="machine format"),
        pytest.param(lambda root: write_output(str(root / "d/a.txt"), "new", None), id="-o"),
        pytest.param(lambda root: Documents(root, "d").write("a.txt", b"new"), id="document"),
    ],
)
def test_other_writers_keep_them(root: Path, write: Callable[[Path], object], mode: int) -> None:
    path = root / "d/a.txt"
    path.parent.mkdir()
    path.write_text("old")
    os.setxattr(path, ACL, acl(named=6, mask=6))
    os.setxattr(path, "user.note", b"keep")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    before = metadata(path)
    write(root)
    assert (text(path), metadata(path)) == ("new", before)


async def test_a_moved_file_has_them_at_its_new_place_and_back(
    root: Path, workspace: Workspace, listed: Path
) -> None:
    before = metadata(listed)
    change = moving("a.txt", "b.txt", "a\nb\nc", "a\nB\nc")
    await apply_changes(workspace, change)
    assert metadata(root / "b.txt") == before
    await workspace.rollback("run")
    assert metadata(listed) == before


async def test_a_deleted_file_comes_back_with_them(workspace: Workspace, listed: Path) -> None:
    if os.geteuid() == 0:
        os.chown(listed, 1234, 4321)
    before = metadata(listed)
    await apply_changes(workspace, deleting("a.txt", "a\nb\nc"))
    await workspace.rollback("run")
    assert metadata(listed) == before


async def test_a_directory_that_a_file_replaced_comes_back_with_them(
    root: Path, workspace: Workspace
) -> None:
    lay_kinds(root)
    os.setxattr(root / "d/empty", "user.note", b"keep")
    os.setxattr(root / "d/x", "user.note", b"keep")
    before = metadata(root / "d/empty"), metadata(root / "d/x")
    await apply_changes(workspace, *KINDS)
    await workspace.rollback("run")
    assert (metadata(root / "d/empty"), metadata(root / "d/x")) == before


async def test_a_file_without_a_list_gets_none_of_its_directory(root: Path, workspace: Workspace) -> None:
    path = root / "a.txt"
    path.write_text("a\nb\nc\n")
    path.chmod(0o640)
    before = metadata(path)
    os.setxattr(root, "system.posix_acl_default", acl(named=6, mask=6))
    create = creating("new.txt", "new")
    await apply_changes(workspace, EDIT, create)
    assert metadata(path) == before
    assert ACL in os.listxattr(root / "new.txt")


@pytest.mark.usefixtures("listed")
async def test_a_moved_directory_keeps_them(root: Path) -> None:
    (root / "d").mkdir()
    (root / "a.txt").rename(root / "d/a.txt")
    os.setxattr(root / "d", "user.note", b"keep")
    before = metadata(root / "d"), metadata(root / "d/a.txt")
    await FileWriter(root).move("d", "e", execution_id="run")
    assert (metadata(root / "e"), metadata(root / "e/a.txt")) == before


async def test_an_attribute_that_cannot_be_kept_stops_the_edit_by_name(
    workspace: Workspace, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = metadata(listed)

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(WorkspaceError, match=r"a\.txt cannot be written: its attribute \S+ cannot be kept"):
        await apply_changes(workspace, EDIT)
    assert (text(listed), metadata(listed)) == ("a\nb\nc\n", before)


@pytest.mark.parametrize(("mode", "kept"), [(0o4755, 0o755), (0o2755, 0o755), (0o640, 0o640)])
async def test_without_its_owner_a_file_gives_nobodys_rights(
    workspace: Workspace, listed: Path, monkeypatch: pytest.MonkeyPatch, mode: int, kept: int
) -> None:
    set_plain(listed, mode)
    real = os.fstat

    def of_another(handle: int) -> os.stat_result:
        found = real(handle)
        if found.st_size and Path(f"/proc/self/fd/{handle}").readlink() == listed:
            return os.stat_result((*found[:4], 1234, 4321, *found[6:10]))
        return found

    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fstat", of_another)
    monkeypatch.setattr(os, "fchown", refuse)
    await apply_changes(workspace, EDIT)
    assert (text(listed), metadata(listed)["mode"]) == ("a\nB\nc\n", kept)
