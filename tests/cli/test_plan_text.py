"""A plan as text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.cli.plan_text import plan_from_text, plan_to_text

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1)
REASONS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1)
FILES = st.one_of(
    st.fixed_dictionaries(
        {"action": st.sampled_from(["create", "modify", "delete"]), "path": NAMES},
        optional={"why": REASONS},
    ),
    st.fixed_dictionaries({"action": st.just("move"), "path": NAMES, "move_to": NAMES}),
)


@pytest.mark.slow
@given(st.lists(FILES))
def test_a_plan_survives_being_text(files: list[dict[str, str]]) -> None:
    assert plan_from_text(plan_to_text(files)) == files


def test_blank_lines_and_comments_are_no_files() -> None:
    assert plan_from_text("# x\n\n  # y\nmodify a.py\n") == [{"action": "modify", "path": "a.py"}]


def test_a_reason_may_hold_anything() -> None:
    [file] = plan_from_text("modify 'my file.py' # it's -> \"so\" # really\n")
    assert file == {"action": "modify", "path": "my file.py", "why": 'it\'s -> "so" # really'}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("invent a.py", "'invent' is not an action"),
        ("modify", "expected ACTION PATH"),
        ("modify a b", "expected ACTION PATH"),
        ("modify 'a.py", "a quote is not closed"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"line 2: .*{words}"):
        plan_from_text(f"modify ok.py\n{line}\n")
