"""Scratch copy directories: kept for living owners, removed for dead ones regardless of their content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.snapshots.scratch.places import (
    claim_place,
    move_to_place,
    release_place,
    remove_tree,
    sweep_places,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_a_dead_owner_left_goes_and_a_living_ones_stays(private: Path) -> None:
    dead, handle = claim_place(private)
    (dead / "upper").mkdir()
    living, kept = claim_place(private)
    os.close(handle)
    assert sweep_places(private) == []
    assert (dead.exists(), living.exists()) == (False, True)
    release_place(living, kept)
    assert not private.exists()


def test_a_directory_moved_there_stays_while_its_owner_lives(private: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    place, handle = move_to_place(source, private)
    assert sweep_places(private) == []
    assert ((place / "inner").exists(), source.exists()) == (True, False)
    os.close(handle)
    assert sweep_places(private) == []
    assert not place.exists()


def test_what_its_owner_removes_during_the_search_is_accepted(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, handle = claim_place(private)
    (private / "file").write_text("")
    (private / "link").symlink_to(place)
    listed = [place, private / "file", private / "link"]
    monkeypatch.setattr(type(private), "iterdir", lambda _: iter(listed))
    release_place(place, handle)
    assert sweep_places(private) == []
    assert (private / "file").exists()


def test_a_directory_is_private_and_new(private: Path) -> None:
    places = [claim_place(private) for _ in range(3)]
    assert len({place for place, _ in places}) == 3
    assert {place.stat().st_mode & 0o777 for place, _ in places} == {0o700}
    for place, handle in places:
        release_place(place, handle)


def test_what_cannot_be_removed_is_named(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, handle = claim_place(private)
    os.close(handle)

    def refuse(_: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("tideate_core.snapshots.scratch.places.remove_tree", refuse)
    assert sweep_places(private) == [f"{place} cannot be removed: Operation not permitted"]


def test_a_tree_goes_whatever_its_modes_depth_and_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("1")
    top = tmp_path / "top"
    deep = top
    for _ in range(30):
        deep = deep / ("n" * 100)
    deep.mkdir(parents=True)
    (deep / "file").write_text("1")
    (top / "link").symlink_to(outside)
    (deep / "link").symlink_to(outside)
    os.mkfifo(top / "pipe")
    (top / "file").hardlink_to(outside / "file")
    for directory in (deep, *deep.parents):
        if directory.is_relative_to(top):
            directory.chmod(0)
    remove_tree(top)
    assert not top.exists()
    assert (outside / "file").read_text() == "1"


def test_a_tree_that_is_not_there_is_removed(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nowhere")
