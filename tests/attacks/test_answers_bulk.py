"""A model's answer is too large or too complex to parse in reasonable time."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.agents.stage import StageStep
from tideate_core.adapters import Prompt, Reply
from tideate_core.agents.attempts import Draft, until_usable
from tideate_core.agents.coder import edit_range, insert_text, write_text
from tideate_core.edits.resolve import resolve_files
from tideate_core.errors import UnusableAnswer
from tideate_core.process import parsing

if TYPE_CHECKING:
    from tideate_core.workspace import FileChange

# what takes time with the square of its input takes far longer
pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow, pytest.mark.timeout(300)]

MB: Final = 1 << 20
LINES: Final = [f"line {number}" for number in range(2000)]
BLOCK: Final = "a.py\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n"


def hunks(count: int, line: str = "line {}") -> str:
    return "".join(f"@@ -{n},1 +{n},1 @@\n-{line.format(n % 2000)}\n+x\n" for n in range(count))


LARGE = {
    "10 MB of words": "word " * (2 * MB),
    "10 MB in one line": "a" * 10 * MB,
    "50 MB in one line of a block": "```python\n" + "a" * 50 * MB + "\n```",
    "10 MB of lines": "```python\n" + "x = 1\n" * (10 * MB // 6) + "\n```",
    "10 MB of backticks": "`" * 10 * MB,
    "10 MB of blank lines": " \n" * 5 * MB,
    "10 MB of brackets": "[" * 10 * MB,
    "1,000,000 markers": "<<<<<<< SEARCH\n" * 1_000_000,
}
MANY = {
    "100,000 hunks": "```diff\n--- a/a.py\n+++ b/a.py\n" + hunks(100_000)[: 2 * MB - 100] + "\n```",
    "50,000 hunks": "```diff\n--- a/a.py\n+++ b/a.py\n" + hunks(50_000) + "```",
    "50,000 hunks of nowhere": "```diff\n--- a/a.py\n+++ b/a.py\n" + hunks(50_000, "nope {}") + "```",
    "headings without end": (
        "```diff\n--- a/a.py\n+++ b/a.py\n" + "@@ class A\n" * 100_000 + "-line 3\n+x\n```"
    ),
    "30,000 blocks": "".join(BLOCK.format(f"line {n % 2000}", "x") for n in range(30_000)),
    "30,000 blocks of nowhere": BLOCK.format("nope", "x") * 30_000,
    "30,000 blocks that search nothing": BLOCK.format("", "x") * 30_000,
    "30,000 new files in a patch": (
        "*** Begin Patch\n" + "".join(f"*** Add File: f{n}.py\n+x\n" for n in range(30_000)) + "*** End Patch"
    ),
    "50,000 times the same file": (
        "*** Begin Patch\n" + "*** Update File: a.py\n@@\n-line 1\n+x\n" * 50_000 + "*** End Patch"
    ),
    "60,000 files in blocks": "".join(f"f{n}.py\n```\nx\n```\n" for n in range(60_000)),
    "30,000 headers of git": "```diff\n" + "diff --git a/x b/x\n" * 100_000 + "```",
    "100,000 fences that stay open": "```python\n" * 100_000,
    "fences one longer than another": "".join("`" * (3 + n) + "\n" for n in range(2000)),
    "60,000 blocks": "".join(f"```python\nx = {n}\n```\n" for n in range(60_000)),
    "unclosed thoughts": "<think>" * 200_000,
}
QUADRATIC = {
    "lines of one kind": BLOCK.format("\n".join(["    pass"] * 10_000), "x"),
    "lines of one kind and another": BLOCK.format("\n".join([*["    pass"] * 10_000, "end"]), "x"),
    "lines of one kind, indented otherwise": BLOCK.format("\n".join([*["  pass"] * 10_000, "end"]), "x"),
    "lines of one kind that are nearly there": BLOCK.format("\n".join([*["    pass"] * 10_000, "endX"]), "x"),
    "many lines of one kind, as a whole": "```python\n" + "    pass\n" * 100_000 + "x = 1\n```",
}
LONG_LINES = [
    *(
        "function ",
        "function(",
        "def ",
        "class ",
        "# ",
        "// ",
        "/* ",
        "[",
        "(",
        "{",
        ": ",
        "... ",
        "# ...",
        "<!-- ",
    ),
    *(
        "is unchanged ",
        "the ",
        "@a ",
        "\t",
        " ",
        "\\",
        "'",
        '"""',
        "`",
        "``` ",
        "=",
        "\u200b",
        "\u2028",
        "“",
        "0,",
    ),
]


