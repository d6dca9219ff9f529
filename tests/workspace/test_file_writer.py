"""Byte-exact writes, new directories and moves: all or nothing, even if killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.workspace.project import tree
from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.workspace import Workspace
from tideate_core.workspace.file_images import write_image
from tideate_core.workspace.file_writer import FileWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = "0" * 32
PUT = "tideate_core.workspace.transaction.write_image"


def files(root: Path) -> dict[str, Any]:
    """Return all files of the user."""
    return {name: entry for name, entry in tree(root).items() if name.partition("/")[0] != ".tideate"}


class _Killed(BaseException):
    """Stops without cleanup, like a signal."""


@pytest.fixture
def full(root: Path) -> Path:
    for name in ("old/a.txt", "old/deep/b.txt", "old/deep/er/c.bin"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode() + b"\0\xff")
    (root / "old/empty").mkdir()
    return root


def stopping(monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
    """Make writing fail after a number of files."""
    left = after

    def put_some(*arguments: Any, **options: Any) -> None:
        nonlocal left
        if not left:
            monkeypatch.setattr(PUT, write_image)
            raise error
        left -= 1
        write_image(*arguments, **options)

    monkeypatch.setattr(PUT, put_some)


@pytest.mark.parametrize("after", range(6))
@pytest.mark.parametrize("error", [OSError(28, "full"), _Killed()], ids=["fails", "killed"])
async def test_a_move_that_ends_in_the_middle_is_none(
    full: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException
) -> None:
    before = files(full)
    stopping(monkeypatch, after, error)
    with pytest.raises((WorkspaceError, _Killed)):
        await FileWriter(full).move("old", "new/place", execution_id=RUN)
    if isinstance(error, _Killed):
        await Workspace(full).rollback(RUN)
    assert files(full) == before


@pytest.mark.parametrize("name", ["../x", ".git/x", "a/.tideate/x", ".GIT", "/etc/x"])
async def test_what_is_outside_or_private_is_not_written(root: Path, name: str) -> None:
    verbatim = FileWriter(root)
    (root / "a.txt").write_text("a")
    before = files(root)
    works: list[Callable[[], Any]] = [
        lambda: verbatim.write(name, b"x", execution_id=RUN),
        lambda: verbatim.make_directory(name, execution_id=RUN),
        lambda: verbatim.move(name, "b", execution_id=RUN),
        lambda: verbatim.move("a.txt", name, execution_id=RUN),
    ]
    for work in works:
        with pytest.raises(OutsideRoot):
            await work()
    assert files(root) == before


async def test_what_it_says_is_what_it_did(root: Path) -> None:
    verbatim = FileWriter(root)
    said = [await verbatim.write("a/b", data, execution_id=RUN) for data in (b"x", b"y", b"y")]
    assert said == ["created", "replaced", "unchanged"]
    assert [await verbatim.make_directory(name, execution_id=RUN) for name in ("a", "c/d")] == [False, True]
    assert await verbatim.move("./a/b", "c/e", execution_id=RUN) == "c/e"
    await Workspace(root).rollback(RUN)
    assert not (root / "a").exists()
    assert not (root / "c").exists()
