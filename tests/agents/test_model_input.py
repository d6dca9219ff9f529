"""Files in a prompt: short ones are shown whole, others by their outlines."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.agents.model_input import LONGEST_OUTLINE, WHOLE, ShownFile, outline_long_files
from tideate_core.workflows import PromptLibrary

LONG = "WORDS = {}\n\n\nclass A:\n    def f(self):\n        pass\n" + "# rest\n" * 4000


def python(path: str, text: str | None) -> ShownFile:
    return ShownFile(path, text, "python")


@pytest.mark.slow
async def test_short_files_are_whole_and_long_ones_are_outlined_in_the_order_of_the_plan() -> None:
    files = [python("long.py", LONG), python("a.py", "a = 1\n"), python("new.py", None)]
    long, short, new = await outline_long_files(files, None)
    assert (long.path, long.text, long.lines) == ("long.py", None, LONG.count("\n") + 1)
    assert long.outline == "1: WORDS = {}\n4: class A:\n5:   def f(self):"
    assert [short, new] == files[1:]


async def test_whole_files_share_what_the_model_bears() -> None:
    files = [python(f"{name}.py", "x = 1\n" * (WHOLE // 18)) for name in "abcd"]
    assert [file.outline is None for file in await outline_long_files(files, None)] == [
        True,
        True,
        True,
        False,
    ]
    assert [file.outline is None for file in await outline_long_files(files, WHOLE // 2)] == [
        True,
        False,
        False,
        False,
    ]


async def test_of_many_definitions_the_outer_ones_are_told_as_far_as_there_is_room() -> None:
    methods = "".join(f"    def method_{number}(self): ...\n" for number in range(2000))
    (shown,) = await outline_long_files([python("a.py", f"class A:\n{methods}\nclass B:\n    pass\n")], None)
    assert shown.outline == "1: class A:\n2003: class B:"
    (shown,) = await outline_long_files(
        [python("a.py", "".join(f"def f{n}(): ...\n" for n in range(5000)))], None
    )
    assert shown.outline is not None
    assert LONGEST_OUTLINE / 2 < len(shown.outline) <= LONGEST_OUTLINE
    changes = "".join(f"## {n}.0.0 (a day)\n\n{'word ' * 20}\n\n" for n in range(500))
    (shown,) = await outline_long_files([ShownFile("CHANGELOG.md", changes, "markdown")], None)
    assert shown.outline is not None
    assert shown.outline.startswith("1:   0.0.0 (a day)\n5:   1.0.0")
    assert LONGEST_OUTLINE / 2 < len(shown.outline) <= LONGEST_OUTLINE
    (shown,) = await outline_long_files([ShownFile("words.txt", "word\n" * 9000, "text")], None)
    assert (shown.outline, shown.lines) == ("", 9001)


@pytest.mark.slow
async def test_the_prompts_of_a_task_say_what_is_not_shown() -> None:
    files = await outline_long_files(
        [python("long.py", LONG), ShownFile("w.txt", "word\n" * 9000, "text")], None
    )
    for name in ("task_audit", "task_work", "task_correct"):
        values: dict[str, Any] = {
            "instructions": "",
            "task": "t",
            "plan": "p",
            "findings": "f",
            "order": "o",
            "fence": "```",
        }
        prompt = PromptLibrary().render(
            name, **values, files=files, answer_format="", left_out=[], remarks=False
        )
        said = (
            "long.py, 4007 lines, is not shown; read the parts that you need. It defines, each with its line:"
        )
        assert f"{said}\n\n```\n1: WORDS = {{}}\n" in prompt.user
        assert "w.txt, 9001 lines, is not shown; read the parts that you need.\n" in prompt.user
        assert "# rest" not in prompt.user