def model(answer: str) -> tuple[Any, Any]:
    """Return a step of one attempt, and its model with one answer."""
    step = StageStep(Path("/nowhere"), Reply(answer, "scripted"), attempts=1)
    return step, partial(step.ask, quiet=True)


async def tried(answer: str, text: str, kind: str = "text", language: str = "python") -> None:
    """Parse one answer as an edit, ignoring the outcome."""
    asked, prompt, lines = model(answer), Prompt("work", "do it"), text.split("\n")
    try:
        if kind == "range":
            await edit_range(*asked, prompt, lines=lines, start=1, end=3, language=language)
        elif kind == "insert":
            await insert_text(*asked, prompt, lines=lines, at=2, language=language)
        else:
            await write_text(*asked, prompt, before=text, language=language, path="a.py")
    except UnusableAnswer as error:
        assert len(str(error)) < 5000


@pytest.mark.parametrize("case", LARGE)
async def test_a_huge_answer_is_refused_before_it_is_read(case: str) -> None:
    prompt = Prompt("work", "do it")

    def build(answer: str) -> Draft[list[FileChange]]:
        raise AssertionError(f"{len(answer)} characters were read")

    with pytest.raises(UnusableAnswer, match=r"has \d+ characters, and at most 2097152 are read"):
        await until_usable(*model(LARGE[case]), prompt, build, lambda _: [])


@pytest.mark.parametrize("case", MANY)
async def test_many_of_something_take_no_time(case: str) -> None:
    assert len(MANY[case]) <= 2 * MB
    await tried(MANY[case], "\n".join(LINES))


@pytest.mark.parametrize("case", MANY)
def test_many_of_something_for_several_files_take_no_time(case: str) -> None:
    texts = {"a.py": "\n".join(LINES)}
    try:
        resolve_files(MANY[case], texts.get)
    except UnusableAnswer as error:
        assert len(str(error)) < 5000


@pytest.mark.parametrize("case", QUADRATIC)
async def test_a_search_for_repeated_lines_takes_no_time(case: str) -> None:
    await tried(QUADRATIC[case], "\n".join([*["    pass"] * 20_000, "end"]))


@pytest.mark.parametrize("piece", LONG_LINES, ids=ascii)
@pytest.mark.parametrize("language", ["javascript", "lua", "markdown", "python"])
async def test_a_line_of_one_kind_takes_no_time(
    piece: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the parser is ended earlier: most of these lines take it hours
    monkeypatch.setattr(parsing, "SECONDS", 0.1)
    line = (piece * (MB // 2))[: MB // 4]
    text = "import os\n\ndef f():\n    return 1\n"
    for kind in ("range", "insert", "text"):
        for answer in (f"```{language}\n{line}\n```", line):
            await tried(answer, text, kind, language)


async def test_an_answer_of_backticks_only_is_refused() -> None:
    with pytest.raises(UnusableAnswer, match="it holds no code"):
        await write_text(
            *model("`" * 30), Prompt("work", "do it"), before="# A\n", language="markdown", path="a.md"
        )


MEASURE: Final = """
import asyncio, re
from pathlib import Path
from tests.attacks import test_answers_bulk as bulk
text = "\\n".join(bulk.LINES)
for answer in (bulk.LARGE["50 MB in one line of a block"], bulk.LARGE["10 MB of lines"],
               bulk.MANY["50,000 hunks of nowhere"], bulk.MANY["60,000 blocks"]):
    asyncio.run(bulk.tried(answer, text))
# not `ru_maxrss`, which a process takes over from the one that starts it
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)
"""


def test_the_largest_answers_fit_into_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500  # MB
