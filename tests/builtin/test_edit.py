"""The workflow `edit`: one request without tools, for lines or a blank place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.engine import RunRequest
from tideate_core.workflows import BufferContext, Cursor, Decision, DiagnosticContext, RunContext, Selection

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest

LOOP = "import math\n\n\ndef area(r):\n    x = math.pi * r\n    return x * r\n\n\nprint(area(2))\n"
BETTER = "```python\ndef area(r):\n    return math.pi * r**2\n```"
WANTED = "import math\n\n\ndef area(r):\n    return math.pi * r**2\n\n\nprint(area(2))\n"
CUBE = "```python\ndef area(r):\n    return math.pi * r**3\n```"


def sent(bench: Bench, request: int = 0) -> str:
    """Return the last message of a request."""
    return str(bench.server.requests[request]["messages"][-1]["content"])


@pytest.mark.parametrize("tools", [False, True])
async def test_one_question_without_tools_and_one_review(bench: Bench, tools: bool) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("simplify", BETTER)
    result = await bench.succeed("edit", "simplify", context=bench.context("a.py", 4, 6))
    assert bench.fingerprint() == {"a.py": WANTED.encode()}
    assert result.files == ["a.py"]
    assert [request.kind for request in bench.front.requests] == ["review"]
    (request,) = bench.server.requests
    assert "tools" not in request, tools


async def test_the_model_sees_the_lines_around_the_imports_and_the_diagnostics(bench: Bench) -> None:
    far = [f"far_{number} = {number}" for number in range(60)]
    lines = ["import math", *far, "def area(r):", "    return pi * r", *far, "LAST = 1"]
    bench.write("a.py", "\n".join(lines) + "\n")
    bench.server.answers("use math", "```python\n    return math.pi * r\n```")
    found = [(63, "undefined name 'pi'"), (62, "missing docstring"), (1, "too far away")]
    told = tuple(
        [DiagnosticContext(line=line, column=1, severity="error", message=words) for line, words in found]
    )
    context = bench.context("a.py", 63, 63).model_copy(update={"diagnostics": told})
    await bench.succeed("edit", "use math", context=context)
    prompt = sent(bench)
    assert "a.py begins with:\n\n```python\nimport math\n" in prompt
    assert "def area(r):\n```" in prompt, "the lines before end where the range begins"
    assert "Rewrite line 63 of a.py completely" in prompt
    assert "line 63: error: undefined name 'pi'" in prompt
    assert "line 62: error: missing docstring" in prompt
    assert "too far away" not in prompt
    assert "LAST" not in prompt
    assert prompt.count("far_30 = 30\n") == 2, "before and after, no line twice"


async def test_rules_and_memory_are_sent_and_the_preview_shows_the_request(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.write("AGENTS.md", "Use pathlib.\n")
    bench.write("MEMORY.md", "- Circles are rounded up.\n")
    bench.server.answers("simplify", BETTER)
    context = bench.context("a.py", 4, 6)
    shown = await bench.runner.preview(RunRequest(name="edit", prompt="simplify", context=context))
    await bench.succeed("edit", "simplify", context=context)
    assert shown.user == sent(bench)
    assert shown.tools == []
    assert all(words in sent(bench) for words in ("Use pathlib.", "Circles are rounded up."))


@pytest.mark.parametrize(
    ("text", "line", "selected", "answer", "wanted"),
    [
        ("a = 1\nb  = 2\nc = 3\n", 2, (), "b = 2", "a = 1\nb = 2\nc = 3\n"),
        ("a = 1\nb  = 2\nc  = 3\n", 1, (2, 3), "b = 2\nc = 3", "a = 1\nb = 2\nc = 3\n"),
        ("import os\n\nprint(os.name)\n", 2, (), "LIMIT = 3", "import os\n\nLIMIT = 3\nprint(os.name)\n"),
        ("def f():\n    \n    return 1\n", 2, (), "LIMIT = 3", "def f():\n    LIMIT = 3\n    return 1\n"),
        ("def f():\n    \n    return 1\n", 1, (2, 2), "LIMIT = 3", "def f():\n    LIMIT = 3\n    return 1\n"),
        ("", 1, (), "LIMIT = 3", "LIMIT = 3\n"),
        ("a  = 1\r\nb  = 2\nc  = 3\r\n", 1, (1, 1), "a = 1", "a = 1\r\nb  = 2\nc  = 3\r\n"),
    ],
    ids=["cursor", "selection", "blank", "indented", "selected blank", "empty", "mixed line ends"],
)
async def test_it_rewrites_lines_and_fills_a_blank_place(
    bench: Bench, text: str, line: int, selected: tuple[int, int], answer: str, wanted: str
) -> None:
    path = bench.root / "a.py"
    path.write_bytes(text.encode())
    bench.server.answers("do it", f"```python\n{answer}\n```")
    buffer = BufferContext(path=str(path), text=text.removesuffix("\n"))
    chosen = Selection(start=selected[0], end=selected[1]) if selected else None
    context = RunContext(cwd=str(bench.root), buffer=buffer, selection=chosen, cursor=Cursor(line=line))
    await bench.succeed("edit", "do it", context=context)
    assert path.read_bytes() == wanted.encode()


async def test_without_a_cursor_the_whole_text_is_rewritten(bench: Bench) -> None:
    bench.write("a.py", "a  = 1\nb  = 2\n")
    bench.server.answers("tidy", "```python\na = 1\nb = 2\n```")
    await bench.succeed("edit", "tidy", context=bench.context("a.py"))
    assert bench.fingerprint() == {"a.py": b"a = 1\nb = 2\n"}


async def test_a_reason_asks_the_same_model_again(bench: Bench) -> None:
    def answer(request: ConfirmationRequest) -> Decision:
        if len(bench.server.requests) > 1:
            return Decision(True)
        comments = [{"path": "a.py", "hunk": 0, "text": "cube it"}]
        files = [{"path": "a.py", "accepted": [], "rejected": [0]}]
        return Decision(False, value={"files": files, "comments": comments})

    bench.write("a.py", LOOP)
    bench.server.answers("simplify", BETTER, times=1)
    bench.server.answers("cube it", CUBE)
    bench.front.answer = answer
    await bench.succeed("edit", "simplify", context=bench.context("a.py", 4, 6))
    assert b"r**3" in bench.fingerprint()["a.py"]
    assert len(bench.server.requests) == 2


@pytest.mark.parametrize("tools", [True])
async def test_a_reply_continues_the_conversation_on_the_same_lines(bench: Bench, tools: bool) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("simplify", BETTER)
    first = await bench.succeed("edit", "simplify", context=bench.context("a.py", 4, 6))
    bench.server.answers("now cube it", CUBE)
    await bench.succeed("edit", "now cube it", continues=first.execution_id)
    assert bench.fingerprint() == {"a.py": WANTED.replace("**2", "**3").encode()}
    messages = [str(message["content"]) for message in bench.server.requests[1]["messages"]]
    assert any("simplify" in message for message in messages)
    assert "tools" not in bench.server.requests[1], tools


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (RunContext(), "needs lines to work on: open a file"),
        (RunContext(buffer=BufferContext(text="a", modifiable=False)), "is read-only"),
    ],
)
async def test_an_unusable_context_is_refused_before_a_request(
    bench: Bench, context: RunContext, words: str
) -> None:
    result = await bench.run("edit", "x", context=context)
    assert words in str(result.error)
    assert bench.server.requests == []
