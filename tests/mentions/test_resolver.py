"""What mentions resolve to, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workspace.project import Editor
from tideate_core.errors import ConfigError, ContextResolutionError, NotText, OutsideRoot, WorkspaceError
from tideate_core.mentions import Diagnostic, Surroundings
from tideate_core.workspace import ContextItem, ContextResolver, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


async def test_a_configured_name_gives_the_files_raw_content(
    root: Path, configure: Callable[..., None]
) -> None:
    raw = "one\r\ntwo\n\tthree \r\n\ufefffour"
    (root / "doc" / "raw.md").write_bytes(raw.encode())
    configure(Raw="doc/raw.md")
    item = await ContextResolver(root).resolve("@Raw")
    assert item == ContextItem("@Raw", "doc/raw.md", raw, "file", "", "markdown")


@pytest.mark.parametrize("target", ["doc/guide.md", "./doc/guide.md", "src/../doc/guide.md"])
async def test_relative_paths_are_resolved(root: Path, configure: Callable[..., None], target: str) -> None:
    configure(Guide=target)
    assert (await ContextResolver(root).resolve("@Guide")).path == "doc/guide.md"


async def test_an_unknown_name_tells_the_nearest(root: Path, configure: Callable[..., None]) -> None:
    configure(Guide="doc/guide.md", Other="src/one.py")
    with pytest.raises(
        ContextResolutionError, match="no mention is called @Giude; did you mean '@Guide'"
    ) as caught:
        await ContextResolver(root).resolve("@Giude")
    assert caught.value.mention == "@Giude"
    with pytest.raises(ContextResolutionError, match="did you mean '@selection'"):
        await ContextResolver(root).resolve("@selektion")
    with pytest.raises(ContextResolutionError, match="`tideate context list`"):
        await ContextResolver(root).resolve("@zzzzzzzzzzz")


async def test_a_missing_file_tells_the_nearest(root: Path, configure: Callable[..., None]) -> None:
    configure(Gone="doc/giude.md")
    with pytest.raises(ContextResolutionError, match=r"@Gone: doc/giude.md does not exist.*'doc/guide.md'"):
        await ContextResolver(root).resolve("@Gone")


def test_available_are_the_configured_ones_in_their_order(root: Path, configure: Callable[..., None]) -> None:
    assert ContextResolver(root).get_available_mentions() == []
    configure(B="b", A="a")
    assert ContextResolver(root).get_available_mentions() == ["@B", "@A"]


def test_a_malformed_file_harms_only_texts_with_a_mention(root: Path) -> None:
    (root / ".tideate" / "context.json").write_text("{")
    resolver = ContextResolver(root)
    assert resolver.extract_mentions("nothing") == []
    with pytest.raises(ConfigError, match=r"context\.json:1:2"):
        resolver.extract_mentions("see @Api")


async def test_all_are_resolved_in_order_and_each_once(root: Path, configure: Callable[..., None]) -> None:
    configure(Guide="doc/guide.md", Voice={"text": "short"})
    items = await ContextResolver(root).resolve_all(["@Voice", "@Guide", "@Voice"])
    assert [(item.mention, item.type) for item in items] == [("@Voice", "variable"), ("@Guide", "file")]
    assert items[0].content == "short"


async def test_one_that_fails_raises_or_is_told_and_left_out(
    root: Path, configure: Callable[..., None]
) -> None:
    configure(Guide="doc/guide.md")
    with pytest.raises(ContextResolutionError):
        await ContextResolver(root).resolve_all(["@No", "@Guide"])
    told: list[tuple[str, str]] = []
    resolver = ContextResolver(root)
    items = await resolver.resolve_all(
        ["@No", "@Guide"], on_error=lambda name, error: told.append((name, error.code))
    )
    assert [item.mention for item in items] == ["@Guide"]
    assert told == [("@No", "ContextResolutionError")]


# -- sections and lines -----------------------------------------------------------------------------


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
    with pytest.raises(ContextResolutionError, match="no Markdown file"):
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
        ("@tree:nowhere", "no folder"),
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


# -- what stays outside -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "/etc/hostname",
        "src/../../secret.txt",
        "out/secret.txt",
        "link.txt",
        ".git/config",
        ".tideate/x",
    ],
)
async def test_nothing_outside_the_root_is_read(
    root: Path, tmp_path: Path, configure: Callable[..., None], path: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out").symlink_to(tmp_path)
    (root / "link.txt").symlink_to(root / "out" / "secret.txt")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("")
    configure(Out=path, Part=f"{path}#x")
    for mention in (
        "@Out",
        "@Part",
        f"@file:{path}",
        f"@file:{path}:1-2",
        f"@symbols:{path}",
        f"@tree:{path}",
    ):
        with pytest.raises(OutsideRoot):
            await ContextResolver(root).resolve(mention)


async def test_a_link_inside_is_followed_and_named_by_where_it_leads(root: Path) -> None:
    (root / "again.py").symlink_to("src/one.py")
    assert (await ContextResolver(root).resolve("@file:again.py")).path == "src/one.py"


PARTS = st.lists(
    st.sampled_from(["..", ".", "src", "doc", "up", "one.py", "guide.md", "", "~", "/"]), max_size=6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(PARTS)
async def test_no_way_of_writing_a_path_leaves_the_root(root: Path, tmp_path: Path, parts: list[str]) -> None:
    (tmp_path / "one.py").write_text("outside")
    if not (root / "up").is_symlink():
        (root / "up").symlink_to("..")
    try:
        item = await ContextResolver(root).resolve(f'@file:"{"/".join(parts) or "."}"')
    except WorkspaceError:
        return
    assert (root / item.path).resolve().is_relative_to(root)
    assert item.content != "outside"


async def test_without_a_project_nothing_is_read_but_what_is_in_front_of_the_person(root: Path) -> None:
    resolver = ContextResolver(None, around=Surroundings("x = 1\n", str(root / "src" / "one.py")))
    assert (await resolver.resolve("@buffer")).content == "x = 1\n"
    for mention in ("@file:src/one.py", "@tree", "@diff"):
        with pytest.raises(WorkspaceError, match="no project here"):
            await resolver.resolve(mention)


# -- what is no text, and what is too much ------------------------------------------------------------


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
    with pytest.raises(WorkspaceError, match="src is a directory or no regular file; `@tree:src` lists"):
        await ContextResolver(root).resolve("@file:src")


async def test_a_larger_file_is_cut_at_a_line_and_that_is_said(root: Path) -> None:
    (root / "big.txt").write_text("ä line\n" * 100)
    item = await ContextResolver(root, max_bytes=50).resolve("@file:big.txt")
    assert item.content == "ä line\n" * 6
    assert item.cut == "only the first 48 of 800 bytes were read"


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
    editor = Editor()
    editor.load(root / "src" / "one.py", "typed = 1", modified=True)
    editor.load(root / "doc" / "guide.md", "as the buffer has it")
    resolver = ContextResolver(root, workspace=Workspace(root, buffers=editor))
    unsaved, saved = await resolver.resolve_all(["@file:src/one.py", "@file:doc/guide.md"])
    assert (unsaved.content, unsaved.about) == ("typed = 1", "not saved yet")
    assert saved.content.startswith("# Guide")


# -- what is in front of the person -------------------------------------------------------------------


def around(root: Path, **rest: object) -> Surroundings:
    text = "def one():\n    return 7"
    return Surroundings(text, str(root / "src" / "one.py"), "python", (2, 2), **rest)  # type: ignore[arg-type]


async def test_buffer_and_selection_are_the_ones_of_the_run(root: Path) -> None:
    resolver = ContextResolver(root, around=around(root))
    buffer, selection = await resolver.resolve_all(["@buffer", "@selection"])
    assert (buffer.path, buffer.content, buffer.type) == ("src/one.py", "def one():\n    return 7", "file")
    assert (selection.path, selection.content, selection.about) == ("src/one.py", "    return 7", "lines 2-2")
    assert selection.type == "section"


async def test_diagnostics_are_told_line_by_line(root: Path) -> None:
    found = (Diagnostic(2, 5, "error", "two\nlines", "mypy"), Diagnostic(1, 1, "hint", "why"))
    item = await ContextResolver(root, around=around(root, diagnostics=found)).resolve("@diagnostics")
    assert item.content == "2:5: error: two lines [mypy]\n1:1: hint: why"
    none = await ContextResolver(root, around=around(root, diagnostics=())).resolve("@diagnostics")
    assert none.content == "there are none"


@pytest.mark.parametrize("mention", ["@buffer", "@selection", "@diagnostics"])
async def test_what_nobody_has_in_front_of_them_is_told(root: Path, mention: str) -> None:
    with pytest.raises(ContextResolutionError, match="there is no"):
        await ContextResolver(root).resolve(mention)
    with pytest.raises(ContextResolutionError, match="nothing is selected"):
        await ContextResolver(root, around=Surroundings("x")).resolve("@selection")


# -- what there is ----------------------------------------------------------------------------------


async def test_every_mention_is_described_with_what_is_wrong(
    root: Path, configure: Callable[..., None]
) -> None:
    (root / ".env").write_text("A=1")
    configure(
        Guide="doc/guide.md",
        Errors="doc/guide.md#Errors",
        Gone="gone.md",
        Out="../x",
        Voice={"text": "short\nwords"},
        Env=".env",
    )
    listed = {one.mention: one for one in await ContextResolver(root).describe()}
    assert (listed["@Guide"].points_to, listed["@Guide"].type, listed["@Guide"].exists) == (
        "doc/guide.md",
        "file",
        True,
    )
    assert (listed["@Errors"].type, listed["@Errors"].exists) == ("section", True)
    assert (listed["@Gone"].exists, listed["@Gone"].note[:22]) == (False, "gone.md does not exist")
    assert (listed["@Out"].exists, "outside the project" in listed["@Out"].note) == (False, True)
    assert (listed["@Voice"].points_to, listed["@Voice"].type) == ("short words", "variable")
    assert "asked about" in listed["@Env"].note
    assert (listed["@tree"].built_in, listed["@tree"].exists) == (True, True)
    assert (listed["@buffer"].built_in, listed["@buffer"].exists) == (True, False)
