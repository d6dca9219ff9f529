"""Files are read unmodified: whole, by section or by lines; large ones are cut, binary ones rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.harness.buffers import Buffers
from tideate_core.errors import ContextResolutionError, NotText, WorkspaceError
from tideate_core.mentions import ContextResolver
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("heading", ["Errors", "errors", "ERRORS"])
async def test_a_section_is_a_heading_with_what_is_below_it(
    root: Path, configure: Callable[..., None], heading: str
) -> None:
    configure(Errors=f"doc/guide.md#{heading}")
    item = await ContextResolver(root).resolve("@Errors")
    assert (item.type, item.content) == ("section", "## Errors\n\nThey are told.\n\n")
    assert item.about == "section 'Errors', lines 5-8"


async def test_a_section_keeps_its_line_ends(root: Path, configure: Callable[..., None]) -> None:
    (root / "doc" / "dos.md").write_bytes(b"# A\r\nx\r\n# B\r\ny")
    configure(A="doc/dos.md#a", B="doc/dos.md#b")
    items = await ContextResolver(root).resolve_all(["@A", "@B"])
    assert [item.content for item in items] == ["# A\r\nx\r\n", "# B\r\ny"]


async def test_a_missing_heading_tells_the_nearest(root: Path, configure: Callable[..., None]) -> None:
    configure(Errors="doc/guide.md#Erors", Code="src/one.py#one")
    with pytest.raises(ContextResolutionError, match="no heading 'Erors'; did you mean 'Errors'"):
        await ContextResolver(root).resolve("@Errors")
    with pytest.raises(ContextResolutionError, match="not a Markdown file"):
        await ContextResolver(root).resolve("@Code")


async def test_a_file_with_a_hash_in_its_name_is_the_file(root: Path, configure: Callable[..., None]) -> None:
    (root / "doc" / "c#.md").write_text("sharp")
    configure(Sharp="doc/c#.md")
    assert (await ContextResolver(root).resolve("@Sharp")).content == "sharp"


@pytest.mark.parametrize(
    ("mention", "content", "about"),
    [
        ("@file:src/one.py:1-2", "def one():\n    return 1\n", "lines 1-2"),
        ("@file:src/one.py:5", "def two():\n", "lines 5-5"),
        ("@file:src/one.py:6-99", "    return 2\n", "lines 6-6 (it has no more)"),
        ('@file:"src/one.py":3-3', "\n", "lines 3-3"),
    ],
)
async def test_lines_of_a_file(root: Path, mention: str, content: str, about: str) -> None:
    item = await ContextResolver(root).resolve(mention)
    assert (item.path, item.type, item.content, item.about) == ("src/one.py", "section", content, about)


@pytest.mark.parametrize(
    ("mention", "words"),
    [
        ("@file:src/one.py:9-10", "line 9 does not exist: src/one.py has 6"),
        ("@file:src/one.py:3-2", "ends before it begins"),
        ("@file", "needs a path"),
        ("@file:src/oen.py", "did you mean 'src/one.py'"),
        ("@tree:nowhere", "not a folder"),
        ("@symbols:logo.bin", "is not known"),
    ],
)
async def test_what_cannot_be_is_told(root: Path, mention: str, words: str) -> None:
    (root / "logo.bin").write_bytes(b"\0")
    with pytest.raises(ContextResolutionError, match=words):
        await ContextResolver(root).resolve(mention)


async def test_a_file_with_blanks_or_a_range_in_its_name(root: Path) -> None:
    (root / "my file.txt").write_text("blank")
    (root / "log:10-12").write_text("colon")
    items = await ContextResolver(root).resolve_all(['@file:"my file.txt"', "@file:log:10-12"])
    assert [item.content for item in items] == ["blank", "colon"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\0\x01", "is binary"),
        (b"fine\ncaf\xe9\n", r"not UTF-8 \(byte 8, in line 2\)"),
        (b"\xff\xfea\x00", "is binary"),
    ],
)
async def test_what_is_no_text_is_refused_with_words(root: Path, content: bytes, words: str) -> None:
    (root / "data").write_bytes(content)
    with pytest.raises(NotText, match=f"data.*{words}"):
        await ContextResolver(root).resolve("@file:data")


async def test_a_directory_is_refused_with_words(root: Path) -> None:
    with pytest.raises(WorkspaceError, match="src is not a regular file; `@tree:src` lists"):
        await ContextResolver(root).resolve("@file:src")


async def test_a_larger_file_is_cut_at_a_line_and_that_is_said(root: Path) -> None:
    (root / "big.txt").write_text("ä line\n" * 100)
    item = await ContextResolver(root, max_bytes=50).resolve("@file:big.txt")
    assert item.content == "ä line\n" * 6
    assert item.cut == "only the first 48 of 800 bytes were read"


@pytest.mark.slow
@given(st.text(min_size=1, max_size=40), st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_wherever_a_file_is_cut_its_beginning_stays_text(root: Path, text: str, limit: int) -> None:
    text = text.replace("\0", "")
    (root / "cut.txt").write_bytes(text.encode())
    item = await ContextResolver(root, max_bytes=limit).resolve("@file:cut.txt")
    assert text.startswith(item.content)
    assert (item.content == text) is (item.cut == "")


async def test_a_cut_file_with_a_wrong_byte_is_still_refused(root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9 and more without a line end")
    with pytest.raises(NotText):
        await ContextResolver(root, max_bytes=20).resolve("@file:latin.txt")


async def test_unsaved_buffers_are_seen_and_saved_ones_are_read_raw(root: Path) -> None:
    editor = Buffers()
    editor.load(root / "src" / "one.py", "typed = 1", modified=True)
    editor.load(root / "doc" / "guide.md", "as the buffer has it")
    resolver = ContextResolver(root, workspace=Workspace(root, buffers=editor))
    unsaved, saved = await resolver.resolve_all(["@file:src/one.py", "@file:doc/guide.md"])
    assert (unsaved.content, unsaved.about) == ("typed = 1", "not saved yet")
    assert saved.content.startswith("# Guide")
