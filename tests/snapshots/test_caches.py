"""Cache directories by name or tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.snapshots import CacheDirectories
from tideate_core.snapshots.caches import SIGNATURE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "in_cache"),
    [
        ("kept", True),
        ("kept/", True),
        ("kept/3.11/a.json", True),
        ("src/__pycache__/a.pyc", True),
        ("src/__pycache__/", True),
        ("src/a.py", False),
        ("kept.py", False),
        ("forged/a.py", False),
    ],
)
def test_a_cache_holds_what_is_below_it(tmp_path: Path, path: str, *, in_cache: bool) -> None:
    for name, tag in (("kept", SIGNATURE + b"\n# made by a tool\n"), ("forged", b"a cache, believe me")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "CACHEDIR.TAG").write_bytes(tag)
    assert CacheDirectories(tmp_path).contain(path) is in_cache


def test_a_link_in_the_tags_place_makes_no_cache(tmp_path: Path) -> None:
    (tmp_path / "tag").write_bytes(SIGNATURE)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/CACHEDIR.TAG").symlink_to(tmp_path / "tag")
    assert not CacheDirectories(tmp_path).contain("data/a")
