"""Secrets in served files are not read, found, measured, or lost by a change."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

pytestmark = pytest.mark.attack

BODY = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + chr(ord("a") + at) for at in range(12))
KEY = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{BODY}\n-----END RSA {'PRIVATE'} KEY-----"
TOKEN = "AKIA" + "Q7ZP3KD9WM2XV5TB"
HIDDEN = "[a line that seems to hold a secret]"
SECRET_FILES = {".env": "A=plain-words\n", "keys/id_rsa": "no shape\n", "lib/credentials.json": "{}"}
READ: Sequence[tuple[str, dict[str, Any]]] = [
    ("read_text_file", {}),
    ("read_text_file", {"head": 1}),
    ("read_text_file", {"tail": 1}),
    ("read_media_file", {}),
    ("edit_file", {"edits": [{"old_text": "A=", "new_text": "B="}], "dry_run": True}),
]


@pytest.mark.parametrize("name", SECRET_FILES)
async def test_files_that_usually_hold_secrets_are_neither_read_nor_changed(
    field: Field, name: str, call: Caller
) -> None:
    for path, text in SECRET_FILES.items():
        field.write(path, text)
    field.link("alias.txt", name)
    for path in (name, "alias.txt"):
        for tool, arguments in READ:
            assert "usually holds secrets" in await call.refused(tool, path=path, **arguments)
        read = await call.told("read_multiple_files", paths=[path, "nothing.txt"])
        assert "usually holds secrets" in str(read)
    assert "usually holds secrets" in await call.refused("move_file", source=name, destination="x.txt")
    assert (await call("get_file_info", path=name))["size"] is None
    assert field.read(name) == SECRET_FILES[name]


async def test_no_part_of_a_key_is_read(field: Field, call: Caller) -> None:
    field.write("notes.txt", f"one\n{KEY}\nlast\n")
    whole = (await call("read_text_file", path="notes.txt"))["content"]
    assert whole == "one\n" + f"{HIDDEN}\n" * 14 + "last\n"
    assert (await call("read_text_file", path="notes.txt", head=3))["content"] == whole[
        : 4 + 2 * len(HIDDEN) + 2
    ]
    assert (await call("read_text_file", path="notes.txt", tail=2))["content"] == f"{HIDDEN}\nlast\n"
    assert "seems to hold a secret" in await call.refused("read_media_file", path="notes.txt")
    assert "[a value" not in whole


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_bytes_are_looked_into(field: Field, encoding: str, call: Caller) -> None:
    (field.root / "a.png").write_bytes(f"\x89 {TOKEN}".encode(encoding))
    said = await call.refused("read_media_file", path="a.png")
    assert "seems to hold a secret" in said
    assert base64.b64encode(TOKEN.encode())[:8].decode() not in said


async def test_no_answer_depends_on_what_is_hidden(field: Field) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_text_file", {"path": "a.py"}),
        ("read_text_file", {"path": "long.txt"}),
        ("get_file_info", {"path": "a.py"}),
        ("list_directory_with_sizes", {}),
        ("list_directory_with_sizes", {"sort_by": "size"}),
        *(("search_text", {"text": text}) for text in ("AKIA", "Q", "MII", "hunter", "one")),
        *(
            ("edit_file", {"path": "a.py", "edits": [{"old_text": old, "new_text": "x"}], "dry_run": True})
            for old in ("AKIAQ7", "KEY = ", "one", HIDDEN)
        ),
    ]
    answers = []
    for key, password in ((TOKEN, "hunter22"), ("AKIA" + "M" * 16, "another-much-longer-one-1")):
        field.write("a.py", f"one = 1\nKEY = '{key}'\ntwo = 2\n")
        field.write("long.txt", f"DB_PASSWORD={password}\n" + "words of a long text\n" * 4000)
        field.write(".env", f"A={password}\n")
        told = []
        async with field.client() as call:
            for tool, arguments in calls:
                answer = await call.told(tool, **arguments)
                text = str(answer)
                assert key not in text
                assert password not in text
                told.append({name: value for name, value in answer.items() if name not in TIMES})
        answers.append(told)
    assert [one for one in answers[0] if "nextCursor" in one] != []
    for one, other in zip(*answers, strict=True):
        assert _without_times(one) == _without_times(other)


TIMES = ("modified", "accessed", "changed")


def _without_times(answer: dict[str, Any]) -> dict[str, Any]:
    # a cursor tells by its end in which state the file was
    cursor = str(answer.get("nextCursor") or "").rpartition("-")[0]
    return {**answer, "nextCursor": cursor}


async def test_an_edit_keeps_hidden_lines_and_a_mark_takes_no_ones_place(field: Field, call: Caller) -> None:
    field.write("a.py", f"one = 1\nKEY = '{TOKEN}'\ntwo = 2\n")
    edits = [{"old_text": "one = 1", "new_text": "one = 3"}, {"old_text": "two = 2\n", "new_text": ""}]
    done = await call("edit_file", path="a.py", edits=edits)
    assert TOKEN not in str(done)
    assert HIDDEN in done["diff"]
    content = (await call("read_text_file", path="a.py"))["content"]
    assert "marks hidden content" in await call.refused("write_file", path="a.py", content=content)
    assert field.read("a.py") == f"one = 3\nKEY = '{TOKEN}'\n"


async def test_a_name_that_is_a_secret_is_not_listed(field: Field, call: Caller) -> None:
    field.write(f"{TOKEN}.txt", "x")
    field.write("other.txt", "x")
    for tool, arguments in (
        ("list_directory", {}),
        ("list_directory_with_sizes", {}),
        ("directory_tree", {}),
        ("search_files", {"pattern": "AKIA*"}),
        ("search_text", {"text": "x"}),
    ):
        assert "AKIA" not in str(await call(tool, **arguments))
