"""Built-in prompts without their optional inputs, compared with a reviewed recording.

A meant change is recorded by `python -m tests.workflows.test_builtin_prompts`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tideate_core.workflows.prompts import BUILTIN_PROMPTS, PromptLibrary

RECORDED: Final = Path(__file__).with_name("prompts_without_inputs.md")
NAMES: Final = sorted(path.stem for path in BUILTIN_PROMPTS.glob("*.md"))
REQUIRED: Final = (
    *("analysis", "answer_format", "findings", "guidance", "instructions", "limit", "objective", "order"),
    *("part", "plan", "state", "task", "why", "workflow"),
)
ABSENT: Final[dict[str, Any]] = {
    **{name: name.upper() for name in REQUIRED},
    **dict.fromkeys(
        ("after", "before", "changelog", "diff", "done", "earlier", "end", "feedback", "language", "remarks"),
        "",
    ),
    **dict.fromkeys(("description", "path", "said", "said_in", "schema", "text"), ""),
    **dict.fromkeys(("outline", "top", "whole"), ""),
    **dict.fromkeys(("checks", "shown", "stages", "tools"), False),
    **dict.fromkeys(
        (
            "comments",
            "declined",
            "diagnostics",
            "documents",
            "files",
            "issues",
            "items",
            "kept",
            "left_out",
            "missing",
            "own",
            "past",
            "staged",
            "steps",
            "ways",
            "written",
        ),
        (),
    ),
    **dict.fromkeys(("cursor", "first", "last")),
    "fence": "```",
    "more": 0,
    "prompt": "PROMPT",
    "way": ("FIRST",),
}
SPECIAL: Final[dict[str, dict[str, Any]]] = {
    "machine_choice": {"state": ""},
    "multi_file_replan": {"plan": (), "comments": ()},
    "multi_file_work": {"plan": ()},
    "multi_file_write": {"plan": (), "text": None, "path": "PATH"},
    "refactor": {"text": "TEXT"},
    "refactor_analyze": {"text": "TEXT"},
    "summarize": {"prompt": "", "text": "TEXT"},
    "task_document_write": {"path": "PATH", "text": None},
}
"""Of single prompts: a text that is always there, or its absence in the form that they are given."""


def rendered(name: str) -> str:
    prompt = PromptLibrary().render(name, **ABSENT | SPECIAL.get(name, {}))
    return f"{prompt.system}\n---\n{prompt.user}\n"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_absent_leaves_no_trace_in_a_prompt(name: str) -> None:
    text = rendered(name)
    assert not re.search(r"\bNone\b|\[\]|\(\)|  +\S| [,.:;](\s|$)", text), text
    assert "\n\n\n\n" not in text


def test_the_prompts_without_inputs_are_as_they_were_read() -> None:
    assert RECORDED.read_text(encoding="utf-8") == all_rendered()


def all_rendered() -> str:
    return "\n".join(f"# {name}\n\n{rendered(name)}" for name in NAMES)


if __name__ == "__main__":
    RECORDED.write_text(all_rendered(), encoding="utf-8")
