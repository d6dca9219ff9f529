"""Turns of a chat with edits, and code blocks placed in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import no
from tideate_core.app import list_chats, read_chat
from tideate_core.builtin.chat import place_block
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from tests.harness.bench import Bench

WITH_TOOLS = pytest.mark.parametrize("tools", [True])
EITHER = pytest.mark.parametrize("tools", [True, False])
EDIT = {"path": "a.py", "edits": [{"search": "x = 1", "replace": "x = 2"}]}
TWO = "import os\n\n\ndef one():\n    return 1\n\n\nclass Two:\n    def get(self):\n        return 2\n"


def roles(chat: dict[str, Any]) -> list[str]:
    return [f"{one['role']} {one['text']}" for run in chat["runs"] for one in run["messages"]]


@EITHER
async def test_a_chat_shows_what_was_said_in_all_of_its_runs(bench: Bench) -> None:
    for word in ("one", "two", "three"):
        bench.server.answers(f"say {word}", word.upper(), times=1)
    run = await bench.succeed("ask", "say one")
    run = await bench.succeed("chat", "say two", continues=run.execution_id)
    run = await bench.succeed("chat", "say three", continues=run.execution_id)
    reader = await bench.reader()
    chat = read_chat(reader, "last")
    assert (chat["title"], [part["run"].name for part in chat["runs"]]) == (
        "say one",
        ["ask", "chat", "chat"],
    )
    assert roles(chat) == [
        "user say one",
        "model ONE",
        "user say two",
        "model TWO",
        "user say three",
        "model THREE",
    ]
    assert [one["turn"] for part in chat["runs"] for one in part["messages"][1:]] == [1, 2, 3]
    assert [one.id for one in list_chats(reader)] == [run.execution_id]


async def test_a_fork_at_a_turn_is_a_chat_beside_the_other(bench: Bench) -> None:
    for word in ("one", "two", "other"):
        bench.server.answers(f"say {word}", word.upper(), times=1)
    first = await bench.succeed("chat", "say one")
    second = await bench.succeed("chat", "say two", continues=first.execution_id)
    fork = await bench.succeed("chat", "say other", continues=second.execution_id, turn=1)
    reader = await bench.reader()
    assert roles(read_chat(reader, fork.execution_id)) == [
        "user say one",
        "model ONE",
        "user say two",
        "user say other",
        "model OTHER",
    ]


async def test_a_failed_message_is_shown_in_its_chat(bench: Bench) -> None:
    bench.server.answers("say one", "ONE", times=1)
    first = await bench.succeed("chat", "say one")
    bench.server.fails("say two", 400)
    second = await bench.run("chat", "say two", continues=first.execution_id)
    reader = await bench.reader()
    assert roles(read_chat(reader, second.execution_id)) == ["user say one", "model ONE", "user say two"]
    assert [one.id for one in list_chats(reader)] == [first.execution_id]


@WITH_TOOLS
async def test_edits_of_a_chat_are_reviewed_and_written(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    bench.server.calls("make it two", "edit_file", EDIT, times=1)
    bench.server.answers("make it two", "It is two now.")
    result = await bench.succeed("chat", "make it two")
    assert (result.response, result.files) == ("It is two now.", ["a.py"])
    assert [request.kind for request in bench.front.requests] == ["review"]
    assert bench.fingerprint()["a.py"] == b"x = 2\n"


@WITH_TOOLS
async def test_the_answer_stays_in_the_chat_if_its_edits_are_declined(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    bench.server.calls("make it two", "edit_file", EDIT, times=1)
    bench.server.answers("make it two", "It is two now.", times=1)
    bench.front.answer = no
    first = await bench.run("chat", "make it two")
    assert (first.cancelled, bench.fingerprint()["a.py"]) == (True, b"x = 1\n")
    bench.server.answers("were not written", "As you like.")
    second = await bench.succeed("chat", "leave it", continues=first.execution_id)
    chat = read_chat(await bench.reader(), second.execution_id)
    assert "model It is two now." in roles(chat)
    assert roles(chat)[-2:] == ["user leave it", "model As you like."]
    (call,) = chat["runs"][0]["messages"][1]["calls"]
    assert call["tool"] == "edit_file"
    assert "x = 2" in call["arguments"]


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("def one():\n    return 11", TWO.replace("return 1\n", "return 11\n")),
        ("def get(self):\n    return 22", TWO.replace("return 2\n", "return 22\n")),
        (
            "import re\n\ndef one():\n    return 11",
            TWO.replace("return 1\n", "return 11\n").replace("os\n", "os\nimport re\n"),
        ),
        (TWO.replace("return 1\n", "return 11\n"), TWO.replace("return 1\n", "return 11\n")),
        (
            "<<<<<<< SEARCH\n    return 1\n=======\n    return 11\n>>>>>>> REPLACE",
            TWO.replace("return 1\n", "return 11\n"),
        ),
        (
            "class Two:\n    size = 2\n    def get(self):\n        return 2",
            TWO.replace("Two:\n", "Two:\n    size = 2\n"),
        ),
        (
            "# ... existing code ...\n\ndef one():\n    return 11\n\n# ... rest of the file ...",
            TWO.replace("return 1\n", "return 11\n"),
        ),
        (
            "class Two:\n    # ...\n    def get(self):\n        return 22\n    # ... other methods ...",
            TWO.replace("return 2\n", "return 22\n"),
        ),
        (
            "SIZE = 1\n\ndef one():\n    return 11\n\ndef new():\n    pass\n\ndef newer():\n    pass",
            TWO.replace(
                "def one():\n    return 1\n",
                "SIZE = 1\n\n\ndef one():\n    return 11\n\n\ndef new():\n    pass\n"
                "\n\ndef newer():\n    pass\n",
            ),
        ),
    ],
    ids=["function", "method", "import", "whole", "blocks", "class", "elided", "elided class", "new"],
)
def test_a_block_is_placed(block: str, wanted: str) -> None:
    assert place_block(block, TWO, "a.py") == wanted


def test_of_definitions_with_one_name_that_at_the_blocks_level_is_replaced() -> None:
    text = TWO.replace("get", "one")
    assert place_block("def one():\n    return 11", text, "a.py") == text.replace("return 1\n", "return 11\n")
    method = "    def one(self):\n        return 22"
    assert place_block(method, text, "a.py") == text.replace("return 2\n", "return 22\n")


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("other()", "no clear place"),
        ("def one():\n    # ... existing code ...\n    return 11", "leaves out"),
        ("import os\n\nprint(1)\n\n        return 2", "no clear place"),
        (" \n", "empty"),
    ],
    ids=["statement", "elided", "edges", "empty"],
)
def test_a_block_without_a_place_is_refused(block: str, words: str) -> None:
    with pytest.raises(UnusableAnswer, match=words):
        place_block(block, TWO, "a.py")


def test_a_block_fills_an_empty_file() -> None:
    assert place_block("x = 1", "\n", "a.py") == "x = 1"


async def test_a_block_is_applied_after_a_review_and_a_new_file_created(bench: Bench) -> None:
    bench.write("a.py", TWO)
    result = await bench.succeed("apply", inputs={"path": "a.py", "text": "def one():\n    return 11\n"})
    assert result.files == ["a.py"]
    assert b"return 11" in bench.fingerprint()["a.py"]
    new = {"path": "sub/new.py", "text": "y = 1\n", "how": "create"}
    await bench.succeed("apply", inputs=new)
    assert bench.fingerprint()["sub/new.py"] == b"y = 1\n"
    assert [request.kind for request in bench.front.requests] == ["review"]
    refused = await bench.run("apply", inputs=new)
    assert "exists already" in str(refused.error)


@pytest.mark.parametrize("path", ["../outside.py", ".git/hooks/pre-commit", "/etc/hosts"])
@pytest.mark.parametrize("how", ["place", "create", "replace"])
async def test_a_block_is_never_written_outside_the_project(bench: Bench, path: str, how: str) -> None:
    bench.write(".git/config", "")
    before = bench.fingerprint()
    result = await bench.run("apply", inputs={"path": path, "text": "x = 1\n", "how": how})
    assert not result.ok
    assert bench.fingerprint() == before
    assert not (bench.root.parent / "outside.py").exists()
