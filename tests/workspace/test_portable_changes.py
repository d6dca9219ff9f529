"""A run's journal in a portable form: buffers, kinds and merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.buffers import Buffers
from tideate_core.workspace import (
    ABSENT,
    FileChange,
    FileImage,
    Journal,
    MergedJournals,
    PortableFile,
    PortableRecord,
    Root,
    Workspace,
    merge_image,
    merge_journals,
    portable_journal,
)

if TYPE_CHECKING:
    from pathlib import Path

RUN = "a" * 32


def file(text: str | bytes, mode: int = 0o644) -> FileImage:
    return FileImage.of_file(text.encode() if isinstance(text, str) else text, mode)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("a\nb\n", "A\nb\n", "A\nb\n", "A\nb\n"),
        ("a\nb\n", "A\nb\n", "a\r\nb\r\n", "A\r\nb\r\n"),
        ("a\nb\n", "A\nb\n", "A\r\nb\r\n", "A\r\nb\r\n"),
        ("a\nb\n", "A\nb\n", "x\nb\n", None),
        (b"\0a", b"\0b", b"\0a", b"\0b"),
        (b"\0a", b"\0b", b"\0c", None),
        ("a\n", None, "a\r\n", None),
        ("a\n", None, "b\n", "conflict"),
        (None, "a\n", "b\n", "conflict"),
        (None, "a\n", "a\n", "a\n"),
    ],
)
def test_a_change_is_merged_into_another_tree(
    base: str | bytes | None, ours: str | bytes | None, theirs: str | bytes, merged: str | bytes | None
) -> None:
    images = [FileImage(ABSENT) if one is None else file(one) for one in (base, ours, theirs)]
    found = merge_image(*images)
    if merged == "conflict" or (merged is None and ours is not None):
        assert found is None
    else:
        assert found is not None
        assert found.state.holds_same_as((FileImage(ABSENT) if merged is None else file(merged)).state)


def test_the_mode_of_the_other_tree_stays_but_for_what_the_run_made_executable() -> None:
    kept = merge_image(file("a\n"), file("b\n"), file("a\n", 0o600))
    assert kept is not None
    assert kept.state.mode == 0o600
    made = merge_image(file("a\n"), file("b\n", 0o755), file("a\n", 0o640))
    assert made is not None
    assert made.state.mode == 0o750


async def moved(workspace: Workspace, private: Path, there: Path) -> tuple[MergedJournals, list[str]]:
    """Return the changes of a run for another tree, and those that are left."""
    assert workspace.root is not None
    journal = portable_journal(Root(workspace.root), Journal(private).records(RUN))
    order = [(RUN, number) for number in range(len(journal.records))]
    return merge_journals(Root(there), {RUN: journal.records}, order), journal.left


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Project, its private state, and another copy of it."""
    for name in ("here", "private", "there"):
        (tmp_path / name).mkdir()
    for name in ("here", "there"):
        (tmp_path / name / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    return tmp_path / "here", tmp_path / "private", tmp_path / "there"


async def test_an_unsaved_change_of_a_buffer_becomes_one_of_its_file(places: tuple[Path, Path, Path]) -> None:
    here, private, there = places
    editor = Buffers()
    number = editor.load(here / "a.txt", "one\ntwo")
    workspace = Workspace(here, buffers=editor, private=private)
    for before, after in (("one\ntwo", "ONE\ntwo"), ("ONE\ntwo", "ONE\nTWO")):
        change = FileChange("a.txt", "modify", before, after, buffer=number)
        (bound,) = await workspace.attach([change])
        await workspace.apply([bound], execution_id=RUN)
    assert (here / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    merged, left = await moved(workspace, private, there)
    assert (merged.conflicts, left) == ({}, [])
    (operation,) = merged.plan.files
    assert (operation.name, operation.after.data) == ("a.txt", b"ONE\r\nTWO\r\n")


async def test_a_buffer_without_a_file_is_left_and_named(places: tuple[Path, Path, Path]) -> None:
    here, private, there = places
    editor = Buffers()
    number = editor.load(None, "one")
    workspace = Workspace(here, buffers=editor, private=private)
    change = FileChange("", "modify", "one", "two", buffer=number, tick=1)
    await workspace.apply([change], execution_id=RUN)
    merged, left = await moved(workspace, private, there)
    assert (merged.plan.files, left) == ([], ["a buffer without a name"])


async def test_content_that_is_known_no_more_is_refused_and_later_records_supply_it(
    places: tuple[Path, Path, Path],
) -> None:
    here, private, there = places
    workspace = Workspace(here, private=private)
    images = (FileImage(ABSENT), file(b"\0\1"))
    await workspace.apply([FileChange("b.bin", "create", None, None, images=images)], execution_id=RUN)
    images = (file(b"\0\1"), file(b"\0\2"))
    await workspace.apply([FileChange("b.bin", "modify", None, None, images=images)], execution_id=RUN)
    merged, _ = await moved(workspace, private, there)
    assert merged.plan.files[0].after.data == b"\0\2"
    (here / "b.bin").write_bytes(b"\0\3")
    with pytest.raises(Exception, match="was changed since the run wrote it"):
        await moved(workspace, private, there)


def test_protected_and_linked_paths_are_conflicts(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    *_, there = places
    (there / "link").symlink_to(tmp_path)
    names = ("link/x.txt", "../x.txt", ".git/config")
    files = tuple(PortableFile(name, FileImage(ABSENT), file("x\n")) for name in names)
    merged = merge_journals(Root(there), {RUN: [PortableRecord(None, files)]}, [(RUN, 0)])
    assert set(merged.conflicts) == set(names)
    assert merged.plan.files == []
