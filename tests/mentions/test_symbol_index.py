"""The index reflects the current files after any change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import write_files
from tideate_core.errors import StoreError
from tideate_core.mentions.symbol_index import AT_ONCE, FORKS, Place, SymbolIndex

if TYPE_CHECKING:
    from pathlib import Path

OLD = 1_600_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write_files(root, {"a.py": "class A:\n    def run(self): ...\n", "b.py": "import a\na.A().run()\n"})
    for name in ("a.py", "b.py"):
        os.utime(root / name, (OLD, OLD))
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> SymbolIndex:
    return SymbolIndex(root, tmp_path / "private")


async def test_definitions_and_files_are_found(index: SymbolIndex) -> None:
    assert await index.update(["a.py", "b.py", "c.md", "gone.py"]) == 2
    assert await index.definitions("run") == [Place("a.py", 2, "A")]
    assert await index.files_with("run") == ["a.py", "b.py"]
    assert await index.definitions("nothing") == []


async def test_only_what_changed_is_read_again(index: SymbolIndex, root: Path) -> None:
    names = ["a.py", "b.py"]
    await index.update(names)
    assert await index.definitions("run") == [Place("a.py", 2, "A")]
    assert await index.update(names) == 0
    write_files(root, {"a.py": "\n\ndef run(): ...\n"})
    assert await index.update(names) == 1
    assert await index.definitions("run") == [Place("a.py", 3, "")]


async def test_a_change_of_the_same_size_at_nearly_the_same_time_is_seen(
    index: SymbolIndex, root: Path
) -> None:
    write_files(root, {"a.py": "def one(): ...\n"})
    status = (root / "a.py").stat()
    await index.update(["a.py"])
    write_files(root, {"a.py": "def two(): ...\n"})
    os.utime(root / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    await index.update(["a.py"])
    assert await index.definitions("two") == [Place("a.py", 1, "")]


async def test_files_that_are_gone_are_forgotten(index: SymbolIndex, root: Path) -> None:
    await index.update(["a.py", "b.py"])
    await index.definitions("run")
    (root / "a.py").unlink()
    await index.update(["a.py", "b.py"])
    assert await index.definitions("run") == []
    assert await index.files_with("run") == ["b.py"]


async def test_another_process_goes_on_with_the_index(index: SymbolIndex, root: Path, tmp_path: Path) -> None:
    await index.update(["a.py", "b.py"])
    again = SymbolIndex(root, tmp_path / "private")
    assert await again.update(["a.py", "b.py"]) == 0
    assert await again.definitions("run") == [Place("a.py", 2, "A")]


@pytest.mark.parametrize("content", [b"no database" * 1_000, b""])
async def test_a_damaged_index_is_made_anew(
    index: SymbolIndex, root: Path, tmp_path: Path, content: bytes
) -> None:
    await index.update(["a.py"])
    for suffix in ("-wal", "-shm"):
        (tmp_path / "private" / f"symbols.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "private" / "symbols.db").write_bytes(content)
    again = SymbolIndex(root, tmp_path / "private")
    assert await again.update(["a.py"]) == 1
    assert await again.definitions("run") == [Place("a.py", 2, "A")]


async def test_a_deleted_index_is_made_anew_by_one_that_is_open(index: SymbolIndex, tmp_path: Path) -> None:
    await index.update(["a.py"])
    (tmp_path / "private" / "symbols.db").rename(tmp_path / "private" / "away")
    assert await index.update(["a.py"]) == 1
    assert await index.definitions("run") == [Place("a.py", 2, "A")]


async def test_an_index_that_cannot_be_kept_says_where(root: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"file": ""})
    with pytest.raises(StoreError, match=r"file/symbols\.db cannot be used"):
        await SymbolIndex(root, tmp_path / "file").update(["a.py"])


async def test_links_and_what_is_no_text_define_nothing(
    index: SymbolIndex, root: Path, tmp_path: Path
) -> None:
    write_files(tmp_path, {"out.py": "def run(): ...\n"})
    (root / "link.py").symlink_to(tmp_path / "out.py")
    (root / "bin.py").write_bytes(b"def run(): ...\n\0")
    (root / "latin.py").write_bytes("def run(): 'é'\n".encode("latin-1"))
    await index.update(["link.py", "bin.py", "latin.py"])
    assert await index.definitions("run") == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [AT_ONCE + 1, FORKS + 1])
async def test_many_files_are_read_by_another_process(root: Path, tmp_path: Path, count: int) -> None:
    names = [f"many/{number:04}.py" for number in range(count)]
    write_files(root, {name: f"def common(): ...\ndef only_{name[5:9]}(): ...\n" for name in names})
    index = SymbolIndex(root, tmp_path / "private")
    told: list[str] = []
    assert await index.update(names, told.append) == count
    assert bool(told) is (count > FORKS)
    assert len(await index.definitions("common")) == count
    assert await index.definitions(f"only_{count - 1:04}") == [Place(names[-1], 2, "")]
