"""Context of edited lines: the whole file if it fits, else its outline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.builtin.surroundings import ORIENTATION, WHOLE

if TYPE_CHECKING:
    from tests.harness.bench import Bench

HEAD = "import math\n\n\ndef area(r):\n    return math.pi * r * r\n\n\n"
REWRITTEN = "```python\ndef area(r):\n    return math.pi * r**2\n```"


def sent(bench: Bench, request: int) -> str:
    """Return all messages of a request."""
    return "\n".join(str(message["content"]) for message in bench.server.requests[request]["messages"])


async def refactored(bench: Bench, text: str) -> str:
    """Refactor lines 4 and 5 of a file with this text; return the analysis request."""
    bench.write("a.py", text)
    bench.server.answers("how will you change it", "It squares.", times=1)
    bench.server.answers("Rewrite these lines of", REWRITTEN, times=1)
    await bench.succeed("refactor", "simplify", context=bench.context("a.py", 4, 5))
    assert b"return math.pi * r**2\n" in bench.fingerprint()["a.py"]
    return sent(bench, 0)


async def test_a_file_that_fits_is_shown_as_a_whole(bench: Bench) -> None:
    told = await refactored(bench, f"{HEAD}FIRST = 1\n\n\ndef circumference(r):\n    return 2 * r\n")
    assert "FIRST = 1\n" in told
    assert "    return 2 * r" in told


@pytest.mark.slow
async def test_a_longer_file_is_shown_by_what_it_defines(bench: Bench) -> None:
    filler = "".join(f"# remark {number}\n" for number in range(WHOLE // 10))
    told = await refactored(bench, f"{HEAD}{filler}\n\ndef circumference(r):\n    return 2 * r\n")
    assert "def circumference(r)" in told
    assert "return 2 * r" not in told
    assert "# remark" not in told


async def test_a_small_model_sees_only_the_lines_that_it_changes(bench: Bench) -> None:
    await bench.limit(4_096)
    told = await refactored(bench, f"{HEAD}FIRST = 1\n\n\ndef circumference(r):\n    return 2 * r\n")
    assert "def area(r):" in told
    assert "FIRST" not in told
    assert "circumference" not in told


async def test_a_small_model_that_writes_new_lines_sees_only_what_is_around_them(bench: Bench) -> None:
    await bench.limit(4_096)
    bench.write("a.py", HEAD + "# remark\n" * 2 * ORIENTATION)
    bench.server.answers("a constant", "```python\nLIMIT = 3\n```")
    await bench.succeed("generate", "a constant", context=bench.context("a.py"))
    assert bench.fingerprint()["a.py"].endswith(b"LIMIT = 3\n")
    assert "# remark" in sent(bench, -1)
    assert "area" not in sent(bench, -1)
