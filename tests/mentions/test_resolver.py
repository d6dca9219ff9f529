"""Mentions resolve to a project's contents; paths outside it are rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tideate_core.errors import ConfigError, ContextResolutionError, OutsideRoot, WorkspaceError
from tideate_core.mentions import ContextItem, ContextResolver, Surroundings

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


# -- what stays outside ------------------------------------------------------------------------------


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


@pytest.mark.slow
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


# -- what there is -----------------------------------------------------------------------------------


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
