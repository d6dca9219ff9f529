"""Checklists are checked by line; any document is checked in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.gates import DocumentValidator

TASKS = """# To do

- [x] write the `parser`
  - [x] of numbers
- [ ] write the tests
* [X] document it
1. [x] release
- [a link](x.md)
- [1]: http://example.org
- [ref][x]

```
- [] in a fence
```
"""


def checklist(text: str, *items: str, before: str | None = None) -> list[str]:
    return [str(issue) for issue in DocumentValidator().validate_checklist(text, items, before=before).issues]


@pytest.mark.parametrize(
    ("items", "issues"),
    [
        ([], []),
        (["write the parser", "Document it", "release", "of numbers"], []),
        (["write the tests"], ["line 5: 'write the tests' is not checked"]),
        (["tests"], ["line 5: 'write the tests' is not checked"]),
        (["write"], ["line 5: 'write the tests' is not checked"]),
        (
            ["write the parsre"],
            ["line 1: there is no item 'write the parsre'; did you mean 'write the parser'?"],
        ),
        (["sing"], ["line 1: there is no item 'sing'"]),
        (["in a fence"], ["line 1: there is no item 'in a fence'"]),
    ],
)
def test_the_tasks_items_are_checked(items: list[str], issues: list[str]) -> None:
    assert checklist(TASKS, *items) == issues


@pytest.mark.parametrize(
    "line", ["- [] text", "- [y] text", "-[x] text", "- [x]text", "* [ x] text", "[x] text"]
)
def test_what_is_nearly_an_item_is_told(line: str) -> None:
    [issue] = checklist(f"- [x] a\n{line}\n")
    assert issue == f"line 2: {line!r} is not an item of a task list; write `- [ ] text`"
    assert checklist(f"- [x] a\n{line}\n", before=f"{line}\n") == []


def test_an_item_is_not_done_before_its_parts_are() -> None:
    text = "- [x] whole\n  - [x] a\n    - [ ] deep\n- [x] other\n\t- [x] b\n"
    assert checklist(text) == [
        "line 1: is checked, and its part at line 3 is not",
        "line 2: is checked, and its part at line 3 is not",
    ]


@given(st.text(alphabet="#-*[]() xX1.0:\n`~<!>aUnreleased\t2024", max_size=300))
def test_any_text_is_checked(text: str) -> None:
    lines = text.count("\n") + 1
    validator = DocumentValidator()
    for result in (validator.validate_changelog(text), validator.validate_checklist(text, ["a"])):
        assert all(1 <= issue.line <= lines for issue in result.issues)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", ["#", "# ", "- [", "- [x] ", "(", "## [", "`", " ", "\t", "<!--", "1.", "## 1.0.0-a", "[x"]
)
def test_a_hostile_document_takes_no_longer_than_it_is_long(unit: str) -> None:
    validator = DocumentValidator()
    for text in (unit * (300_000 // len(unit)), (unit * 50 + "\n") * 2000):
        validator.validate_changelog(text, before="")
        validator.validate_checklist(text, ["nothing"])
