"""Changes during checks: caches are ignored, long diffs are cut."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from tideate_core.builtin.task.foreign_changes import LONGEST_DIFF, _details, without_caches
from tideate_core.snapshots import ChangesSince
from tideate_core.snapshots.caches import SIGNATURE

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.snapshots import FileDiff
    from tideate_core.workspace import FileImage

IMAGES = cast("tuple[FileImage, FileImage]", (None, None))


def diff(path: str) -> FileDiff:
    return cast("FileDiff", SimpleNamespace(path=path))


def test_what_is_in_a_cache_is_nobodys_change(tmp_path: Path) -> None:
    (tmp_path / ".mypy_cache").mkdir()
    (tmp_path / ".mypy_cache" / "CACHEDIR.TAG").write_bytes(SIGNATURE + b"\n# made by a tool\n")
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged" / "CACHEDIR.TAG").write_text("a cache, believe me")
    paths = ["src/a.py", ".mypy_cache/3.11/a.json", "src/__pycache__/a.pyc", "forged/b.py"]
    since = ChangesSince(
        dict.fromkeys(paths, IMAGES),
        {".mypy_cache": (0o700, 0o755), "forged": (0o700, 0o755)},
        [".mypy_cache/3.11", "src/__pycache__", "src/new"],
        {"src/old": 0o755},
        [diff(path) for path in paths],
    )
    left = without_caches(since, tmp_path)
    assert list(left.files) == ["src/a.py", "forged/b.py"]
    assert (list(left.modes), left.made, list(left.removed)) == (["forged"], ["src/new"], ["src/old"])
    assert [one.path for one in left.diffs] == ["src/a.py", "forged/b.py"]


def test_nothing_is_left_where_only_caches_changed(tmp_path: Path) -> None:
    since = ChangesSince({"__pycache__/a.pyc": IMAGES}, {}, ["__pycache__"], {}, [])
    assert not without_caches(since, tmp_path)


def test_a_long_difference_is_cut_and_says_so() -> None:
    diffs = [SimpleNamespace(status="modified", path=f"{n}.py", changes="x" * LONGEST_DIFF) for n in range(3)]
    told = _details(cast("ChangesSince", SimpleNamespace(diffs=diffs)))
    assert "More is not shown." in told
    assert "2.py" not in told
