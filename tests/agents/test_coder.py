"""The coder returns a valid edit, retries a bounded number of times with the reason, or fails clearly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.agents.stage import StageStep
from tests.harness.buffers import Buffers
from tideate_core.adapters import Prompt, Reply, Turn
from tideate_core.agents import Written, edit_format, edit_range, insert_text, write_text
from tideate_core.errors import AdapterUnavailable, ContextTooLong, UnusableAnswer

LINES = [
    "import os",
    "",
    "class Shop:",
    "    def total(self):",
    "        result = 0",
    "        for x in self.xs:",
    "            result += x",
    "        return result",
    "",
    "    def close(self):",
    "        os.abort()",
]
GOOD = "```python\ndef total(self):\n    return sum(self.xs)\n```"
FITTED = ["    def total(self):", "        return sum(self.xs)"]
BROKEN = "```python\ndef total(self):\n    return sum(self.xs\n```"
PROMPT = Prompt("make it short", system="You code.", max_tokens=99)


def model(*answers: str | Reply | Exception, attempts: int = 3) -> StageStep:
    return StageStep(Path("/nowhere"), *answers, attempts=attempts)


def asked(step: StageStep) -> tuple[Any, Any]:
    return step, partial(step.ask, quiet=True)


async def ranged(step: StageStep, prompt: Prompt = PROMPT, **more: Any) -> Written:
    given: dict[str, Any] = {"lines": LINES, "start": 3, "end": 8, "language": "python", **more}
    return await edit_range(*asked(step), prompt, **given)


async def edit(step: StageStep, **more: Any) -> list[str]:
    written = await ranged(step, **more)
    assert written.problems == []
    return written.lines


async def test_a_good_answer_is_taken_at_once() -> None:
    step = model(GOOD)
    written = await ranged(step)
    assert (written.lines, written.problems, written.attempts) == (FITTED, [], 1)
    assert [reply.text for reply in written.replies] == [GOOD]
    assert step.asked == [PROMPT]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        pytest.param("I would use sum().", "no code", id="no code"),
        pytest.param("", "empty", id="empty"),
        pytest.param(
            "```python\ndef total(self):\n    # ... rest of the code", "cut off", id="no closing fence"
        ),
        pytest.param(
            "```python\ndef total(self):\n    # rest of the code\n```", "left out", id="a placeholder"
        ),
        pytest.param(Reply(GOOD, "model", truncated=True), "length limit", id="truncated"),
        pytest.param(BROKEN, "'(' was never closed", id="a syntax error"),
        pytest.param(
            "```python\nimport sys\n" + "\n".join(LINES[1:]) + "\n```",
            "around the place",
            id="changed imports",
        ),
    ],
)
async def test_a_bad_answer_is_asked_again_with_the_reason(bad: str | Reply, said: str) -> None:
    step = model(bad, GOOD)
    assert await edit(step) == FITTED
    again = step.asked[1]
    assert said in again.user
    assert (again.system, again.max_tokens) == (PROMPT.system, PROMPT.max_tokens)
    text = bad.text if isinstance(bad, Reply) else bad
    assert again.history == (Turn(PROMPT.user, text or "(no answer)"),)


async def test_only_the_last_answer_is_sent_back() -> None:
    step = model("no", "neither", GOOD)
    await edit(step)
    assert step.asked[2].history == (Turn(PROMPT.user, "neither"),)


async def test_earlier_turns_of_the_conversation_stay() -> None:
    step = model("no", GOOD)
    turn = Turn("hello", "hi")
    await ranged(step, prompt=Prompt("x", history=(turn,)))
    assert step.asked[1].history == (turn, Turn("x", "no"))


async def test_a_long_cut_off_answer_is_not_sent_back_whole() -> None:
    step = model(Reply("x = 1\n" * 5000, "model", truncated=True), GOOD)
    await edit(step)
    assert len(step.asked[1].history[0].assistant) <= 6000


@pytest.mark.parametrize(
    ("answers", "attempts", "said"),
    [
        (("one", "two words", "three"), 3, r"after 3 attempts: .* no code.*; it changed nothing"),
        (("one",), 1, "after 1 attempt:"),
        (("one", "one"), 3, "after 2 attempts"),
    ],
    ids=["all of them", "as the caller says", "repeated"],
)
async def test_attempts_are_bounded_and_end_in_a_clear_error(
    answers: tuple[str, ...], attempts: int, said: str
) -> None:
    step = model(*answers, attempts=attempts)
    with pytest.raises(UnusableAnswer, match=f"could not be used {said}"):
        await edit(step)
    assert step.unused == 0


async def test_the_same_syntax_errors_again_end_it_early() -> None:
    step = model(BROKEN, f"Sorry!\n{BROKEN}")
    written = await ranged(step)
    assert written.attempts == 2
    assert [problem.message for problem in written.problems] == ["'(' was never closed"]


async def test_what_has_only_syntax_errors_is_left_to_the_person() -> None:
    step = model(BROKEN, "no code at all", "again none")
    written = await ranged(step)
    assert written.problems
    assert written.lines == ["    def total(self):", "        return sum(self.xs"]
    assert written.attempts == 3


async def test_old_syntax_errors_are_not_the_models() -> None:
    lines = [*LINES, "def broken(:"]
    written = await ranged(model(GOOD), lines=lines)
    assert written.problems == []


async def test_an_adapters_error_passes_through() -> None:
    with pytest.raises(AdapterUnavailable):
        await edit(model(AdapterUnavailable("gone")))
    with pytest.raises(ContextTooLong):
        await edit(model(ContextTooLong("too long")))


async def test_a_correction_that_does_not_fit_ends_with_the_first_reason() -> None:
    with pytest.raises(UnusableAnswer, match="no code"):
        await edit(model("no", ContextTooLong("too long")))


async def test_the_whole_file_as_an_answer_changes_only_the_range() -> None:
    whole = [*LINES[:3], *FITTED, *LINES[8:]]
    assert await edit(model("```python\n" + "\n".join(whole) + "\n```")) == FITTED


async def test_an_inserted_text_is_indented_for_its_place() -> None:
    step = model("```python\ndef open(self):\n    pass\n```")
    written = await insert_text(*asked(step), PROMPT, lines=LINES, at=9, language="python")
    assert (written.lines, written.at) == (["    def open(self):", "        pass", ""], 9)


async def test_an_inserted_text_is_checked_in_its_place() -> None:
    step = model("```python\nreturn (\n```", "```python\nx = 1\n```")
    written = await insert_text(*asked(step), PROMPT, lines=LINES, at=1, language="python")
    assert (written.lines, written.attempts) == (["x = 1"], 2)


async def test_an_empty_buffer_is_filled() -> None:
    written = await insert_text(*asked(model("```\nx = 1\n```")), PROMPT, lines=[""], at=1, language="")
    assert written.lines == ["x = 1"]


async def test_a_new_file_is_written() -> None:
    written = await write_text(*asked(model(GOOD)), PROMPT, before=None, language="python")
    assert written.lines == ["def total(self):", "    return sum(self.xs)"]


BEFORE = "\n".join(LINES)


async def whole(step: StageStep) -> Written:
    return await write_text(*asked(step), PROMPT, before=BEFORE, language="python", path="shop.py")


async def test_a_file_is_written_anew() -> None:
    after = BEFORE.replace("os.abort()", "os._exit(0)")
    written = await whole(model(f"```python\n{after}\n```"))
    assert "\n".join(written.lines) == after


async def test_search_replace_blocks_are_understood_and_their_notes_kept() -> None:
    answer = "<<<<<<< SEARCH\nos.abort()\n=======\nos._exit(0)\n>>>>>>> REPLACE"
    written = await whole(model(answer))
    assert "\n".join(written.lines) == BEFORE.replace("os.abort()", "os._exit(0)")
    assert written.notes == ["block 1 was found at line 11 by ignoring indentation"]


async def test_a_block_that_is_not_found_is_asked_again_with_the_nearest_lines() -> None:
    bad = "<<<<<<< SEARCH\n    def close(self):\n        os.exit()\n=======\nx\n>>>>>>> REPLACE"
    good = bad.replace("os.exit", "os.abort").replace("\nx\n", "\n    def close(self):\n        pass\n")
    step = model(bad, good)
    written = await whole(step)
    assert written.lines[-1] == "        pass"
    assert "        os.abort()\n\nAnswer the same task again" in step.asked[1].user


DIFF = "```diff\n--- a/shop.py\n+++ b/shop.py\n@@ -99 +1 @@\n-        os.abort()\n+        os._exit(0)\n```"
PATCH = "*** Begin Patch\n*** Update File: shop.py\n-        os.abort()\n+        os._exit(0)\n*** End Patch"


@pytest.mark.parametrize("answer", [DIFF, PATCH])
async def test_a_diff_or_a_patch_of_the_file_is_understood(answer: str) -> None:
    step = model(answer)
    written = await whole(step)
    assert "\n".join(written.lines) == BEFORE.replace("os.abort()", "os._exit(0)")


async def test_an_edit_of_another_file_is_asked_again() -> None:
    step = model(PATCH.replace("shop.py", "other.py"), PATCH)
    written = await whole(step)
    assert written.attempts == 2
    assert "it edits other.py, but only shop.py is to be changed now" in step.asked[1].user


async def test_an_edit_of_the_range_changes_only_that() -> None:
    step = model(DIFF.replace("os.abort()", "return result").replace("os._exit(0)", "return 1"))
    written = await ranged(step, path="shop.py")
    assert written.lines == [*LINES[3:7], "        return 1"]


async def test_an_edit_beside_the_range_is_asked_again() -> None:
    step = model(DIFF, GOOD)
    written = await ranged(step, path="shop.py")
    assert written.lines == FITTED
    assert "its lines to search are not in the file" in step.asked[1].user


async def test_a_part_of_a_file_is_not_taken_for_the_whole() -> None:
    before = "\n".join(f"x{n} = {n}" for n in range(30))
    step = model("```python\nx1 = 2\n```", "```python\nx1 = 3\n```", "```python\nx1 = 4\n```")
    with pytest.raises(UnusableAnswer, match="seems to be a part"):
        await write_text(*asked(step), PROMPT, before=before, language="python")


def test_the_form_of_an_edit_goes_by_the_file_and_the_size_of_the_model() -> None:
    assert edit_format(None).name == "whole"
    assert edit_format("\n".join("x" * 60)).name == "whole"
    assert edit_format("\n".join("x" * 61)).name == "blocks"
    assert edit_format("\n".join("x" * 300), small=True).name == "whole"
    assert edit_format("\n".join("x" * 301), small=True).name == "blocks"
    assert "<<<<<<< SEARCH" in edit_format("\n" * 400).instructions
    assert "````" in edit_format("# T\n```\nx\n```").instructions


async def test_lines_that_the_file_cannot_hold_are_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    buffers = Buffers()
    number = buffers.load(tmp_path / "a.py", "")
    buffers.lacking[number] = "€"
    step = StageStep(tmp_path, GOOD.replace("sum", "€"), GOOD, buffers=buffers)
    written = await ranged(step, path="a.py", buffer=number)
    assert (written.lines, written.attempts) == (FITTED, 2)
    assert "its encoding latin1 lacks '€' (U+20AC)" in step.asked[1].user
