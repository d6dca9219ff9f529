"""Reading texts, pages, several files and bytes."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest

from tideate_core.mcp.servers.filesystem.reading import MEDIA, PAGE

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

LONG = "".join(f"line {number} ä\n" for number in range(20_000))


async def pages(call: Caller, path: str, **arguments: int) -> list[str]:
    """Read a file to its end."""
    found = [await call("read_text_file", path=path, **arguments)]
    while found[-1]["nextCursor"]:
        found.append(await call("read_text_file", path=path, cursor=found[-1]["nextCursor"]))
    return [one["content"] for one in found]


async def test_a_text_is_read_as_it_is(field: Field, call: Caller) -> None:
    text = "\ufeffone\r\ntwo ä 😀\n\nno end"
    field.write("a.txt", text)
    found = await call("read_text_file", path="a.txt")
    assert await call.text("read_text_file", path=str(field.root / "a.txt")) == text
    assert found == {"path": "a.txt", "content": text, "size": len(text.encode()), "nextCursor": None}


async def test_a_long_text_comes_in_pages_that_end_with_lines(field: Field, call: Caller) -> None:
    field.write("long.txt", LONG)
    found = await pages(call, "long.txt")
    assert "".join(found) == LONG
    assert all(len(page.encode()) <= PAGE and page.endswith("\n") for page in found)


async def test_a_line_longer_than_a_page_is_cut_between_characters(field: Field, call: Caller) -> None:
    text = "x" + "😀" * PAGE
    field.write("wide.txt", text)
    assert "".join(await pages(call, "wide.txt")) == text
    assert "".join(await pages(call, "wide.txt", head=1)) == text
    assert "".join(await pages(call, "wide.txt", tail=1)) == text


@pytest.mark.parametrize("count", [1, 2, 3, 19_999, 20_000, 30_000])
async def test_the_first_and_the_last_lines_can_be_read_alone(field: Field, count: int, call: Caller) -> None:
    field.write("ended.txt", LONG)
    field.write("open.txt", LONG + "last")
    lines = LONG.splitlines(keepends=True)
    assert "".join(await pages(call, "ended.txt", head=count)) == "".join(lines[:count])
    assert "".join(await pages(call, "ended.txt", tail=count)) == "".join(lines[-count:])
    assert "".join(await pages(call, "open.txt", tail=count)) == "".join([*lines, "last"][-count:])


async def test_head_and_tail_together_are_refused(field: Field, call: Caller) -> None:
    field.write("a.txt", "a")
    assert "one of them" in await call.refused("read_text_file", path="a.txt", head=1, tail=1)
    assert "head" in await call.refused("read_text_file", path="a.txt", head=0)


async def test_a_cursor_of_a_file_that_changed_is_refused(field: Field, call: Caller) -> None:
    path = field.write("long.txt", LONG)
    field.write("other.txt", LONG)
    cursor = (await call("read_text_file", path="long.txt"))["nextCursor"]
    assert "changed since" in await call.refused("read_text_file", path="other.txt", cursor=cursor)
    os.utime(path, ns=(1, 1))
    assert "changed since" in await call.refused("read_text_file", path="long.txt", cursor=cursor)
    for wrong in ("-x", "1", f"9{cursor}", "--output=/tmp/x"):
        await call.refused("read_text_file", path="long.txt", cursor=wrong)


@pytest.mark.parametrize(("data", "why"), [(b"a\0b", "binary"), (b"caf\xe9 au lait", "UTF-8")])
async def test_what_is_no_text_is_said_and_comes_as_bytes(
    field: Field, data: bytes, why: str, call: Caller
) -> None:
    (field.root / "data.png").write_bytes(data)
    said = await call.refused("read_text_file", path="data.png")
    assert why in said
    assert "read_media_file" in said
    answer = await call.client.call_tool("read_media_file", {"path": "data.png"})
    assert answer.content[0].type == "image"
    assert base64.b64decode(answer.content[0].data) == data
    assert answer.structured_content == {"path": "data.png", "mimeType": "image/png", "size": len(data)}


async def test_large_bytes_are_not_sent(field: Field, call: Caller) -> None:
    with (field.root / "large.bin").open("wb") as file:
        file.truncate(MEDIA + 1)
    assert "4 MiB are not sent" in await call.refused("read_media_file", path="large.bin")


async def test_several_files_come_at_once_and_one_that_fails_keeps_no_other(
    field: Field, call: Caller
) -> None:
    field.write("a.txt", "one\n")
    field.write("long.txt", LONG)
    found = await call("read_multiple_files", paths=["long.txt", "none.txt", "a.txt", "link/x"])
    long, none, short, _ = found["files"]
    assert short["content"] == "one\n"
    assert "does not exist" in none["error"]
    rest = await call("read_text_file", path="long.txt", cursor=long["nextCursor"])
    assert LONG.startswith(long["content"] + rest["content"])
    assert len(long["content"]) <= PAGE
    assert "does not exist" in await call.refused("read_multiple_files", paths=["none.txt", "b.txt"])


@pytest.mark.slow
async def test_several_files_are_never_more_than_an_answer(field: Field, call: Caller) -> None:
    deep = "/".join(["d" * 200] * 18)
    (field.root / deep).mkdir(parents=True)
    paths = [f"{deep}/{number}" for number in range(100)]
    for path in paths:
        field.write(path, LONG)
    for wanted in (paths, [f"{path}x" for path in paths[1:]] + paths[:1]):
        answer = await call.client.call_tool("read_multiple_files", {"paths": wanted})
        assert not answer.is_error
        assert len(answer.model_dump_json()) < 130_000
    files = (await call("read_multiple_files", paths=paths))["files"]
    assert "content" in files[0]
    assert len(files[0]["path"]) == 201
    assert len(files) == 100
