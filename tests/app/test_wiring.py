"""The root that is named, and a file with a range of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.app.wiring import locate_project, open_project, read_file_context, split_range
from tideate_core.errors import ConfigError, InvalidInput, OutsideRoot
from tideate_core.workflows import Selection

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("argument", "path", "selection"),
    [
        ("a.py", "a.py", None),
        ("a.py:3", "a.py", Selection(start=3, end=3)),
        ("a.py:3-5", "a.py", Selection(start=3, end=5)),
        ("a:b.py:3-5", "a:b.py", Selection(start=3, end=5)),
        ("a.py:0", "a.py:0", None),
        ("two\nlines:4.py:3-5", "two\nlines:4.py", Selection(start=3, end=5)),
        ("\n:3", "\n", Selection(start=3, end=3)),
        (f"{'x' * 5000}:3", "x" * 5000, Selection(start=3, end=3)),
    ],
)
def test_a_range_is_split_from_its_path(argument: str, path: str, selection: Selection | None) -> None:
    assert split_range(argument) == (path, selection)


def test_a_file_of_exactly_that_name_is_taken_whole(root: Path) -> None:
    named = root / "a.py:3"
    named.write_text("1\n")
    assert split_range(str(named)) == (str(named), None)


def test_a_range_may_not_run_backwards() -> None:
    with pytest.raises(InvalidInput, match="ends before it begins"):
        split_range("a.py:5-3")


def test_a_root_that_is_named_has_to_be_a_directory(root: Path) -> None:
    assert locate_project(str(root)) == root
    with pytest.raises(ConfigError, match="no such directory"):
        locate_project(str(root / "gone"))


async def test_a_file_without_a_range_is_selected_as_a_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.py").write_text("one\ntwo\n")
    (root / "empty.py").write_text("")
    monkeypatch.chdir(root)
    project = open_project(str(root))
    context = await read_file_context("a.py", project)
    assert (context.selection, context.buffer and context.buffer.filetype) == (
        Selection(start=1, end=2),
        "python",
    )
    assert (await read_file_context("a.py:2", project)).selection == Selection(start=2, end=2)
    assert (await read_file_context("empty.py", project)).selection is None
    assert (await read_file_context(None, project)).buffer is None


async def test_a_file_outside_of_the_project_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    with pytest.raises(OutsideRoot, match="--root names the project"):
        await read_file_context(str(tmp_path / "other.py"), open_project(str(root)))
